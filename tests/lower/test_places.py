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


def ragged(values, mean):
    """The values in rows of about as many elements, some of them empty, and their bounds."""
    counts = np.random.default_rng(mean).poisson(mean, len(values) // mean - 40)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    bounds = bounds[bounds <= len(values)]
    return fw.ragged(values[: bounds[-1]], offsets=bounds), [*zip(bounds, bounds[1:], strict=False)]


@pytest.mark.parametrize("mean", [1, 4, 20, 150])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4", "f8"])
def test_of_ragged_rows(dtype, mean):
    """Rows of fewer elements than a register has, of several registers, of several words; where
    zeros differ in their sign, and where some element is what an empty row has."""
    places = fw.jit(lambda rows: [f(axis=1).fill_none(-1) for f in (rows.argmax, rows.argmin)])
    for xs in samples(dtype, 20_000):
        signed = np.where(np.arange(20_000) % 3 == 1, -xs, xs) if dtype[0] == "f" else xs
        rows, bounds = ragged(signed, mean)
        wanted = [
            [f(signed[lo:hi]) if lo < hi else -1 for lo, hi in bounds]
            for f in (np.argmax, np.argmin)
        ]
        np.testing.assert_array_equal(places(rows), wanted)


@pytest.mark.parametrize("mean", [4, 150])
def test_an_operator_of_ones_own_on_ragged_rows(mean):
    """The last of the least, and which it is, a zero with its sign."""

    def last(a, b):
        (v, i), (w, j) = a, b
        second = (w < v) | (w == v) & (j > i) | (w != w) & ((v == v) | (j > i))
        return fw.where(second, w, v), fw.where(second, j, i)

    def of_row(row):
        return fw.reduce(last, (np.inf, -1), (row, fw.iota(row.shape[0])), check=False)

    xs = np.random.default_rng(3).integers(0, 3, 20_000) * np.tile([1.0, -0.0], 10_000)
    xs[::7], xs[::31] = np.inf, np.nan
    rows, bounds = ragged(xs, mean)
    values, at = map(np.asarray, fw.jit(lambda rows: fw.map(of_row, rows))(rows))

    for k, (lo, hi) in enumerate(bounds):
        wanted = hi - lo - 1 - np.argmin(xs[lo:hi][::-1]) if lo < hi else -1
        assert at[k] == wanted
        np.testing.assert_array_equal(values[k], xs[lo + wanted] if lo < hi else np.inf)
        assert lo == hi or np.signbit(values[k]) == np.signbit(xs[lo + wanted])


def test_the_place_in_a_ragged_row_is_read_from_a_word():
    """Elements are compared by their values alone, in any order; and an element of which the trial
    shows that it is neutral is not combined with the results once more."""
    place = fw.jit(lambda rows: rows.argmax(axis=1).fill_none(-1))
    rows, _ = ragged(np.arange(20_000.0), 4)
    stages = place.stages(rows)

    assert "ctz" in stages.text["kernel"]
    assert "any_order=true" in stages.text["kernel"]
    assert any("f64" in note and "nobody reads it" in note for note in stages.notes)


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
