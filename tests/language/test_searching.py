"""Searches in ascending values: NaN is the greatest, as in a sort; sorters."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

NAN = np.nan
ASCENDING = [
    np.array([1.0, 2, 2, 3, NAN, NAN]), np.array([1.0, 2, 3]), np.array([NAN]), np.zeros(0),
    np.array([-np.inf, -0.0, 0.0, np.inf, NAN]), np.array([NAN, NAN, NAN]),
]  # fmt: skip
VALUES = np.array([NAN, 0.5, 1, 2, 3, 9, NAN, np.inf, -np.inf, -0.0])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_searches_with_nan(target, side, dtype):
    """Among the keys, among the values, and in both."""
    for keys in ASCENDING:
        keys, values = keys.astype(dtype), VALUES.astype(dtype)
        same(fw.searchsorted(keys, values, side=side), np.searchsorted(keys, values, side=side))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_of_other_dtypes(side):
    """Integers among floats and floats among integers; one value; a matrix of them."""
    keys = np.array([-3, 0, 4, 4, 9])

    for a, v in (
        (keys, VALUES), (ASCENDING[0], np.array([2, 4])), (ASCENDING[0], np.float64(NAN)),
        (keys.astype("u1"), np.array([[3, 4], [200, 0]], "i8")), (np.array([False, True]), True),
    ):  # fmt: skip
        found = fw.searchsorted(a, v, side=side)
        np.testing.assert_array_equal(found, np.searchsorted(a, v, side=side))


def test_searches_by_a_sorter():
    """Unsorted keys with NaN, ordered by argsort; a sorter of another length raises."""
    keys = np.array([3.0, NAN, 1, 2, NAN, 2])
    sorter = fw.argsort(keys)

    for side in ("left", "right"):
        found = fw.searchsorted(keys, VALUES, side=side, sorter=sorter)
        same(found, np.searchsorted(np.sort(keys), VALUES, side=side))
    for wrong in (sorter[:-1], sorter[None]):
        with pytest.raises(fw.ShapeError):
            fw.searchsorted(keys, VALUES, sorter=wrong)


def test_neighbours_of_searches_with_nan():
    """What is built on them: members, bins, lines between points."""
    keys = ASCENDING[0]

    same(fw.isin(VALUES, keys), np.isin(VALUES, keys))
    same(fw.isin(VALUES, keys, invert=True), np.isin(VALUES, keys, invert=True))
    same(fw.digitize(VALUES, keys[:4]), np.digitize(VALUES, keys[:4]))
    same(fw.digitize(VALUES, keys[:4], right=True), np.digitize(VALUES, keys[:4], right=True))
    same(fw.digitize(VALUES, keys[3::-1]), np.digitize(VALUES, keys[3::-1]))
    same(fw.interp(VALUES, [0.0, 1, 2], [5.0, 6, 7]), np.interp(VALUES, [0, 1, 2], [5, 6, 7]))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8", "?", "f4", "f8"])
@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_membership_at_the_ends_of_a_dtype(dtype, count):
    """By a table where integers are near each other, else by a search; NaN equals no element."""
    random = np.random.default_rng(count)
    if dtype in ("f4", "f8"):
        some = np.array([-np.inf, -0.0, 0.0, 1.5, np.inf, np.nan], dtype)
    elif dtype == "?":
        some = np.array([False, True])
    else:
        info = np.iinfo(dtype)
        some = np.array([info.min, info.min + 1, info.max - 1, info.max, 3, 4, 0], dtype)
    for values in (some[:1], some[:0], some[-2:], random.choice(some, 40)):
        among = random.choice(some[-2:] if count == 3 else some, count)

        np.testing.assert_array_equal(fw.isin(values, among), np.isin(values, among))
