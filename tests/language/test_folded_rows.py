"""Rows combined: in order, a row for each lane, by position, cut by blocks anywhere."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same

RNG = np.random.default_rng(3)
LENGTHS = {
    "short": RNG.integers(0, 8, 243),
    "even": np.full(129, 16),
    "long": RNG.integers(60, 300, 200),
    "long, half of them empty": np.where(RNG.random(90) < 0.5, 0, RNG.integers(100, 3000, 90)),
    "few giants": np.where(RNG.random(250) < 0.02, 40_001, RNG.integers(0, 4, 250)),
    "one": np.array([70_003]),
}  # fmt: skip
LEAST = -(10**9)


def affine(f, g):
    """The composition of two affine maps: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def combined(sizes, xs, rows):
    """Elements that are computed and that are read; tuples, operators that do not commute."""
    return (
        fw.expand_reduce(
            lambda x: x[0], lambda x, i: (i % 3 - 1, x[1] + i), affine, (1, 0), (sizes, xs)
        ),
        fw.expand_reduce(
            lambda x: x[0], lambda x, i: (x[1] * i).astype(fw.i32), fw.add, fw.i32(0), (sizes, xs)
        ),
        fw.map(lambda row: (fw.sum(row), fw.reduce(fw.maximum, LEAST, row)), rows),
    )


def one_by_one(sizes, xs, values):
    """The same in Python."""
    ends = np.cumsum(sizes)
    rows = [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    slopes, offsets = [], []
    with np.errstate(over="ignore"):
        for size, x in zip(sizes, xs, strict=True):
            slope, offset = np.int64(1), np.int64(0)
            for i in range(size):
                slope, offset = slope * (i % 3 - 1), offset * (i % 3 - 1) + x + i
            slopes.append(slope)
            offsets.append(offset)
        steps = [(x * np.arange(size)).astype(np.int32) for size, x in zip(sizes, xs, strict=True)]
        sums = np.array([step.sum(dtype=np.int32) for step in steps], np.int32)
    greatest = [max(row.max(), LEAST) if len(row) else LEAST for row in rows]
    return ((np.array(slopes), np.array(offsets)), sums,
            (np.array([row.sum() for row in rows]), np.array(greatest)))  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("variant", [None, "per-source", "per-block", "16-per-block"])
def test_rows_of_every_length(kind, variant):
    """All divisions and numbers of threads give the same."""
    sizes = LENGTHS[kind].astype(np.int64)
    xs, values = RNG.integers(-50, 50, len(sizes)), RNG.integers(-100, 100, sizes.sum())
    expected = one_by_one(sizes, xs, values)
    program = fw.jit(combined, target="cpu")
    for threads in (1, 2, 7):
        with config.scoped(threads=threads), fw.schedule(expand=variant):
            same(program(sizes, xs, fw.ragged(values, lengths=sizes)), expected)
