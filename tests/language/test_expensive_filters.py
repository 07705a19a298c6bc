"""Filters are evaluated once, and moved when it is known where to; or twice."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import CHOSEN, Schedule
from tests.language.agreement import agree

SIZES = [0, 1, 2, 63, 64, 65, 127, 128, 129, 1023, 1025, 40_000]


def expensive(x):
    """Whether the last digit of a power is even: a dozen operations."""
    for k in range(4):
        x = x * x * 3 + k
    return x & 64 == 0


def is_kept(x):
    """The same in NumPy."""
    with np.errstate(over="ignore"):
        return expensive(x)


def whole(n):
    """Numbers in no order."""
    return np.random.default_rng(n).integers(0, 1 << 30, n, dtype=np.int64)


@pytest.fixture(params=["once", "twice"])
def evaluated(request):
    """Both ways."""
    with config.scoped(no_cache=True, schedule=Schedule(filter=request.param)):
        yield request.param


@pytest.mark.parametrize("n", SIZES)
def test_filter(target, evaluated, n):
    """Whole lines of the result, and what is left at both ends of a block."""
    x = whole(n)
    agree(lambda x: fw.filter(expensive, x), x[is_kept(x)], x)


def test_any_number_of_threads(threads, evaluated):
    """Blocks wait for those before them; tuples of all widths, and all, none or few are kept."""
    x = whole(40_000)
    rows = (x, (x & 1).astype(bool), (x >> 7).astype(np.int8), x.astype(np.float32))
    for least in (0, 1 << 29, (1 << 30) - 5000, 1 << 31):
        flags = is_kept(x) & (x >= least) if least else np.ones(x.size, bool)

        def wanted(row, least=least):
            return expensive(row[0]) & (row[0] >= least) if least else expensive(row[0]) | True

        agree(lambda *xs: fw.filter(wanted, xs), tuple(part[flags] for part in rows), *rows)


def test_partition_and_what_shares_the_pass(threads, evaluated):
    """Two sinks that keep, one that stores, and a sum."""
    x = whole(5000)
    flags = is_kept(x)
    expected = (x[flags], x[~flags]), x * 2, x.sum()

    agree(lambda x: (fw.partition(expensive, x), x * 2, fw.sum(x)), expected, x)


def test_a_filter_of_an_expansion(target, evaluated):
    """Positions that find their source on the way."""
    sizes = np.random.default_rng(3).integers(0, 9, 700)
    values = np.array([s * 31 + i for s in sizes for i in range(s)], np.int64)

    agree(
        lambda s: fw.filter(expensive, fw.expand(lambda n: n, lambda n, i: n * 31 + i, s)),
        values[is_kept(values)], sizes,
    )  # fmt: skip


def test_results_that_go_around_the_caches(threads, evaluated):
    """More than four megabytes, from a start that is on no line."""
    x = whole(1_300_001)
    agree(lambda x: fw.filter(expensive, x), x[is_kept(x)], x)


def test_memory_is_fetched_ahead_where_it_is_read_once():
    """A filter that is evaluated again reads what is in the caches."""

    def text(schedule):
        with config.scoped(schedule=schedule):
            program = fw.jit(lambda x: fw.filter(lambda v: v > 3, x), target="cpu")
            return program.stages(whole(10)).text["kernel"]

    assert "ahead=true" in text(CHOSEN)
    assert text(CHOSEN) == text(Schedule(filter="once")) != text(Schedule(filter="twice"))
    assert "ahead=true" not in text(Schedule(filter="twice"))


def test_both_halves_of_a_partition_share_the_condition():
    """One pass evaluates it once for what is kept and for what is left, in rows, too."""

    def halves(xs):
        keep = fw.sin(fw.exp(xs)) > 0
        return xs[keep], xs[~keep]

    def means(row):
        some, rest = halves(row)
        return fw.sum(some) / some.shape[0] - fw.sum(rest) / rest.shape[0]

    rows = fw.ragged(np.arange(40.0), lengths=[10, 20, 10])
    flat = fw.jit(halves).stages(np.arange(40.0))
    nested = fw.jit(lambda rows: fw.map(means, rows)).stages(rows)

    assert flat.kernels == 1
    for stages in (flat, nested):
        assert stages.text["fused"].count(" exp ") == stages.text["fused"].count(" sin ") == 1
