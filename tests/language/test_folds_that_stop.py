"""Folds of rows that stop where a result is decided: the same values, and the same faults."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import IndexOutOfBounds
from tests.codegen.levels import LEVELS, in_force

LENGTHS = (0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 129, 300, 1025)


def first_of(row):
    """The index of each 7; the length of the row elsewhere."""
    return fw.where(row == 7, fw.iota(row.shape[0]), row.shape[0])


def first(row):
    """The index of the first 7; the length of a row without one."""
    return fw.min(first_of(row), initial=row.shape[0])


def decided(rows):
    """A result of each kind, and a minimum that is not the first index."""
    return (
        fw.map(lambda row: fw.all(row != 7), rows), fw.map(lambda row: fw.any(row == 7), rows),
        fw.map(first, rows),
        fw.map(lambda row: fw.min(fw.where(row == 7, fw.iota(row.shape[0]), 40), initial=5), rows),
    )  # fmt: skip


def wanted(row):
    """The same in NumPy."""
    at = np.flatnonzero(row == 7)
    found = int(at[0]) if at.size else row.size
    last = min([5, *at, *([40] if at.size < row.size else [])])
    return at.size == 0, at.size > 0, found, last


def rows_of(dtype):
    """Rows in which a 7 is at the front, at the end, everywhere, or nowhere."""
    rng = np.random.default_rng(5)
    found = []
    for length in LENGTHS:
        for at in {0, length // 2, length - 1} if length else ():
            row = rng.integers(0, 7, length).astype(dtype)
            row[at] = 7
            found.append(row)
        found += [rng.integers(8, 99, length).astype(dtype), np.full(length, 7, dtype)]
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64], ids=lambda d: d.__name__)
def test_values_are_those_of_all_elements(dtype, target):
    """Wherever the element is that decides."""
    rows = rows_of(dtype)
    found = fw.jit(decided)(fw.ragged(np.concatenate(rows), np.cumsum([0, *map(len, rows)])))

    assert list(zip(*(x.tolist() for x in found), strict=True)) == [*map(wanted, rows)]


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_x86_64(level):
    """Masks of lanes are held differently."""
    rows = rows_of(np.uint8)
    with in_force(level):
        found = fw.jit(decided, target="cpu")(
            fw.ragged(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
        )
    assert list(zip(*(x.tolist() for x in found), strict=True)) == [*map(wanted, rows)]


def test_an_element_after_the_one_that_decides_may_fail(target):
    """A fold with a test in it goes over all elements."""
    xs = np.arange(100)

    def small(at):
        return fw.map(lambda row: fw.any(fw.gather(xs, row) < 1), at)

    at = fw.ragged(np.arange(90), np.array([0, 50, 90]))
    assert fw.jit(small)(at).tolist() == [True, False]
    with pytest.raises(IndexOutOfBounds, match="index 100 is outside"):
        fw.jit(small)(fw.ragged(np.arange(101), np.array([0, 101])))


def test_only_folds_that_may_stop_test_it():
    """The kernel has a loop that ends early."""
    rows = np.zeros((2, 2048), np.uint8)

    def loops(f):
        return fw.jit(f, target="cpu").stages(rows).text["kernel"].count("while")

    assert loops(lambda rows: fw.map(first, rows)) > 0
    assert loops(lambda rows: fw.map(lambda row: fw.all(row > 0), rows)) > 0
    assert loops(lambda rows: fw.map(lambda row: fw.min(first_of(row), initial=5), rows)) == 0


def test_reductions_of_whole_arrays(threads):
    """By flags and by bytes, wherever the element is that decides; in one sweep also."""
    whole = fw.jit(lambda x: (fw.any(x == 9), fw.all(x != 9), fw.min(x), fw.max(x)))
    for length in (1, 63, 2048, 2049, 6144, 65_537, 300_001):
        for at in {0, length // 3, length - 1}:
            for other in (9, -128, 127):
                x = np.ones(length, np.int8)
                x[at] = other
                found = [(x == 9).any(), (x != 9).all(), x.min(), x.max()]
                assert [*map(int, whole(x))] == [*map(int, found)]
                assert int(fw.max(fw.asarray(x))) == x.max()
                assert int(fw.min(x.view(np.uint8))) == x.view(np.uint8).min()


def test_an_element_of_an_array_that_fails_is_found(target):
    """It comes after the element that decides."""
    xs = np.zeros(5, bool)
    xs[0] = True
    at = np.append(np.zeros(70_000, int), 5)

    for program in (fw.any, lambda x: fw.reduce(fw.logical_or, False, x)):
        with pytest.raises(IndexOutOfBounds, match="index 5 is outside"):
            fw.jit(lambda xs, at, f=program: f(fw.gather(xs, at)))(xs, at)


def test_only_reductions_of_flags_and_bytes_ask():
    """Others seldom meet an element that decides; one next to a store evaluates every element."""

    def loops(f, dtype):
        text = fw.jit(f, target="cpu").stages(np.zeros(9, dtype)).text["kernel"]
        return text.count("while")

    assert loops(fw.any, bool) == loops(fw.min, np.uint8) == loops(fw.max, np.int8) == 1
    assert loops(fw.min, np.int32) == loops(fw.sum, bool) == loops(fw.max, np.float32) == 0
    assert loops(lambda x: (fw.any(x), ~x), bool) == 0
