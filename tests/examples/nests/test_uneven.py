"""examples/nests: loops, words and groups, where every element takes its own time and room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw

words = st.text("ab", max_size=8)
groups = st.lists(st.lists(st.integers(-20, 20), max_size=5), max_size=8)


def test_options_of_every_number_of_steps(example, target):
    """From one step on, some of them on long trees."""
    loops = example("nests.loops")
    for number, longest in ((0, 5), (1, 1), (30, 70)):
        options = loops.market(number, longest)
        expected = [loops.numpy_put(*option) for option in zip(*options, strict=True)]
        assert np.allclose(loops.puts(*options), expected)


def test_an_option_without_steps_is_worth_what_it_gives_now(example, target):
    """Its tree is one node; together with one with steps."""
    loops = example("nests.loops")
    spot, strike = np.array([90.0, 90.0]), np.array([100.0, 100.0])
    rest = (np.ones(2), np.full(2, 0.2), np.full(2, 0.05))

    now, later = np.asarray(loops.puts(spot, strike, *rest, np.array([0, 50])))

    assert now == 10
    assert later > 10


def test_options_and_collatz_for_every_number_of_threads(example, threads):
    """Hundreds of trees."""
    loops = example("nests.loops")
    options, numbers = loops.market(400, 60), np.arange(1, 5000)

    expected = [loops.numpy_put(*option) for option in zip(*options, strict=True)]

    assert np.allclose(loops.puts(*options), expected)
    assert np.array_equal(loops.collatz(numbers), loops.numpy_collatz(numbers))


def test_words(example, target):
    """Empty words, empty patterns, patterns longer than their text."""
    module = example("nests.words")

    @given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
    def check(pairs):
        first, second = (list(part) for part in zip(*pairs, strict=True))
        a, b = module.rows_of(first), module.rows_of(second)
        plain = [module.plain_distance(x, y) for x, y in pairs]
        assert np.asarray(module.distances(a, b)).tolist() == plain
        assert module.places(a, b).tolist() == [module.plain_places(x, y) for x, y in pairs]

    check()


def test_long_words_for_every_number_of_threads(example, threads):
    """Lengths around those of blocks."""
    module = example("nests.words")
    first = ["a" * 127, "ab" * 64, "", "abc" * 43, *module.some_words(300, 20)]
    second = ["b" * 128, "ba" * 64, "abc" * 50, "", *module.some_words(300, 22)]
    a, b = module.rows_of(first), module.rows_of(second)

    plain = [module.plain_distance(x, y) for x, y in zip(first, second, strict=True)]

    assert np.asarray(module.distances(a, b)).tolist() == plain


@pytest.mark.parametrize("size, number", [(0, 1), (1, 1), (1, 5), (129, 6), (2000, 300)])
def test_statistics_of_groups(example, target, size, number):
    """Some groups are empty: their mean and median are NaN."""
    module, draw = example("nests.groups"), np.random.default_rng(size)
    keys, values = draw.integers(0, (number + 1) // 2, size), draw.random(size)

    found = module.statistics(keys, values, number, 3)

    assert module.is_close(found, module.numpy_statistics(keys, values, number, 3))


def test_pairs_within_groups(example, target):
    """A matrix for each group; the closest two."""
    module = example("nests.groups")

    @given(groups)
    def check(rows):
        values = np.array([float(x) for row in rows for x in row], np.float64)
        given_rows = fw.ragged(values, lengths=np.array([len(row) for row in rows], np.int64))
        differences = module.differences(given_rows).tolist()
        assert differences == [[[abs(x - y) for y in row] for x in row] for row in rows]
        closest = np.asarray(module.closest(given_rows)).tolist()
        assert closest == [module.plain_closest(row) for row in rows]

    check()
