"""Rows combined a register each, as many together as there are lanes, whatever their lengths."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.schedule import Schedule
from flatweave.codegen.llvm.isa import here
from tests.language.agreement import same
from tests.quick import every

RNG = np.random.default_rng(11)
AROUND = [0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 128, 129, 1023, 1025]
LENGTHS = {
    "around steps": np.array(AROUND),
    "around steps, shuffled": RNG.permutation(np.repeat(AROUND, 9)),
    "up to two steps": RNG.integers(0, 33, 5000),
    "a few empty": np.where(RNG.random(4000) < 0.3, 0, RNG.integers(1, 40, 4000)),
    "one giant": np.array([3, 0, (1 << 20) + 1, 0, 5]),
    "one": np.array([1]),
}
LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
OTHERS = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in (np.uint16, np.float32)]
EVERY = pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)


def combined(rows, factors):
    """Several reductions of a row, of elements that are read and that are computed."""
    return (
        fw.map(fw.sum, rows),
        fw.map(lambda row: (fw.reduce(fw.maximum, 0, row), fw.reduce(fw.minimum, 2, row)), rows),
        fw.map(lambda row, k: fw.sum(row * k + row), rows, factors),
    )


def in_every_way(program, *args):
    """What a program gives: rows as lanes see fit, always together, and by position."""
    for rows in (None, "rows", "positions"):
        for threads in (1, 7):
            with config.scoped(threads=threads, schedule=Schedule(rows=rows)):
                yield program(*args)


@pytest.mark.sampled
@EVERY
@pytest.mark.parametrize("dtype", every(3, [np.int8, np.int64, np.float64, *OTHERS]))
def test_rows_of_every_length(lengths, dtype):
    """Sums, extremes and two of them at once, of elements of every size."""
    values = RNG.integers(0, 3, lengths.sum()).astype(dtype)
    factors = RNG.integers(0, 3, len(lengths)).astype(dtype)
    rows = fw.ragged(values, lengths=lengths)
    expected = fw.jit(combined, target="interp")(rows, factors)
    for found in in_every_way(fw.jit(combined, target="cpu"), rows, factors):
        same(found, expected)


@pytest.mark.sampled
@EVERY
@pytest.mark.parametrize("level", every(2, LEVELS))
def test_registers_of_every_size(lengths, level):
    """Each level of the CPU gives the same."""
    values = RNG.integers(-8, 9, lengths.sum()).astype(np.float32)
    rows = fw.ragged(values, lengths=lengths)
    expected = fw.jit(lambda r: fw.map(fw.sum, r), target="interp")(rows)
    program = fw.jit(lambda r: fw.map(fw.sum, r), target="cpu")
    with config.scoped(cpu=level):
        try:
            here()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        for found in in_every_way(program, rows):
            same(found, expected)


@EVERY
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_zeros_keep_their_signs(lengths, dtype):
    """A sum begins with 0.0, so it is 0.0 of rows that are all -0.0; their maximum is -0.0."""
    rows = fw.ragged(np.full(lengths.sum(), -0.0, dtype), lengths=lengths)
    program = fw.jit(lambda r: (fw.map(fw.sum, r), fw.map(lambda x: fw.reduce(
        fw.maximum, dtype(-1), x), r)), target="cpu")  # fmt: skip
    for sums, greatest in in_every_way(program, rows):
        assert not np.signbit(sums).any()
        assert np.signbit(greatest).all()


@pytest.mark.parametrize("fn", [fw.sum, fw.max])
def test_what_is_no_number_stays_in_its_row(fn):
    """NaN and infinity in one row do not reach its neighbours, which are read together with it."""
    lengths = np.tile([1, 15, 16, 17, 32, 33, 64, 130], 40)
    values = np.ones(lengths.sum(), np.float32)
    ends = np.cumsum(lengths)
    values[ends[::3] - 1] = np.nan
    values[(ends - lengths)[1::3]] = np.inf
    expected = np.where(fn is fw.max, np.float32(1), lengths.astype(np.float32))
    expected[::3], expected[1::3] = np.nan, np.inf
    rows = fw.ragged(values, lengths=lengths)
    for found in in_every_way(fw.jit(lambda r: fw.map(fn, r), target="cpu"), rows):
        np.testing.assert_array_equal(found, expected)


def test_sums_of_floats_do_not_depend_on_threads():
    """Every bit, of numbers whose sums are not exact."""
    lengths = RNG.integers(0, 90, 20_000)
    rows = fw.ragged(RNG.normal(size=lengths.sum()).astype(np.float32), lengths=lengths)
    program = fw.jit(lambda r: fw.map(fw.sum, r), target="cpu")
    found = []
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            found.append(np.asarray(program(rows)).tobytes())
    assert len(set(found)) == 1
