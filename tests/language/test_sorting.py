"""sort, argsort, sort_by_key: stable, for every dtype, against NumPy's ranks."""

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import DTYPES, FLOATS, agree, same
from tests.quick import every_case

LENGTHS = [0, 1, 2, 127, 128, 129, 1023, 1025, 2**16 + 3]
SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-40, -1e-40]


def samples(dtype: Any, n: int, seed: int = 0) -> np.ndarray:
    """Values of all sizes, every second one from a few that come again and again."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind == "f":
        some = np.array(SPECIAL).astype(dtype)
        wide = rng.standard_normal(n) * 10.0 ** rng.integers(-30, 30, n)
        wide[abs(wide) > np.finfo(dtype).max] = 1
        return np.where(rng.integers(0, 2, n) > 0, wide.astype(dtype), rng.choice(some, n))
    ends = np.iinfo(dtype)
    wide = rng.integers(ends.min, ends.max, n, dtype, endpoint=True)
    some = np.array([ends.min, ends.max, 0, 1, 3], dtype)
    return np.where(rng.integers(0, 2, n) > 0, wide, rng.choice(some, n))


def order_of(*keys: np.ndarray, descending: bool = False) -> np.ndarray:
    """The stable order by keys, the first of which counts most; NaN last, -0.0 equal to 0.0."""
    ranks = []
    for key in keys:
        rank = np.unique(key, return_inverse=True)[1].reshape(-1)
        if descending:
            rank = -rank
        ranks.append(np.where(np.isnan(key), len(key), rank) if key.dtype.kind == "f" else rank)
    return np.lexsort(ranks[::-1])


def sorted_values(xs: np.ndarray, descending: bool = False) -> np.ndarray:
    """Values sorted alone: -0.0 before 0.0, and NaN last, positive ones first, by their bits."""
    if xs.dtype.kind != "f":
        return xs[order_of(xs, descending=descending)]
    numbers, nan = xs[~np.isnan(xs)], xs[np.isnan(xs)]
    bits = nan.view(f"i{nan.itemsize}")
    numbers = numbers[np.lexsort((~np.signbit(numbers), numbers))]
    parts = numbers, nan[np.lexsort((abs(bits), bits < 0))]
    return np.concatenate([part[::-1] if descending else part for part in parts])


def same_bits(found: Any, expected: np.ndarray) -> None:
    """Equal to the last bit: -0.0 is not 0.0 here."""
    values = np.asarray(found)
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    assert values.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize(
    ("descending", "dtype"), every_case(2, itertools.product([False, True], DTYPES))
)
def test_every_dtype(target, dtype, descending):
    """Values and indices, up and down, of every length around the steps of a machine."""
    sort = fw.jit(lambda x: fw.sort(x, descending=descending))
    places = fw.jit(lambda x: fw.argsort(x, descending=descending))
    for n in LENGTHS:
        xs = samples(dtype, n, seed=n)
        order = order_of(xs, descending=descending)
        same_bits(sort(xs), sorted_values(xs, descending))
        same_bits(places(xs), order)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_agrees_where_it_has_an_order(target, dtype):
    """NumPy's own stable order puts NaN last, too."""
    xs = samples(dtype, 1000)

    same(fw.argsort(xs), np.argsort(xs, kind="stable"))
    same(fw.sort(xs), np.sort(xs, kind="stable"))


@pytest.mark.parametrize("dtype", [np.float16, *FLOATS])
def test_floats_of_all_short_lengths(target, dtype):
    """One order of bits, whatever sorts: a row in lanes, a network, or passes over digits."""
    flat = fw.jit(lambda x: (fw.sort(x), fw.sort(x, descending=True)))
    rows = fw.jit(lambda x: fw.sort(x, axis=1))
    for n in range(66):
        xs = samples(dtype, 3 * n, seed=n).reshape(3, n)
        up = [sorted_values(row) for row in xs]
        same_bits(rows(xs), np.array(up, dtype).reshape(3, n))
        found, down = flat(xs[0])
        same_bits(found, up[0])
        same_bits(down, sorted_values(xs[0], descending=True))
        np.testing.assert_array_equal(found, np.sort(xs[0]))


@given(st.lists(st.sampled_from(SPECIAL) | st.floats(width=32), max_size=40), st.booleans())
def test_any_floats(target, numbers, descending):
    """Infinities, both zeros, NaN of either sign, numbers below the least normal one."""
    for dtype in FLOATS:
        xs = np.array(numbers, dtype)
        order = order_of(xs, descending=descending)

        same_bits(fw.sort(xs, descending=descending), sorted_values(xs, descending))
        same_bits(fw.argsort(xs, descending=descending), order)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(SPECIAL), st.booleans()), max_size=60),
    st.booleans(),
)
def test_any_tuples(target, rows, descending):
    """The first part counts most; equal tuples keep their order."""
    a = np.array([row[0] for row in rows], np.int16)
    b = np.array([row[1] for row in rows], np.float32)
    c = np.array([row[2] for row in rows], bool)
    order = order_of(a, b, c, descending=descending)

    for found, xs in zip(fw.sort((a, b, c), descending=descending), (a, b, c), strict=True):
        same_bits(found, xs[order])
    same_bits(fw.argsort((a, b, c), descending=descending), order)


