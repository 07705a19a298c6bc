"""An expansion walks along its sources: every shape of sizes, into everything that consumes it."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same
from tests.quick import every

RNG = np.random.default_rng(7)
OPENCL = pytest.param("opencl", marks=pytest.mark.needs_opencl)
SHAPES = {
    "none": np.zeros(0, np.int64),
    "nothing": np.zeros(300, np.int64),
    "ones": np.ones(1025, np.int64),
    "short": RNG.integers(0, 12, 900),
    "mostly empty": (RNG.random(5000) < 0.1) * RNG.integers(1, 4, 5000),
    "long": RNG.integers(60, 400, 40),
    "one giant": np.array([0, 3, 0, 0, 70_001, 0, 1, 2, 0]),
    "empty at both ends": np.array([0] * 70 + [5, 0, 129, 1] + [0] * 200),
    "whole steps": np.full(129, 64),
}  # fmt: skip


def consumers(sizes, xs):
    """All that may follow an expansion, in one program."""
    def get(x, i):
        return x[1] * 7 + i

    def ys():
        return fw.expand(lambda x: x[0], get, (sizes, xs))

    return (ys(), fw.sum(ys()), fw.cumsum(ys()), fw.filter(lambda y: y % 3 == 0, ys()),
            fw.histogram(11, ys() % 11), fw.histogram(20_000, ys() % 20_000),
            fw.scatter(fw.full(97, -1), ys() % 101, ys()), fw.reverse(ys()),
            fw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 0), (ys() % 5 - 2, ys())),
            fw.scan(fw.maximum, -1, ys(), reverse=True))  # fmt: skip


def expected(sizes, xs):
    """The same by NumPy, the results stored."""
    starts = np.cumsum(sizes) - sizes
    ys = np.repeat(xs * 7, sizes) + np.arange(sizes.sum()) - np.repeat(starts, sizes)
    written = np.full(97, -1)
    for y in ys:
        if y % 101 < 97:
            written[y % 101] = y
    a, b = np.int64(1), np.int64(0)
    with np.errstate(over="ignore"):
        for y in ys:
            a, b = a * (y % 5 - 2), b * (y % 5 - 2) + y
    suffixes = np.maximum.accumulate(ys[::-1])[::-1] if len(ys) else ys
    return (ys, ys.sum(), ys.cumsum(), ys[ys % 3 == 0], np.bincount(ys % 11, minlength=11),
            np.bincount(ys % 20_000, minlength=20_000), written, ys[::-1], (a, b),
            suffixes)  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("shape", "threads"), [*((shape, 2) for shape in SHAPES), ("short", 1), ("long", 3),
                           ("mostly empty", 7), ("one giant", 7)],
)  # fmt: skip
def test_every_consumer(shape, threads):
    """The CPU's walk by position and row by row, for any number of threads."""
    sizes = SHAPES[shape]
    xs = np.arange(len(sizes)) % 1000
    with config.scoped(target="cpu", threads=threads):
        same(fw.jit(consumers)(sizes, xs), expected(sizes, xs))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ["none", "nothing", "short", "mostly empty", "long"])
@pytest.mark.parametrize("target", ["interp", OPENCL])
def test_every_machine(shape, target):
    """The other machines give the same."""
    sizes = SHAPES[shape]
    xs = np.arange(len(sizes)) % 1000

    def ordered(sizes, xs):
        return consumers(sizes, xs)[:8]

    with config.scoped(target=target):
        same(fw.jit(ordered)(sizes, xs), expected(sizes, xs)[:8])


@pytest.mark.parametrize("target", ["interp", "cpu", OPENCL])
def test_positions_other_than_its_own(target):
    """A program that asks for the row of another position searches for it."""
    sizes, k = np.array([3, 0, 70, 2, 0, 9]), 5
    rows = np.repeat(np.arange(6), sizes)

    def f(sizes, k):
        rows = fw.replicated_iota(sizes)
        return fw.rotate(rows, k), rows[k], fw.map(lambda i: rows[i * 2], fw.iota(42))

    with config.scoped(target=target):
        same(fw.jit(f)(sizes, k), (np.roll(rows, -k), rows[k], rows[:84:2]))


@pytest.mark.parametrize("extent", [3, 200])
def test_each_result_is_a_sum_of_its_own(target, extent):
    """Results go one by one where the lanes share a sum: short rows of sources, and long ones."""
    sizes, starts = np.array([2, 0, 300]), np.array([0, 9, 1])
    table = np.arange(301 * extent, dtype=np.float64).reshape(301, extent) % 7
    xs = np.arange(3.0 * extent).reshape(3, extent) % 5

    found = fw.jit(
        lambda xs, sizes, starts, table: fw.expand(
            lambda x: sizes[x[1]], lambda x, i: fw.sum(x[0] * table[starts[x[1]] + i]),
            (xs, fw.iota(3)),
        )
    )(xs, sizes, starts, table)  # fmt: skip
    rows = np.repeat(np.arange(3), sizes)
    places = np.concatenate([np.arange(n) for n in sizes]) + starts[rows]

    same(found, (xs[rows] * table[places]).sum(axis=1))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ["none", "nothing", "short", "mostly empty", "long", "one giant"])
@pytest.mark.parametrize("variant", every(2, [
    "per-source", "per-warp", "per-block", "2-per-block", "128-per-block", "balanced",
]))  # fmt: skip
def test_every_variant(shape, variant):
    """However the sources are divided, the results are the same."""
    sizes = SHAPES[shape]
    xs = np.arange(len(sizes)) % 1000
    with config.scoped(target="cpu", threads=2), fw.schedule(expand=variant):
        same(fw.jit(consumers)(sizes, xs), expected(sizes, xs))


@pytest.mark.parametrize("variant", ["per-source", "per-block", "16-per-block", "balanced"])
@pytest.mark.parametrize("shape", ["short", "long", "one giant"])
def test_a_cut_of_an_expansion_ends_where_it_is_cut(variant, shape):
    """Its last source has more results than are needed, and sources after it have none."""
    def cut(sizes):
        ys = fw.expand(lambda x: x, lambda x, i: x * 7 + i, sizes)[:100]
        return ys, fw.sum(ys), fw.histogram(11, ys % 11)

    sizes = SHAPES[shape]
    starts = np.cumsum(sizes) - sizes
    ys = np.repeat(sizes * 7, sizes) + np.arange(sizes.sum()) - np.repeat(starts, sizes)
    ys = ys[:100]

    with fw.schedule(expand=variant):
        same(fw.jit(cut)(sizes), (ys, ys.sum(), np.bincount(ys % 11, minlength=11)))
