"""examples/nests/sorting.py and divide.py put things in order as NumPy does."""

import numpy as np
import pytest

import flatweave as fw

LENGTHS = [[], [0], [1], [0, 0, 2, 0], [3, 0, 127, 128, 129, 1, 1025], [1] * 200]
EXTENTS = [(0, 3), (3, 0), (1, 1), (5, 127), (3, 129), (2, 1025)]


def ragged(lengths, dtype=np.float64):
    """Rows of random numbers, some of them equal."""
    values = np.random.default_rng(sum(lengths)).integers(-50, 50, sum(lengths))
    return fw.ragged(values.astype(dtype), lengths=np.array(lengths, np.int64))


@pytest.mark.sampled
@pytest.mark.parametrize("extents", EXTENTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_radix_sort_of_rows(example, target, extents, dtype):
    """As NumPy's sort along the axis, for every width of numbers."""
    info = np.iinfo(dtype)
    rows = np.random.default_rng(2).integers(0, info.max, extents, dtype, endpoint=True)

    found = example("nests.sorting").radix_sorted(rows)

    assert found.dtype == dtype
    assert np.array_equal(found, np.sort(rows, axis=1))


@pytest.mark.sampled
@pytest.mark.parametrize("lengths", LENGTHS)
def test_radix_sort_of_ragged_rows(example, target, lengths):
    """The same function takes rows of any lengths."""
    rows = fw.ragged(np.asarray(ragged(lengths).values).astype(np.uint8), lengths=lengths or None,
                     **({} if lengths else {"offsets": np.zeros(1, np.int64)}))  # fmt: skip

    found = example("nests.sorting").radix_sorted(rows)

    assert found.tolist() == [sorted(row) for row in rows.tolist()]


@pytest.mark.sampled
@pytest.mark.parametrize("lengths", LENGTHS)
def test_running_sums_and_greatest_values(example, target, lengths):
    """Of empty rows there are none."""
    sorting, rows = example("nests.sorting"), ragged(lengths)

    sums = sorting.running_sums(rows)
    greatest = sorting.greatest(rows, 3)

    expected = [np.sort(row)[np.sort(row) > 0].cumsum().tolist() for row in rows.tolist()]
    assert sums.tolist() == expected
    assert greatest.tolist() == [sorted(row, reverse=True)[:3] for row in rows.tolist()]


@pytest.mark.sampled
def test_rows_of_every_number_of_threads(example, threads):
    """Thousands of rows in several blocks."""
    sorting = example("nests.sorting")
    rows = sorting.ragged_rows(20_000, 10)

    found = sorting.running_sums(rows)

    assert all(map(np.allclose, found, sorting.numpy_running_sums(rows)))


@pytest.mark.parametrize("size", [0, 1, 2, 127, 128, 129, 1023, 1025])
def test_quicksort_sorts(example, threads, size):
    """Distinct, equal and sorted numbers."""
    quicksort, draw = example("nests.divide").quicksort, np.random.default_rng(size)

    for xs in (draw.permutation(size), draw.integers(0, 3, size), np.arange(size)):
        assert np.array_equal(quicksort(xs), np.sort(xs))
