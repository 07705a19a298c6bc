"""Products of tall narrow matrices: few results, each a long fold."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.codegen.levels import in_force

SHAPES = [(1, 1), (3, 5), (4, 1), (1, 9), (9, 17), (17, 3), (65, 66)]
"""Columns of both: one result, one register, several, and tiles that are not whole."""
GRAM = fw.jit(lambda m: m.T @ m)
PRODUCT = fw.jit(lambda a, b: a.T @ b)


def whole(shape, dtype=np.float64):
    """Whole numbers, so that every grouping of a sum is exact."""
    return np.random.default_rng(0).integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_of_columns(shape, target):
    """Below and above the length from which on the fold is divided, with a block left."""
    left, right = shape
    if target == "interp" and left * right > 30:
        pytest.skip("too many elements for the interpreter")
    for rows in (255, 1500, 5000):
        a, b = whole((rows, left)), whole((rows, right))

        np.testing.assert_array_equal(PRODUCT(a, b), a.T @ b)


@pytest.mark.parametrize("dtype", [np.int8, np.complex128])
def test_elements_of_every_kind(dtype):
    """Integers wrap; complex numbers are two results of a cell."""
    a, b = whole((4500, 5), dtype), whole((4500, 18), dtype)
    if dtype is np.complex128:
        a, b = a + 1j * a[::-1], b - 2j * b[::-1]

    found = fw.dot(a.T, b)

    assert found.dtype == dtype
    np.testing.assert_array_equal(found, a.T @ b)


def test_other_ways_to_write_them():
    """As a sum of outer products, with weights, centred, of rows, and with work after the sum."""
    m, other, w = whole((4200, 6)), whole((4200, 3)), whole(4200)

    outer = fw.jit(lambda x: fw.sum(x[:, :, None] * x[:, None, :], axis=0))
    np.testing.assert_array_equal(outer(m), m.T @ m)
    weighted = fw.jit(lambda x, v: (x * v[:, None]).T @ x + 1.0)
    np.testing.assert_array_equal(weighted(m, w), (m * w[:, None]).T @ m + 1)
    rows = fw.jit(lambda x, y: x @ y.T)
    np.testing.assert_array_equal(rows(m.T.copy(), other.T.copy()), m.T @ other)
    covariance = fw.jit(lambda x: (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) / x.shape[0])
    np.testing.assert_allclose(covariance(m), np.cov(m.T, bias=True), rtol=1e-12)


def test_other_operators():
    """Shortest ways by min and plus, and an operator that does not commute."""
    a, b = whole((5000, 5)), whole((5000, 6))

    def over_steps(fold):
        return fw.jit(lambda x, y: fw.map(lambda r: fw.map(lambda c: fold(r, c), y.T), x.T))

    shortest = over_steps(lambda r, c: fw.min(r + c))
    np.testing.assert_array_equal(shortest(a, b), (a[:, :, None] + b[:, None]).min(0))
    last = over_steps(lambda r, c: fw.reduce(lambda p, q: fw.where(q > 0, q, p), 0.0, r * c))
    products = a[:, :, None] * b[:, None]
    wanted = [[x[x > 0][-1] for x in row] for row in np.moveaxis(products, 0, 2)]
    np.testing.assert_array_equal(last(a, b), wanted)


def test_what_others_read_too_is_stored_once():
    """An array that is a result as well is not computed for the product alone."""
    m = whole((4500, 4))

    twice, product = fw.jit(lambda x: ((x * 2).T, (x * 2).T @ x))(m)

    np.testing.assert_array_equal(twice, m.T * 2)
    np.testing.assert_array_equal(product, 2 * m.T @ m)


def test_the_bits_do_not_depend_on_threads(threads):
    """Blocks are by sizes alone, and joined in their order."""
    m = np.random.default_rng(1).random((7001, 6), np.float32)
    found = np.asarray(GRAM(m))

    with config.scoped(threads=1):
        np.testing.assert_array_equal(found, np.asarray(GRAM(m)))
    np.testing.assert_allclose(found, m.astype(float).T @ m, rtol=1e-5)


def test_for_other_cpus():
    """Fewer and narrower registers."""
    a, b = whole((4200, 9)), whole((4200, 19))

    with in_force("x86-64-v3"):
        np.testing.assert_array_equal(fw.jit(lambda x, y: x.T @ y)(a, b), a.T @ b)
