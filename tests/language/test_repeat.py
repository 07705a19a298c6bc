"""Elements and rows that are repeated by one number, known or not, along each axis."""

import numpy as np
import pytest

import flatweave as fw

SHAPES = {0: [()], 1: [(0,), (1,), (129,)], 2: [(0, 3), (3, 0), (130, 7)], 3: [(3, 1, 130)]}


def repeated(xp, x):
    """None of each, one, some, and more than are stored together; along each axis."""
    found = [xp.repeat(x, k) for k in (0, 1, 2, 17)]
    return found + [xp.repeat(x, 3, axis=axis) for axis in range(x.ndim)]


@pytest.mark.parametrize("rank", SHAPES)
def test_known_numbers(rank):
    """One program for arrays of any extents, empty ones, too."""
    f = fw.jit(lambda x: repeated(fw, x))
    for shape in SHAPES[rank]:
        x = (np.arange(np.prod(shape, dtype=int)) * 7 % 251).astype(np.float32).reshape(shape)
        for ours, theirs in zip(f(x), repeated(np, x), strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            assert np.array_equal(ours, theirs), (shape, theirs.shape)


@pytest.mark.parametrize("dtype", [np.bool_, np.complex128])
def test_elements_of_other_widths(dtype):
    """Bytes, and pairs of numbers."""
    x = (np.arange(130) % 2).astype(dtype)

    assert np.array_equal(fw.repeat(x, 3), np.repeat(x, 3))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_numbers_found_later(axis, target):
    """Of any integer dtype, the same program for all."""
    f = fw.jit(lambda x, k: fw.repeat(x, k, axis=axis))
    x = np.arange(35.0).reshape(5, 7)

    for k in (0, 1, 2, 40):
        for number in (k, np.int8(k), np.uint64(k)):
            assert np.array_equal(f(x, number), np.repeat(x, k, axis=axis))


def test_what_is_repeated_may_be_computed(target):
    """Before, and its readers after."""
    f = fw.jit(lambda x: fw.sum(fw.repeat(x * 2, 3) * fw.iota(x.shape[0] * 3)))
    x = np.arange(300)

    assert f(x) == np.sum(np.repeat(x * 2, 3) * np.arange(900))


def test_in_rows(target):
    """Each row by its own number, and all by one."""
    f = fw.jit(lambda m, k: (fw.map(lambda row: fw.repeat(row, 2), m),
                             fw.map(lambda row, j: fw.sum(fw.repeat(row, j)), m, k)))  # fmt: skip
    m, k = np.arange(12).reshape(3, 4), np.array([0, 1, 5])
    twice, sums = f(m, k)

    assert twice.tolist() == np.repeat(m, 2, axis=1).tolist()
    assert np.array_equal(sums, m.sum(axis=1) * k)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_fewer_than_none_are_refused(axis):
    """Known, and found when the program runs."""
    x = np.ones((3, 4))

    with pytest.raises(fw.NegativeExtentError, match="-1"):
        fw.repeat(x, -1, axis=axis)
    with pytest.raises(fw.NegativeExtentError, match="-2"):
        fw.jit(lambda x, k: fw.repeat(x, k, axis=axis))(x, -2)


def test_more_than_there_may_be_are_refused():
    """Without an attempt to make them."""
    for number in (3, 2**40):
        with pytest.raises(fw.ExtentOverflowError):
            fw.jit(lambda number=number: fw.repeat(fw.full(2**59, 0.0), number))()
        with pytest.raises(fw.ExtentOverflowError):
            fw.jit(lambda number=number: fw.repeat(fw.full((2, 2**58), 0.0), number, axis=0))()
