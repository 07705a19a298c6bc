"""examples/quicksort.py sorts as NumPy does; its split is the stable partition of every segment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.agreement import DTYPES, values

numbers = st.lists(st.sampled_from([-np.inf, -2.5, -0.0, 0.0, 1.0, 1.5, np.inf, np.nan]))
SIZES = [0, 1, 2, 127, 128, 129, 1023, 1025]


def test_numbers_in_any_order_and_nan_last(example, target):
    """Infinities, both zeros and what is no number."""
    quicksort = example("quicksort").quicksort

    @given(numbers)
    def check(xs):
        xs = np.array(xs, np.float64)
        assert np.array_equal(quicksort(xs)[0], np.sort(xs), equal_nan=True)

    check()


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_every_dtype(example, target, dtype):
    """Numbers keep theirs."""
    xs = values(dtype, 200)
    found = np.asarray(example("quicksort").quicksort(xs)[0])

    assert found.dtype == xs.dtype
    assert np.array_equal(found, np.sort(xs))


@pytest.mark.parametrize("size", SIZES)
def test_every_size_on_any_number_of_threads(example, threads, size):
    """Sorted ones and equal ones too, which need few iterations."""
    quicksort = example("quicksort").quicksort
    xs = np.random.default_rng(size).permutation(size)

    assert np.array_equal(quicksort(xs)[0], np.arange(size))
    assert int(quicksort(np.sort(xs))[1]) == 0
    ordered, turns = quicksort(np.sort(xs)[::-1].copy())
    assert np.array_equal(ordered, np.arange(size))
    assert int(turns) <= max(size, 1).bit_length()
    assert int(quicksort(np.full(size, 7))[1]) == 0


def test_split_orders_each_segment_by_class(example, target):
    """As sorting each segment would, stable; every class that occurs starts a segment."""
    split = example("quicksort").split

    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=40))
    def check(pairs):
        flags, classes = (np.array(part) for part in zip(*pairs, strict=True))
        flags[0] = True
        places, starts = split(flags, classes.astype(np.int8), 3)
        keys = np.cumsum(flags) * 3 + classes
        expected = np.argsort(np.argsort(keys, kind="stable"))
        ordered = np.sort(keys)
        assert np.array_equal(places, expected)
        assert np.array_equal(starts, np.append(True, ordered[1:] != ordered[:-1]))

    check()


def test_the_program_agrees_with_numpy(example, capsys):
    """`python examples/quicksort.py 3000` ends with 0."""
    assert example("quicksort").main(["3000"]) == 0
    assert "3000 numbers in" in capsys.readouterr().out
