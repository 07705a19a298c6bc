"""Folds over reads that vary along one axis each: products, distances, nearest neighbours."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import schedule_of
from tests.codegen.levels import LEVELS, in_force
from tests.quick import every

SHAPES = [
    (1, 1, 1), (7, 7, 7), (4, 4, 0), (0, 5, 3), (5, 0, 3), (14, 32, 16), (15, 33, 17),
    (127, 128, 129), (129, 127, 257), (3, 1025, 5), (1023, 6, 31), (40, 300, 600),
]  # fmt: skip
"""Rows, lanes, steps: around register tiles, tiles and depths, and on both sides of each."""


def product(a, b):
    """As a nest over rows and columns."""
    return fw.map(lambda row: fw.map(lambda column: fw.sum(row * column), fw.transpose(b)), a)


def product_of_rows(a, b):
    """Of the rows of both."""
    return fw.map(lambda row: fw.map(lambda other: fw.sum(row * other), b), a)


def product_by_index(a, b):
    """Reads that nothing says are inside but the extents."""
    steps = fw.iota(a.shape[1])
    return fw.generate((a.shape[0], b.shape[1]),
                       lambda i, j: fw.sum(fw.map(lambda k: a[i, k] * b[k, j], steps)))  # fmt: skip


def distances(a, b):
    """Between all rows of both, squared."""
    return fw.map(lambda p: fw.map(lambda q: fw.sum((p - q) * (p - q)), b), a)


def nearest(a, b):
    """For each row of one the nearest row of the other."""
    return fw.map(lambda p: fw.argmin(fw.map(lambda q: fw.sum((p - q) * (p - q)), b)), a)


def forced(way, f, *args):
    """What a function gives where contractions go one way, `tiles` or `lanes`."""
    with config.scoped(schedule=schedule_of(f"contraction={way}")):
        return np.asarray(fw.jit(lambda *xs: f(*xs))(*args))


def whole(rng, shape, dtype=np.float64):
    """Whole numbers, so that every grouping of a sum is exact."""
    return rng.integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("shape", every(2, SHAPES), ids=str)
def test_products_of_all_shapes(shape, target):
    """Both operands as they lie and transposed, written in three ways."""
    rows, lanes, steps = shape
    if target == "interp" and rows * lanes * steps > 1 << 17:
        pytest.skip("too many elements for the interpreter")
    rng = np.random.default_rng(0)
    a, b = whole(rng, (rows, steps)), whole(rng, (steps, lanes))

    for f, other in ((product, b), (product_of_rows, b.T.copy()), (product_by_index, b)):
        found = forced("tiles", f, a, other)
        np.testing.assert_array_equal(found, a @ b)
    np.testing.assert_array_equal(
        forced("tiles", lambda x, y: product(x.T, y), a.T.copy(), b), a @ b
    )
    np.testing.assert_array_equal(fw.dot(a, b), a @ b)


STACKS = [(3, 4, 4, 4), (2, 16, 16, 16), (5, 7, 9, 3), (0, 4, 4, 4), (3, 5, 6, 0), (2, 17, 33, 70)]
"""Products, and rows, lanes and steps of each: in one register, in two, in some parts."""


def stack_by_index(x, y):
    """Reads that nothing says are inside but the extents."""
    shape, steps = (x.shape[0], x.shape[1], y.shape[2]), x.shape[2]
    return fw.generate(shape, lambda t, i, j: fw.sum(
        fw.generate(steps, lambda k: x[t, i, k] * y[t, k, j])))  # fmt: skip


@pytest.mark.parametrize("shape", every(2, STACKS), ids=str)
def test_stacks_of_products(shape, target):
    """As a map, by name, and by index."""
    count, rows, lanes, steps = shape
    rng = np.random.default_rng(0)
    a, b = whole(rng, (count, rows, steps)), whole(rng, (count, steps, lanes))

    for f in (lambda x, y: fw.map(lambda p, q: p @ q, x, y), fw.matmul, stack_by_index):
        np.testing.assert_array_equal(forced("tiles", f, a, b), a @ b)


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES[5:], ids=str)
def test_nearest_rows(shape, threads):
    """The first of the nearest, in a fold around the one over coordinates."""
    rows, lanes, steps = shape
    rng = np.random.default_rng(0)
    a, b = whole(rng, (rows, steps)), whole(rng, (lanes, steps))
    wanted = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T

    np.testing.assert_array_equal(forced("tiles", distances, a, b), wanted)
    np.testing.assert_array_equal(forced("tiles", nearest, a, b), wanted.argmin(1))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.float32])
def test_elements_of_every_width(dtype):
    """Integers wrap as NumPy's do."""
    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(0, 100, (50, 40)).astype(dtype),
        rng.integers(0, 100, (40, 70)).astype(dtype),
    )

    found = forced("tiles", product, a, b)

    wanted = (a[:, :, None] * b[None]).sum(1)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_other_operators():
    """Shortest ways by min and plus, reachability by or and and, a pair of results of a cell."""
    rng = np.random.default_rng(0)
    a, b = whole(rng, (37, 41), np.float32), whole(rng, (41, 43), np.float32)
    every = a[:, :, None] + b[None]

    def over_steps(fold):
        return lambda x, y: fw.map(lambda r: fw.map(lambda c: fold(r, c), fw.transpose(y)), x)

    shortest = over_steps(lambda r, c: fw.min(r + c))
    np.testing.assert_array_equal(forced("tiles", shortest, a, b), every.min(1))
    reached = over_steps(lambda r, c: fw.any(fw.logical_and(r > 5, c > 5)))
    np.testing.assert_array_equal(forced("tiles", reached, a, b), (a > 5) @ (b > 5))
    way = over_steps(lambda r, c: fw.argmin(r + c))
    np.testing.assert_array_equal(forced("tiles", way, a, b), every.argmin(1))


