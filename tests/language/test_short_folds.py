"""Reductions of a few elements in element functions: of pairs, argmin and argmax."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("n", [1, 2, 8, 17, 64, 65])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_places_of_extremes(target, n, dtype):
    """The first of equal ones, NaN before all others, rows of nothing but the worst value."""
    m = RNG.integers(-3, 3, (40, n)).astype(dtype)
    if dtype is np.float32:
        for value, other in ((2, np.nan), (1, np.inf), (-3, -np.inf)):
            m[m == value] = other
        m[0], m[1] = np.inf, -np.inf

    @fw.jit
    def program(values):
        rows = values.reshape(-1, n)
        return fw.argmax(rows, axis=1), fw.map(lambda row: fw.argmin(row), rows)

    same(program(m.ravel()), (m.argmax(1), m.argmin(1)))


@pytest.mark.parametrize("count", [3, 16, 17])
def test_pairs(target, count):
    """The operator sees elements in order, and its initial value once."""
    x = RNG.integers(0, 50, 300)

    def first(a, b):
        return fw.where(a[0] >= b[0], a, b)

    @fw.jit
    def program(x):
        def one(i):
            values = fw.generate(count, lambda k: (x[i + k] * x[i]) % 7)
            joined = fw.reduce(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 5),
                               (values, fw.iota(count)))  # fmt: skip
            return fw.reduce(first, (-1, -1), (values, fw.iota(count))), joined

        return fw.generate(x.shape[0] - count, one)

    windows = np.lib.stride_tricks.sliding_window_view(x, count)[: len(x) - count]
    values = windows * windows[:, :1] % 7
    best = values.max(1), values.argmax(1)
    product, total = np.ones(len(values), np.int64), np.full(len(values), 5)
    for k in range(count):
        product, total = product * values[:, k], total * values[:, k] + k
    same(program(x), (best, (product, total)))


def test_a_fold_of_neighbours_in_a_long_pass():
    """Its index is no distance that the pass around it reads ahead by."""
    x = RNG.random(5000).astype(np.float32)
    f = fw.jit(lambda x: fw.generate(x.shape[0] - 8, lambda i: fw.reduce(
        fw.maximum, np.float32(0), fw.generate(8, lambda k: x[i + k] * x[i]))), target="cpu")

    windows = np.lib.stride_tricks.sliding_window_view(x, 8)[:-1]
    same(f(x), (windows * windows[:, :1]).max(1))


@pytest.mark.parametrize("n", [3, 16])
def test_triangles(target, n):
    """A fold that goes up to the position in a row of a length that is known."""
    m, t = RNG.normal(size=(40, n)), RNG.normal(size=n)

    @fw.jit
    def program(m, t):
        def before(row, i):
            return fw.sum(fw.generate((i,), lambda j: row[j] * t[j]))

        return (
            fw.generate((m.shape[0], n), lambda r, i: before(m[r], i)),
            fw.map(lambda row: fw.map(lambda i: before(row, i) ** 2, np.arange(n)), m),
        )

    expected = np.cumsum(m * t, axis=1) - m * t
    for found, wanted in zip(program(m, t), (expected, expected**2), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
