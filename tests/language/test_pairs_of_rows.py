"""Rows next to the rows of another array, and counts of what a sort moved."""

import numpy as np
import pytest

import flatweave as fw

NONE = -1


def nearest(left, right):
    """For each element the index of the nearest one in the other's row."""

    def match(own, other):
        def one(x):
            some = other.shape[0] > 0
            return fw.cond(some, lambda: fw.argmin(fw.abs(other - x)), lambda: NONE)

        return fw.map(one, own)

    return fw.map(match, left, right)


@pytest.mark.parametrize("most", [1, 9, 40])
def test_a_fold_over_the_row_of_another_array(most):
    """Short rows and longer ones, empty ones on either side, ties and NaN."""
    rng = np.random.default_rng(most)
    sides = []
    for _ in range(2):
        lengths = rng.integers(0, most, 700)
        values = rng.integers(0, 12, lengths.sum()) * 0.5
        values[rng.random(len(values)) < 0.05] = np.nan
        sides.append((values, np.concatenate([[0], np.cumsum(lengths)])))
    (left, starts), (right, others) = sides
    wanted = [
        np.argmin(abs(right[others[r] : others[r + 1]] - x)) if others[r] < others[r + 1] else NONE
        for r in range(700) for x in left[starts[r] : starts[r + 1]]
    ]  # fmt: skip

    found = fw.jit(nearest)(*(fw.ragged(values, offsets=ends) for values, ends in sides))

    np.testing.assert_array_equal(found.values, wanted)
    np.testing.assert_array_equal(found.offsets, starts)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_what_is_counted_by_the_inverse_of_a_sort(n):
    """As many as the keys say; sums of integers, too, and floats in their own order."""
    rng = np.random.default_rng(n)
    keys, weights = rng.integers(0, 40, n), rng.integers(-5, 6, n)

    @fw.jit
    def grouped(keys, weights, parts):
        values, inverse = fw.unique_inverse(keys)
        zeros = fw.zeros(values.shape[0], fw.i64)
        return (
            values, fw.histogram(values.shape[0], inverse),
            fw.permute(fw.add, zeros, inverse, weights),
            fw.permute(fw.add, zeros * 1.0, inverse, parts),
        )  # fmt: skip

    values, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.zeros((2, len(values)))
    np.add.at(sums[0], inverse, weights)
    np.add.at(sums[1], inverse, weights / 4)

    for result, wanted in zip(grouped(keys, weights, weights / 4), (values, counts, *sums),
                              strict=True):  # fmt: skip
        np.testing.assert_array_equal(result, wanted)
