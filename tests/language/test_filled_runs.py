"""Run lengths decoded by `expand`: runs are filled, whatever their lengths are."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same
from tests.quick import every

DTYPES = [np.bool_, np.uint8, np.int16, np.float32, np.float64]
COUNTS = {
    "none": [],
    "empty": [0, 0, 0],
    "one": [1],
    "short": [0, 1, 0, 2, 3, 0, 0, 1],
    "around a step": [7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129],
    "empty at the ends": [0, 0, 5, 0, 100, 0, 0],
    "a long one": [1, 0, 100_003, 0, 2],
    "many": np.random.default_rng(0).poisson(0.3, 50_000),
    "mixed": np.random.default_rng(1).zipf(1.5, 3000) % 5000,
}


def decoded(values, counts):
    """Each value as often as its count says."""
    return fw.expand(lambda run: run[1], lambda run, i: run[0], (values, counts))


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("dtype", every(2, DTYPES))
def test_runs(dtype, counts):
    """As `numpy.repeat`, on every number of threads."""
    counts = np.asarray(counts, np.int64)
    values = np.random.default_rng(2).integers(0, 100, counts.size).astype(dtype)
    for threads in (1, 2, 3, 7):
        with config.scoped(target="cpu", threads=threads):
            same(fw.jit(decoded)(values, counts), np.repeat(values, counts))


def test_computed_values_and_several_of_them():
    """Of the source and of the index in the run; if one is read elsewhere, all go by position."""
    counts, values = np.arange(300) % 50, np.arange(300)

    def two(values, counts):
        return fw.expand(lambda r: r[1], lambda r, i: (r[0] * 2.5, r[0] + r[1]), (values, counts))

    def placed(values, counts):
        return fw.expand(lambda r: r[1], lambda r, i: (r[0], i), (values, counts))

    def elsewhere(values, counts):
        read = lambda r, i: (r[0], values[(r[0] * i) % 7])
        return fw.expand(lambda r: r[1], read, (values, counts))

    every = np.repeat(values, counts)
    same(fw.jit(two)(values, counts), (every * 2.5, every + counts[every]))
    within = np.concatenate([np.arange(n) for n in counts])
    same(fw.jit(placed)(values, counts), (every, within))
    same(fw.jit(elsewhere)(values, counts), (every, values[every * within % 7]))
    with config.scoped(target="cpu"):
        for program, is_filled in ((two, True), (placed, True), (elsewhere, False)):
            plan = fw.jit(program).stages(values, counts).text["plan"]
            assert ("fill" in plan) is is_filled


def test_wishes_come_first():
    """What lanes go along is as the schedule says."""
    counts = np.asarray(COUNTS["mixed"])
    values = np.arange(counts.size)
    for wish in ("rows=rows", "rows=positions", "store=streaming", "store=plain"):
        with config.scoped(target="cpu", schedule=wish):
            same(fw.jit(decoded)(values, counts), np.repeat(values, counts))