PATTERNS = {
    "sorted": lambda n: np.arange(n),
    "reversed": lambda n: np.arange(n)[::-1],
    "equal": lambda n: np.full(n, -7),
    "two": lambda n: np.arange(n) % 2 * 2**40,
    "high bits only": lambda n: np.arange(n)[::-1] << 50,
    "saw": lambda n: np.arange(n) % 1000,
    "one apart": lambda n: np.where(np.arange(n) == n // 2, -(2**62), 5),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(target, pattern):
    """Digits in which no two keys differ are left out; indices show that order is kept."""
    for n in (1, 2, 1025, 40_000):
        xs = PATTERNS[pattern](n).astype(np.int64)
        order = np.argsort(xs, kind="stable")
        found = fw.sort_by_key(xs, np.arange(n))
        same(found, (xs[order], order))
        down = order_of(xs, descending=True)
        same(fw.sort_by_key(xs, np.arange(n), descending=True), (xs[down], down))


@pytest.mark.parametrize("n", [1025, 2**16 + 3, 300_001])
def test_the_order_does_not_depend_on_threads(threads, n):
    """However the elements are divided, there is one stable order."""
    keys = (samples(np.uint32, n) % 1000).astype(np.uint32)
    values = samples(np.float64, n)
    order = np.argsort(keys, kind="stable")
    with config.scoped(target="cpu"):
        found_keys, found = fw.sort_by_key(keys, values)

    same_bits(found_keys, keys[order])
    same_bits(found, values[order])


@pytest.mark.sampled
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.int64])
def test_a_million(dtype, count):
    """Wide digits, and lines that go around the caches: by one thread; narrow ones by three."""
    xs = samples(dtype, 2**20 + 1)
    order = order_of(xs)
    with config.scoped(target="cpu", threads=count):
        same_bits(fw.sort(xs), sorted_values(xs))
        keys, places = fw.sort_by_key(xs, np.arange(len(xs), dtype=np.uint32))
    same_bits(keys, xs[order])
    same_bits(places, order.astype(np.uint32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_of_every_dtype_go_along(target, dtype):
    """Narrow ones fill no line of a cache, wide ones several."""
    keys, values = samples(np.uint8, 3000), samples(dtype, 3000, seed=1)
    order = order_of(keys)

    found_keys, found = fw.sort_by_key(keys, values)

    same_bits(found_keys, keys[order])
    same_bits(found, values[order])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Wide:
    key: Any
    point: Point
    rest: Any


def test_structures_come_back_as_they_were(target):
    """NamedTuples and dataclasses, and dicts of values."""
    n = 500
    x, y = samples(np.float32, n), samples(np.int8, n, seed=2)
    order = order_of(x, y)
    agree(lambda p: fw.sort(p), Point(x[order], y[order]), Point(x, y))

    by_y = order_of(y)
    agree(lambda k, v: fw.sort_by_key(k, v), (y[by_y], {"p": Point(x[by_y], y[by_y])}),
          y, {"p": Point(x, y)})  # fmt: skip


def test_wide_elements_and_rows_are_gathered(target):
    """What is too wide to be moved in every pass arrives all the same."""
    n = 300
    key, rest = samples(np.int32, n), tuple(samples(np.float64, n, seed=k) for k in range(8))
    rows = samples(np.int16, 3 * n, seed=9).reshape(n, 3)
    order = order_of(key)
    whole = Wide(key, Point(rest[0], rows), rest)
    wanted = Wide(key[order], Point(rest[0][order], rows[order]), tuple(r[order] for r in rest))

    agree(lambda w: fw.sort(w, key=lambda e: e.key), wanted, whole)
    agree(lambda k, v: fw.sort_by_key(k, v), (key[order], rows[order]), key, rows)
    agree(lambda k, v: fw.sort_by_key(k, v), (key[order], wanted.rest), key, rest)
    agree(lambda k, v: fw.sort_by_key(k, v), (key[order], wanted.rest[:7]), key, rest[:7])


def test_rows_by_a_key(target):
    """A key makes scalars of rows; without one each row is sorted separately."""
    rows = samples(np.int32, 400).reshape(100, 4) % 5
    order = order_of(rows[:, 2], -rows.sum(axis=1))

    agree(lambda m: fw.sort(m, key=lambda row: (row[2], -fw.sum(row))), rows[order], rows)
    agree(lambda m: fw.argsort(m, key=lambda row: (row[2], -fw.sum(row))), order, rows)
    agree(lambda m: fw.sort(m), np.sort(rows, axis=-1), rows)
    agree(lambda m: fw.argsort(m), np.argsort(rows, axis=-1, kind="stable"), rows)
    with pytest.raises(fw.ShapeError, match="are rows"):
        fw.sort((rows, rows))


def test_keys(target):
    """Cheap ones are computed in every pass, dear ones and those that read arrays once."""
    xs, table = samples(np.int32, 2000) % 100, samples(np.float64, 200, seed=4)

    cheap = order_of(xs % 7)
    dear = order_of(np.float64(xs) ** 2 % 10)
    read = order_of(table[xs + 100], -xs)
    agree(lambda x: fw.sort(x, key=lambda v: v % 7), xs[cheap], xs)
    agree(lambda x: fw.argsort(x, key=lambda v: v.astype(fw.f64) ** 2 % 10), dear, xs)
    agree(lambda x, t: fw.sort(x, key=lambda v: (t[v + 100], -v)), xs[read], xs, table)
    agree(lambda x, s: fw.sort(x, key=lambda v: v * s), xs[order_of(-xs)], xs, np.int32(-1))


def test_the_key_may_be_a_constant_or_a_bool(target):
    """Then the order is kept, or those that do not hold come first."""
    xs = np.array([3, -1, 2, -5])

    agree(lambda x: fw.sort(x, key=lambda v: 0), xs, xs)
    agree(lambda x: fw.sort(x, key=lambda v: v > 0), xs[[1, 3, 0, 2]], xs)
    agree(lambda x: fw.sort(x, key=lambda v: v > 0, descending=True), xs[[0, 2, 1, 3]], xs)


def test_what_is_sorted_may_be_needed_again(target):
    """Only dead memory is written to."""
    xs = samples(np.int32, 3000)
    ys = xs ^ 1
    up, down = ys[order_of(ys)], ys[order_of(ys, descending=True)]

    def both(x):
        y = x ^ 1
        return fw.sort(y), y, fw.sort(y, descending=True), fw.sort((y, y))[1]

    agree(both, (up, ys, down, up), xs)


def test_sorts_in_loops_and_branches(target):
    """The state of a loop is sorted in its own memory, the argument never."""
    xs = samples(np.uint16, 700)
    before, thrice = xs.copy(), xs
    for _ in range(3):
        thrice = np.sort(thrice ^ 5) ^ 5

    agree(lambda x: fw.fori_loop(0, 3, lambda k, s: fw.sort(s ^ 5) ^ 5, x), thrice, xs)
    agree(lambda x: fw.cond(x.shape[0] > 3, fw.sort, lambda s: s, x), np.sort(xs), xs)
    np.testing.assert_array_equal(xs, before)


def test_sorting_meets_the_rest_of_the_language(target):
    """Producers before it, consumers after it; a median, and the unique elements."""
    xs = samples(np.int64, 999) % 50

    agree(lambda x: fw.sort(x * 2 + 1)[x.shape[0] // 2], np.sort(xs * 2 + 1)[499], xs)

    def unique(x):
        y = fw.sort(x)
        first = fw.generate(y.shape, lambda i: (i == 0) | (y[i] != y[fw.maximum(i - 1, 0)]))
        return fw.filter(lambda e: e[1], (y, first))[0]

    agree(unique, np.unique(xs), xs)


def test_lengths_that_differ(target):
    """Every key has a value."""
    with pytest.raises(fw.ShapeError, match="one length, got 3 and 2"):
        fw.sort_by_key(np.arange(3), np.arange(2))


def test_a_key_that_raises_is_the_users(target):
    """The exception comes through, and the next call works."""
    def key(v):
        raise KeyError("no such key")

    with pytest.raises(KeyError, match="no such key"):
        fw.sort(np.arange(3), key=key)
    same(fw.sort(np.array([2, 1])), np.array([1, 2]))


@pytest.mark.parametrize("descending", [False, True])
def test_many_keys(target, descending):
    """Each decides where those before it are equal, however many there are."""
    for n in (0, 1, 1025):
        rng = np.random.default_rng(n)
        dtypes = ("i1", "f4", "i8", "f8", "i2", "f4")
        keys = tuple(rng.integers(-1, 2, n).astype(dtype) for dtype in dtypes)
        order = order_of(*keys, descending=descending)
        values = np.arange(n)
        found, moved = fw.sort_by_key(keys, values, descending=descending)

        expected = [key[order] for key in keys]

        assert all(map(np.array_equal, fw.sort(keys, descending=descending), expected))
        assert all(map(np.array_equal, found, expected))
        assert np.array_equal(moved, order)
        assert np.array_equal(fw.argsort(keys, descending=descending), order)
