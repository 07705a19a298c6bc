"""Extents of a call's arrays, without running it."""

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(9.0)
SIZES = np.array([2, 0, 3])


def halves(xs):
    return xs[: xs.shape[0] // 2] * 2, fw.filter(lambda v: v > 3, xs)


def repeated(sizes):
    return fw.expand(lambda v: v, lambda v, i: v * 10 + i, sizes)


def rows(xss):
    return fw.map(lambda row: fw.map(lambda v: v + 1, row), xss)


@pytest.mark.parametrize("xs", [XS, XS[:1], XS[:0]], ids=len)
def test_sizes_follow_from_the_arguments(xs):
    """The half of an array has a size that is known; what a filter keeps, only a run tells."""
    half, kept = fw.jit(halves, target="cpu").stages(xs).manifest

    assert (half.bytes, kept.bytes) == (len(xs) // 2 * 8, None)


def test_elements_of_arguments_are_read():
    """The total of the rows is the last offset, which the caller gives."""
    xss = fw.ragged([[1.0, 2.0], [], [3.0, 4.0, 5.0]])
    stored = fw.jit(rows, target="cpu").stages(xss).manifest

    assert 5 * 8 in {array.bytes for array in stored if array.is_result}


def test_what_needs_a_run_is_not_known():
    """A sum over an array is no number of the host alone."""
    stored = fw.jit(repeated, target="cpu").stages(SIZES).manifest

    assert [array.bytes for array in stored if array.is_result] == [None]
