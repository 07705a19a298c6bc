"""Rows combined: in order, a row for each lane, by position, cut by blocks anywhere."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.lower.machine import cpu
from tests.codegen.device_programs import agree, expected, lowered, simulated, traced
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


def each_row(function, rest):
    """A function of NumPy for each row, and what an empty row has."""
    return lambda rows: np.array([function(row) if len(row) else rest for row in rows])


FOLDS = {
    "argmax": (lambda rows: rows.argmax(axis=1).fill_none(-1), each_row(np.argmax, -1)),
    "sum": (lambda rows: fw.sum(rows, axis=1), each_row(np.sum, 0)),
    "min": (lambda rows: fw.min(rows, axis=1, initial=9), each_row(np.min, 9)),
    "any": (lambda rows: fw.any(rows > 5, axis=1), each_row(lambda row: (row > 5).any(), False)),
    "all": (lambda rows: fw.all(rows < 5, axis=1), each_row(lambda row: (row < 5).all(), True)),
    "count": (lambda rows: fw.count_nonzero(rows, axis=1), each_row(np.count_nonzero, 0)),
    "first": (
        lambda rows: (rows > 5).argmax(axis=1).fill_none(-1),
        each_row(lambda row: np.argmax(row > 5), -1),
    ),
    "several": (
        lambda rows: fw.map(lambda row: fw.sum(row) + fw.max(row, initial=-9) * 3, rows),
        each_row(lambda row: np.sum(row) + np.max(row) * 3, -27),
    ),
}  # fmt: skip
GROUPS = {
    "none": np.zeros(77, int),
    "last ones": np.array([0] * 40 + [1]),
    "as many as steps": np.repeat([4, 8, 16, 32, 63, 64, 65, 128], 17),
    "one too many": np.repeat([5, 9, 17, 33], 19),
    "a giant among short ones": np.where(np.arange(3001) == 1500, 20_011, RNG.poisson(4, 3001)),
    "mean 2": RNG.poisson(2, 9001),
    "mean 12": RNG.geometric(1 / 12, 2001),
    "ends with many": np.array([*RNG.poisson(3, 200), 700]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int8], ids=str)
def test_groups_of_rows_in_registers(name, dtype):
    """Groups of short and long rows, cut by blocks, up to the end of memory."""
    function, by_numpy = FOLDS[name]
    program = fw.jit(function, target="cpu")
    for sizes in GROUPS.values():
        values = RNG.integers(-9, 9, sizes.sum()).astype(dtype)
        expected = by_numpy(np.split(values, np.cumsum(sizes)[:-1]))
        rows = fw.ragged(values, lengths=sizes)
        for threads in (1, 3):
            with config.scoped(threads=threads):
                found = np.asarray(program(rows))
            np.testing.assert_array_equal(found.astype(expected.dtype), expected)


@pytest.mark.parametrize("name", ["argmax", "sum", "min", "any"])
def test_nan_in_groups_of_rows(name):
    """NaN is the least and the greatest, and has no flag."""
    function, by_numpy = FOLDS[name]
    sizes = GROUPS["mean 12"]
    values = RNG.integers(-9, 9, sizes.sum()).astype(np.float64)
    values[RNG.random(len(values)) < 0.05] = np.nan
    rows = np.split(values, np.cumsum(sizes)[:-1])

    np.testing.assert_array_equal(
        fw.jit(function, target="cpu")(fw.ragged(values, lengths=sizes)), by_numpy(rows)
    )


@pytest.mark.parametrize("bits, registers", [(512, 32), (256, 16), (128, 16)])
@pytest.mark.parametrize("name", ["argmax", "sum", "any", "first"])
def test_groups_of_rows_in_registers_of_every_width(name, bits, registers):
    """As the interpreter's, in many small blocks."""
    machine = replace(cpu(bits, registers), block_work=64, block_bytes=1024)
    values = RNG.integers(0, 9, 1000).astype(np.float32)
    fold = FOLDS[name][0]
    program = traced("fold", lambda v, o: fold(fw.ragged(v, offsets=o)), values, np.array([0, 3]))
    made = lowered(program, machine)
    for sizes in ([], [0, 0, 1], [4, 8, 16, 32, 64, 63, 65, 5, 17] * 3, [3] * 40 + [300]):
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        args = [offsets[-1], values[: offsets[-1]], offsets.size, offsets]
        agree(simulated(made, args, threads=2, seed=1), expected(program, args))
