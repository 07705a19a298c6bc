"""map, reduce, scan, filter, partition against plain Python."""

from functools import reduce as fold

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, SIZES, agree, same, values


def affine(f, g):
    """The composition of two affine maps: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def prefixes(op, ne, xs):
    """Every prefix, by the definition."""
    found = []
    for x in xs:
        ne = op(ne, x)
        found.append(ne)
    return found


@pytest.mark.parametrize("n", SIZES)
def test_map(target, n):
    """One call of the function stands for all elements."""
    x, y = values(np.int64, n), values(np.float32, n, seed=1)

    agree(lambda x: fw.map(lambda v: v * v + 1, x), x * x + 1, x)
    agree(lambda x, y: fw.map(lambda v, w: v - w, x, y), x - y, x, y)


def test_map_gives_a_tuple(target):
    """Several results are several arrays; what a function ignores costs nothing."""
    x = values(np.int32, 9)

    agree(lambda x: fw.map(lambda v: (v, v * 2.0), x), (x, x * 2.0), x)
    agree(lambda x: fw.map(lambda v: {"a": v, "b": None}, x), {"a": x, "b": None}, x)
    agree(lambda x: fw.map(lambda v: 1, x), np.ones(9, np.int64), x)


def test_map_takes_a_tuple(target):
    """A structured argument is one argument."""
    x, y = values(np.int32, 9), values(np.int32, 9, seed=1)

    agree(lambda x, y: fw.map(lambda p: p[0] * p[1], (x, y)), x * y, x, y)
    agree(lambda x, y: fw.zip_with(lambda a, b: a - b, x, y), x - y, x, y)
    agree(lambda x, y: fw.map(lambda p, v: p[0] * p[1] + v, (x, y), x), x * y + x, x, y)


def test_map_of_a_slice_beside_an_argument(target):
    """An argument may be as long as something computed later."""
    x = values(np.int32, 9)

    agree(lambda x, y: fw.map(lambda v, w: v - w, x[1:], y), x[1:] - x[:8], x, x[:8])


def test_map_reads_from_outside(target):
    """Scalars and arrays around the function are its closure."""
    x, table = np.array([2, 0, 1]), np.array([1.5, 2.5, 3.5])

    agree(lambda x, t: fw.map(lambda i: t[i] + t[-1], x), table[x] + 3.5, x, table)
    same(fw.map(lambda i: fw.gather(table, i), x), table[x])
    scale = np.float32(0.5)
    same(fw.map(lambda i: i * scale, x), x * scale)


def test_map_over_rows(target):
    """An element of a matrix is a row."""
    m = np.arange(12.0).reshape(3, 4)

    agree(lambda m: fw.map(lambda row: fw.sum(row), m), m.sum(axis=1), m)
    agree(lambda m: fw.map(lambda row: row[1] * 2, m), m[:, 1] * 2, m)
    agree(lambda m: fw.map(lambda row, v: row * v, m, m[:, 0]), m * m[:, :1], m)
    agree(lambda m: fw.map(lambda row: fw.map(lambda v: v + 1, row), m), m + 1, m)


def test_rows_from_outside(target):
    """What a function gives may be an array that does not depend on its element."""
    x, row = np.arange(4), np.arange(3.0)

    agree(lambda x, row: fw.map(lambda v: row, x), np.tile(row, (4, 1)), x, row)
    agree(lambda row: fw.generate(2, lambda i: row), np.tile(row, (2, 1)), row)
    agree(lambda m: fw.map(lambda r: (r, fw.sum(r)), m), (np.eye(3), np.ones(3)), np.eye(3))


@pytest.mark.parametrize("n", SIZES)
def test_reduce(target, n):
    """No elements give the neutral one."""
    x = values(np.int64, n)

    agree(lambda x: fw.reduce(fw.add, 0, x), x.sum(), x)
    agree(
        lambda x: fw.reduce(fw.maximum, -99, x), np.max(x, initial=-99), x
    )
    agree(lambda x: fw.reduce(lambda a, b: a ^ b, 0, x), fold(np.bitwise_xor, x, np.int64(0)), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reduce_keeps_the_dtype(target, dtype):
    """Small integers wrap, unlike in `sum`."""
    x = values(dtype, 100)
    expected = fold(lambda a, b: (a + b).astype(dtype), x, np.zeros((), dtype))

    found = fw.jit(lambda x: fw.reduce(fw.add, 0, x))(x)
    same(found, expected, ulps=64 if x.dtype.kind == "f" else 0)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 1000])
def test_reduce_of_tuples_in_order(target, n):
    """An operator that is not commutative sees its elements in order."""
    a, b = values(np.int64, n), values(np.int64, n, seed=1)
    expected = fold(affine, zip(a, b, strict=True), (np.int64(1), np.int64(0)))
    with np.errstate(all="ignore"):
        agree(lambda a, b: fw.reduce(affine, (1, 0), (a, b)), expected, a, b)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 65, 1000])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(target, n, exclusive, reverse):
    """Every prefix, every suffix, with or without the element itself."""
    a, b = values(np.int64, n), values(np.int64, n, seed=1)
    pairs = list(zip(a, b, strict=True))
    unit = (np.int64(1), np.int64(0))
    with np.errstate(all="ignore"):
        op = (lambda f, g: affine(g, f)) if reverse else affine
        found = prefixes(op, unit, pairs[::-1] if reverse else pairs)
        if exclusive:
            found = [unit, *found][: len(pairs)]
        if reverse:
            found = found[::-1]
    expected = tuple(np.array([p[k] for p in found], np.int64) for k in (0, 1))

    agree(
        lambda a, b: fw.scan(affine, (1, 0), (a, b), exclusive=exclusive, reverse=reverse),
        expected, a, b,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_scan_keeps_the_dtype(target, dtype):
    """The maximum so far, in the dtype of the elements."""
    x = values(dtype, 65)

    agree(lambda x: fw.scan(fw.maximum, x[0], x), np.maximum.accumulate(x), x)


def test_rows_are_reduced_element_by_element(target):
    """The elements of a matrix are rows, and operators work on rows."""
    m = np.arange(12).reshape(4, 3)

    agree(lambda m: fw.reduce(fw.add, 0, m), m.sum(axis=0), m)
    agree(lambda m: fw.scan(fw.add, 0, m), m.cumsum(axis=0), m)
    agree(lambda m: fw.reduce(lambda a, b: fw.where(a > b, a, b), -1, m), m.max(axis=0), m)
    agree(lambda m: fw.scan(fw.add, 0, m, reverse=True), m[::-1].cumsum(axis=0)[::-1], m)


@pytest.mark.parametrize("n", SIZES)
def test_filter(target, n):
    """Order is kept, also when nothing or everything is."""
    x = values(np.int32, n)

    agree(lambda x: fw.filter(lambda v: v > 20, x), x[x > 20], x)
    agree(lambda x: fw.filter(lambda v: v > 1000, x), x[:0], x)
    agree(lambda x: fw.filter(lambda v: v < 1000, x), x, x)


def test_filter_of_tuples_and_rows(target):
    """A predicate sees the whole element."""
    x, y = values(np.int32, 50), values(np.float64, 50, seed=1)
    m = np.arange(12).reshape(4, 3)
    keep = x > y

    agree(lambda x, y: fw.filter(lambda p: p[0] > p[1], (x, y)), (x[keep], y[keep]), x, y)
    agree(lambda m: fw.filter(lambda row: row[0] > 2, m), m[m[:, 0] > 2], m)


@pytest.mark.parametrize("n", [0, 1, 7, 65, 1000])
def test_partition(target, n):
    """Those that hold, then the others."""
    x = values(np.int32, n)
    even = x % 2 == 0

    agree(lambda x: fw.partition(lambda v: v % 2 == 0, x), (x[even], x[~even]), x)


def test_what_filter_gives_can_be_computed_with(target):
    """Its length is an extent like any other."""
    x = values(np.int32, 100)
    kept = x[x > 20]

    def f(x):
        kept = fw.filter(lambda v: v > 20, x)
        return kept + fw.iota(kept.shape[0]), kept.shape[0], fw.sum(kept)

    agree(f, (kept + np.arange(len(kept)), np.int64(len(kept)), np.int64(kept.sum())), x)


def test_operators_may_be_anything_callable(target):
    """Python's, ours, NumPy's, a lambda."""
    x = values(np.int64, 20)
    for op in (fw.add, np.add, int.__add__ and (lambda a, b: a + b), fw.jit(lambda a, b: a + b)):
        agree(lambda x, op=op: fw.reduce(op, 0, x), x.sum(), x)


def test_neutral_elements_take_the_dtype(target):
    """`0` is an i8 among i8s, and inf an f32 among f32s."""
    x = values(np.int8, 9)
    y = values(np.float32, 9)

    agree(lambda x: fw.scan(fw.add, 0, x), np.cumsum(x, dtype=np.int8), x)
    agree(lambda y: fw.reduce(fw.minimum, np.inf, y), y.min(), y)
