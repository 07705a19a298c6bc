"""replace, shift, and gather with a default: what NumPy says by assignment, padding and tests."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same

GRID = np.arange(12.0).reshape(3, 4)
KEYS = {
    "row": (1, np.array([9.0, 8, 7, 6])),
    "column": ((slice(None), 1), np.array([9.0, 8, 7])),
    "column from the end": ((slice(None), -1), np.array(5.0)),
    "element": ((1, 2), np.array(5.0)),
    "strides": ((slice(None, None, 2), slice(1, None)), np.ones((1, 3))),
    "nothing": (slice(3, 3), np.array(1.0)),
    "rows": ([2, 0], np.array([[1.0] * 4, [2.0] * 4])),
    "elements": ((np.array([0, 1]), np.array([3, 2])), np.array([50.0, 60])),
    "a mask": (GRID > 5, np.arange(6.0)),
    "a mask, one value": (GRID % 2 == 0, np.array(-1.0)),
    "all": (Ellipsis, np.array(1.0)),
}


def assigned(xs, key, values):
    """The definition."""
    copy = xs.copy()
    copy[key] = values
    return copy


@pytest.mark.parametrize("key, values", KEYS.values(), ids=KEYS)
def test_replace(target, key, values):
    """Every kind of key."""
    same(fw.replace(GRID, key, values), assigned(GRID, key, values))


def test_replace_in_jitted_functions():
    """Places and bounds known at run time; the argument stays; two arrays at once; numbers."""
    xs = np.arange(1025)

    def change(xs, i, a, b):
        halves = fw.replace((xs, xs * 2), slice(a, b), (-1, xs[a:b]))
        return fw.replace(xs, i, 7), halves, fw.replace(xs, xs % 3 == 0, 0)

    wanted = assigned(xs, 1000, 7), (
        assigned(xs, slice(5, 700), -1), assigned(xs * 2, slice(5, 700), xs[5:700])
    ), assigned(xs, xs % 3 == 0, 0)  # fmt: skip
    same(fw.jit(change)(xs, -25, 5, 700), wanted)
    assert xs[-25] == 1000


def test_replace_refuses(target):
    """Indices outside, values that do not fit, floats among integers, another structure."""
    for key in (3, -4, [0, 3], (0, 4)):
        with pytest.raises(fw.IndexOutOfBounds):
            fw.replace(GRID, key, 0.0)
    with pytest.raises(fw.ShapeError):
        fw.replace(GRID, (slice(None), 0), np.zeros(4))
    with pytest.raises(fw.DTypeError):
        fw.replace(np.arange(3), 0, np.zeros(1)[0])
    with pytest.raises(fw.ArgumentError, match="structure"):
        fw.replace((GRID, GRID), 0, 1.0)


def moved(xs, k, fill, axis=0):
    """The definition: one index after another."""
    n = xs.shape[axis]
    found = np.empty_like(xs)
    for i in range(n):
        here = [slice(None)] * xs.ndim
        there = [slice(None)] * xs.ndim
        here[axis], there[axis] = i, min(max(i + k, 0), n - 1)
        found[tuple(here)] = xs[tuple(there)] if fill is None or 0 <= i + k < n else fill
    return found


@pytest.mark.parametrize("n", [0, 1, 129])
def test_shift(target, n):
    """Left and right, near and far, with a number or the edge coming in."""
    xs = np.arange(float(n)) + 1
    ks = (0, 1, -2, 128, -130, 2**62, -(2**63))
    shifts = fw.jit(lambda xs, k: (fw.shift(xs, k, 0), fw.shift(xs, k)))
    for k in ks:
        same(shifts(xs, k), (moved(xs, k, 0), moved(xs, k, None)))


@pytest.mark.parametrize("k", [0, -2, 130, 2**62 - 1, 2**63 - 1, -(2**63)])
def test_shift_by_a_constant(k):
    """Also by one to which no index can be added."""
    xs = np.arange(129.0)
    shifts = fw.jit(lambda xs: (fw.shift(xs, k, 0), fw.shift(xs, k)), target="interp")
    same(shifts(xs), (moved(xs, k, 0), moved(xs, k, None)))


def test_a_shift_by_a_constant_reads_in_order():
    """No lane reads by an index of its own."""
    of_bytes = np.zeros(1 << 17, np.uint8)
    stages = fw.jit(lambda xs: fw.shift(xs, -1, 0), target="cpu").stages(of_bytes)
    assert "gather" not in stages.text["llvm"]


def test_shift_along_axes(target):
    """Rows, columns and pages; records; NaN comes in where it is asked for."""
    cube = np.arange(24.0).reshape(2, 3, 4)
    for axis in range(3):
        same(fw.shift(cube, 1, np.nan, axis=axis), moved(cube, 1, np.nan, axis))
    same(fw.shift((GRID, GRID > 3), -1, (0, True), axis=1),
         (moved(GRID, -1, 0, 1), moved(GRID > 3, -1, True, 1)))  # fmt: skip


def test_gather_with_a_default(target):
    """An index outside [0, n) gives it, also of an array without elements; rows, records."""
    idx = np.array([3, -1, 9, 0], np.int8)
    xs = np.arange(5.0)

    agree(lambda xs, i: fw.gather(xs, i, default=-1), np.array([3.0, -1, -1, 0]), xs, idx)
    same(fw.gather(np.zeros(0), idx, default=7), np.full(4, 7.0))
    same(fw.gather(GRID, [0, 5], default=0), np.array([GRID[0], [0] * 4]))
    same(fw.gather(GRID, (idx, [1, 1, 1, -1]), default=0), np.zeros(4))
    same(fw.gather((xs, xs > 1), [4, 5], default=(0, True)), (np.array([4.0, 0]), np.ones(2, bool)))
    with pytest.raises(fw.ArgumentError, match="one element"):
        fw.gather(xs, idx, default=xs)


def test_complex_numbers(target):
    """In complex arrays, and complex numbers into real ones."""
    z = np.array([1 + 2j, 3, 4j])

    same(fw.replace(z, 1, 5.0), np.array([1 + 2j, 5, 4j]))
    same(fw.replace(z.imag, 1, 5j), np.array([2, 5j, 4]))
    same(fw.shift(z, 1, 0), np.array([3, 4j, 0]))
    same(fw.gather(z, [2, 3], default=1), np.array([4j, 1]))


def test_rows_of_a_ragged(target):
    """One row by another, longer, shorter or empty; records; what is no row."""
    rows = fw.ragged([[1.0, 2], [], [3]])

    found = fw.jit(lambda rows, i, row: fw.replace(rows, i, row))
    assert found(rows, 1, np.array([7.0, 8, 9])).tolist() == [[1, 2], [7, 8, 9], [3]]
    assert found(rows, -3, np.zeros(0)).tolist() == [[], [], [3]]
    assert fw.replace(rows, 2, []).tolist() == [[1, 2], [], []]
    pairs = fw.ragged([[(1, 2.5)], []])
    assert fw.replace(pairs, 1, ([3, 4], [0.5, 1.5])).tolist() == [[(1, 2.5)], [(3, 0.5), (4, 1.5)]]
    with pytest.raises(fw.IndexOutOfBounds):
        fw.replace(rows, 3, [1.0])
    with pytest.raises(fw.ArgumentError, match="one row"):
        fw.replace(rows, slice(0, 1), [1.0])
    with pytest.raises(fw.ArgumentError, match="structure"):
        fw.replace(pairs, 0, [1.0])
