"""scatter, permute, reduce_by_index, histogram."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import DTYPES, agree, same, values


def scattered(dest, idx, vals):
    """The definition: outside is dropped, the last one wins."""
    result = dest.copy()
    for i, v in zip(idx, np.broadcast_to(vals, len(idx)), strict=True):
        if 0 <= i < len(dest):
            result[i] = v
    return result


@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter(target, dtype):
    """Indices outside, negative ones too, drop their elements."""
    dest, idx, vals = values(dtype, 7), np.array([3, -1, 7, 0, 3, 6]), values(dtype, 6, seed=1)

    agree(lambda d, i, v: fw.scatter(d, i, v), scattered(dest, idx, vals), dest, idx, vals)
    same(fw.scatter(dest, idx, dtype(1)), scattered(dest, idx, dtype(1)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_index_dtypes(target, dtype):
    """Every integer dtype is an index."""
    dest, idx = np.zeros(200), np.array([1, 5, 100], dtype)

    agree(lambda d, i: fw.scatter(d, i, 1.0), scattered(dest, idx, 1.0), dest, idx)


def test_scatter_into_itself_leaves_the_argument_alone(target):
    """Arrays never change."""
    dest = np.zeros(4)
    fw.scatter(dest, [1], [5.0])

    assert dest.sum() == 0


def test_scatter_of_tuples(target):
    """One whole element wins."""
    dest = (np.zeros(3, np.int64), np.zeros(3))
    idx = np.array([1, 1, 5])
    vals = (np.array([1, 2, 3]), np.array([1.5, 2.5, 3.5]))

    agree(lambda d, i, v: fw.scatter(d, i, v), (np.array([0, 2, 0]), np.array([0, 2.5, 0])),
          dest, idx, vals)  # fmt: skip


def test_scatter_into_matrices(target):
    """One index array writes rows, two write elements."""
    dest = np.zeros((3, 4), np.int64)
    i, j = np.array([2, 0, 9, 1]), np.array([1, -1, 0, 3])
    rows = np.arange(16).reshape(4, 4)
    by_row, by_element, one_row = dest.copy(), dest.copy(), dest.copy()
    for k in (0, 1, 3):
        by_row[i[k]] = rows[k]
        one_row[i[k]] = rows[0]
    for k in (0, 3):
        by_element[i[k], j[k]] = k + 1

    agree(lambda d, i, r: fw.scatter(d, i, r), by_row, dest, i, rows)
    agree(lambda d, i, r: fw.scatter(d, i, r[0]), one_row, dest, i, rows)
    agree(lambda d, i, j: fw.scatter(d, (i, j), fw.iota(4) + 1), by_element, dest, i, j)
    agree(lambda d: fw.scatter(d, (1, 2), 7), np.array([[0] * 4, [0, 0, 7, 0], [0] * 4]), dest)


@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_permute(target, dtype):
    """What meets is combined, with the default too; integers wrap."""
    dest, idx, vals = values(dtype, 5), np.array([0, 4, 0, 9, -3, 0]), values(dtype, 6, seed=1)
    expected = dest.copy()
    for i, v in zip(idx, vals, strict=True):
        if 0 <= i < 5:
            expected[i : i + 1] += v

    agree(lambda d, i, v: fw.permute(fw.add, d, i, v), expected, dest, idx, vals)


def test_permute_with_any_operator(target):
    """The greatest pair: an operator on tuples."""

    def larger(a, b):
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return fw.where(first, a[0], b[0]), fw.where(first, a[1], b[1])

    keys, idx = np.array([3, 9, 4, 9, 1]), np.array([0, 1, 0, 1, 7])
    dest = (np.full(3, -1), np.full(3, 99))

    agree(lambda d, i, k: fw.permute(larger, d, i, (k, fw.iota(5))),
          (np.array([4, 9, -1]), np.array([2, 1, 99])), dest, idx, keys)  # fmt: skip


def test_permute_into_matrices(target):
    """np.add.at for pairs of indices and for rows."""
    dest = np.ones((3, 2))
    i, j = np.array([0, 2, 0, 5]), np.array([1, 1, 1, 0])
    elements, rows = dest.copy(), dest.copy()
    np.add.at(elements, (i[:3], j[:3]), 2.0)
    np.add.at(rows, i[:3], np.array([1.0, 2.0]))

    agree(lambda d, i, j: fw.permute(fw.add, d, (i, j), 2.0), elements, dest, i, j)
    agree(lambda d, i: fw.permute(fw.add, d, i, np.array([1.0, 2.0])), rows, dest, i)


@pytest.mark.parametrize("n", [0, 1, 10, 1000])
@pytest.mark.parametrize("bins", [1, 7, 300])
def test_histogram(target, n, bins):
    """It counts by default, and combines values with any operator."""
    idx = np.random.default_rng(0).integers(-1, bins + 1, n)
    inside = idx[(idx >= 0) & (idx < bins)]
    counts = np.bincount(inside, minlength=bins)
    largest = np.full(bins, -1)
    np.maximum.at(largest, inside, np.flatnonzero((idx >= 0) & (idx < bins)))

    agree(lambda i: fw.histogram(bins, i), counts, idx)
    agree(lambda i: fw.histogram(bins, i, fw.iota(n), fw.maximum, -1), largest, idx)


def test_reduce_by_index(target):
    """As permute, with a neutral element."""
    dest, idx = np.array([10.0, 20.0]), np.array([0, 0, 1, 2])

    agree(lambda d, i: fw.reduce_by_index(d, fw.add, 0, i, 1.0), np.array([12.0, 21.0]), dest, idx)
    agree(lambda d, i: fw.reduce_by_index(d, fw.minimum, np.inf, i, fw.iota(4) * 1.0),
          np.array([0.0, 2.0]), dest, idx)  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("n", [1, 5, 3000])
@pytest.mark.parametrize("exclusive", [False, True])
def test_places_that_a_scan_counts_from_anywhere(threads, n, exclusive):
    """The scan's initial value is in every index; it need not be neutral."""
    steps, first = values(np.int64, n) % 3, n // 2
    sums = first + np.cumsum(steps) - (steps if exclusive else 0)
    expected = np.zeros(n, np.int64)
    np.add.at(expected, sums[sums < n], steps[sums < n])

    def combined(dest, steps, first):
        places = fw.scan(fw.add, first, steps, exclusive=exclusive)
        return fw.permute(fw.add, dest, places, steps)

    def last(dest, steps, first):
        places = fw.scan(fw.add, first, steps, exclusive=exclusive)
        return fw.scatter(dest, places, 1)

    args = np.zeros(n, np.int64), steps, np.int64(first)
    with config.scoped(threads=threads):
        agree(combined, expected, *args)
        agree(last, np.isin(np.arange(n), sums).astype(np.int64), *args)