def test_operators_that_do_not_commute():
    """Maps x -> m x + c, composed in order; c is of the row, m of the lane."""
    rng = np.random.default_rng(0)
    a, b = whole(rng, (21, 9)), rng.integers(-1, 2, (9, 35)).astype(np.float64)

    def composed(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    def compose(r, c):
        return fw.reduce(composed, (1.0, 0.0), (c, r))[1]

    found = forced(
        "tiles",
        lambda x, y: fw.map(lambda r: fw.map(lambda c: compose(r, c), fw.transpose(y)), x),
        a,
        b,
    )

    wanted = np.zeros((21, 35))
    for k in range(9):
        wanted = wanted * b[k] + a[:, k, None]
    np.testing.assert_array_equal(found, wanted)


def test_what_stands_around_the_fold():
    """Values of only the row, the lane and the step, and a body after the fold."""
    rng = np.random.default_rng(0)
    a, b, w = whole(rng, (30, 20)), whole(rng, (20, 40)), whole(rng, 20)

    def weighted(x, y, z):
        inner = lambda i, j: fw.sum(fw.map(lambda k: x[i, k] * y[k, j] * z[k] + i - j, fw.iota(20)))
        return fw.generate((30, 40), lambda i, j: fw.maximum(inner(i, j), 0.0) + i)

    wanted = (a * w) @ b + 20.0 * (np.arange(30)[:, None] - np.arange(40))
    wanted = np.maximum(wanted, 0) + np.arange(30)[:, None]
    np.testing.assert_array_equal(forced("tiles", weighted, a, b, w), wanted)


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_bits_as_lane_by_lane(level):
    """Also of rounded sums, NaN and zeros of both signs; for every number of threads. Longer sums
    of floats go by blocks, which are not the same ones."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((130, 64), (64, 70)))
    a[3, 5], a[4], b[:, 7], b[9, 9] = np.nan, -0.0, 0.0, np.inf

    stack = lambda x, y: fw.matmul(x[None], y[None])
    for f, other in ((product, b), (nearest, b.T.copy()), (stack, b)):
        for threads in (1, 2, 3, 7):
            with in_force(level), config.scoped(threads=threads):
                tiles, lanes = (forced(way, f, a, other) for way in ("tiles", "lanes"))
            assert tiles.tobytes() == lanes.tobytes()


def test_a_read_outside_is_an_error():
    """The variant that asks at each read runs where extents do not fit, and says which."""
    a, b = np.ones((50, 60)), np.ones((59, 50))

    with pytest.raises(fw.IndexOutOfBounds, match="59"):
        forced("tiles", product_by_index, a, b)
