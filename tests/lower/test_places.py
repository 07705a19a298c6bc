"""argmin and argmax: the element that NumPy gives, around steps, blocks of indices, and rows."""

import numpy as np
import pytest

import flatweave as fw

LENGTHS = [1, 63, 65, 513, 4097, 26_209]
SHAPES = [(3, 17), (4, 1023), (2, 2500)]


def place_of(better, ties):
    """The index by a user's operator; of equal values the one for which `ties` holds."""

    def operator(a, b):
        (v, i), (w, j) = a, b
        second = better(w, v) | ((w == v) & ties(j, i))
        return fw.where(second, w, v), fw.where(second, j, i)

    return fw.jit(lambda xs, ne: fw.reduce(operator, (ne, -1), (xs, fw.iota(xs.shape[0]))))


FIRST = place_of(lambda w, v: w > v, lambda j, i: j < i)
LAST = place_of(lambda w, v: w < v, lambda j, i: j > i)
EARLIEST = place_of(lambda w, v: w != w, lambda j, i: j < i)


def samples(dtype, shape):
    """Few values, one value, values that rise, the least and the greatest; NaN among floats."""
    rng, size, dtype = np.random.default_rng(5), np.prod(shape), np.dtype(dtype)
    few = rng.integers(0, 3, size).astype(dtype)
    yield few
    yield np.zeros(size, dtype)
    yield np.sort(rng.integers(0, 100, size)).astype(dtype)
    if dtype.kind == "f":
        yield np.where(few == 1, np.nan, few).astype(dtype)
        yield np.full(size, -np.inf, dtype)
    elif dtype.kind != "b":
        for end in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            yield np.where(few == 1, few, end).astype(dtype)


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f8"])
def test_of_equal_elements_the_first(dtype):
    """Also where all are what a search begins with, and where NaN is among them."""
    places = fw.jit(lambda xs: (fw.argmax(xs), fw.argmin(-1 * xs if dtype == "f8" else xs)))
    for length in LENGTHS:
        for xs in samples(dtype, length):
            least = np.argmin(-1 * xs if dtype == "f8" else xs)
            assert tuple(map(int, places(xs))) == (np.argmax(xs), least), length


@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_of_rows(dtype):
    """Rows of fewer and more elements than a stretch has, along both axes and along none."""
    for axis in (0, 1, None):
        place = fw.jit(lambda m, axis=axis: fw.argmax(m, axis=axis))
        for shape in SHAPES:
            for xs in samples(dtype, shape):
                m = xs.reshape(shape)
                np.testing.assert_array_equal(place(m), np.argmax(m, axis=axis))


@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_an_operator_of_ones_own(dtype):
    """The first of the greatest, the last of the least, the element before all, which ask for the
    index in other ways; with an initial element that none of them has."""
    for length in LENGTHS:
        xs = np.random.default_rng(7).integers(0, 9, length).astype(dtype)
        last = length - 1 - np.argmin(xs[::-1])

        assert tuple(map(int, FIRST(xs, -1))) == (max(xs), np.argmax(xs))
        assert tuple(map(int, LAST(xs, 99))) == (min(xs), last)
        assert tuple(map(int, FIRST(xs, 99))) == (99, -1)


def test_an_operator_of_ones_own_is_folded_as_argmax_is():
    """Each lane separately, though its first element is not neutral."""
    assert "hows=lanewise" in FIRST.stages(np.arange(9), 0).text["plan"]
    assert "i16" in FIRST.stages(np.arange(9), 0).text["kernel"]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_beside_other_reductions(name):
    """What else is asked of the elements is not left out where they do not decide."""
    xs = np.random.default_rng(3).integers(0, 50, 5000).astype(np.uint8)
    both = fw.jit(lambda xs: (getattr(fw, name)(xs), fw.sum(xs), fw.argmax(xs % 7)))

    found = tuple(map(int, both(xs)))

    assert found == (getattr(np, name)(xs), xs.sum(), np.argmax(xs % 7))


def test_what_is_stored_beside_a_place_is_stored(target):
    """Of every element, not only of those that decide."""
    xs = (np.arange(5000) * 7919 % 5003).astype(np.float32)
    doubled, place = fw.jit(lambda xs: (xs * 2, fw.argmax(xs)))(xs)
    bins = xs.astype(int) // 1000
    counts, at = fw.jit(lambda xs, to: (fw.histogram(6, to), fw.argmin(xs - to)))(xs, bins)

    assert np.array_equal(doubled, xs * 2) and place == np.argmax(xs)
    assert np.array_equal(counts, np.bincount(bins)) and at == np.argmin(xs - bins)


def test_places_are_sought_apart_where_elements_cost_little():
    """Beside other reductions, too; long work on elements is done once."""

    def notes(f):
        text = fw.jit(f).stages(np.ones(9, np.float32)).text["kernel"]
        return text.count("i16 = select"), text.count("= exp")

    alone, _ = notes(lambda xs: fw.argmax(xs))
    _, once = notes(lambda xs: fw.sum(fw.exp(fw.exp(fw.exp(xs)))))
    assert alone and once
    assert notes(lambda xs: (fw.argmax(xs), fw.sum(xs), fw.argmin(xs)))[0] == 2 * alone

    def dear(xs):
        ys = fw.exp(fw.exp(fw.exp(xs)))
        return fw.argmax(ys), fw.sum(ys)

    assert notes(dear) == (0, once)


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_places_beside_others_are_those_alone(dtype, threads):
    """Around steps and blocks; floats are added as they are without the index."""
    both = fw.jit(lambda xs: (fw.argmax(xs), fw.sum(xs), fw.argmin(xs), fw.max(xs)))
    for length in LENGTHS:
        for xs in samples(dtype, length):
            first, total, last, most = both(xs)

            assert (int(first), int(last)) == (np.argmax(xs), np.argmin(xs))
            np.testing.assert_array_equal(most, np.max(xs))
            np.testing.assert_allclose(total, np.sum(xs), rtol=1e-5)
