"""Sums, products and extremes: one winner, factors that nothing can be divided by, many blocks."""

import numpy as np
import pytest

import flatweave as fw

INF, NAN = np.inf, np.nan


def others(x):
    """Each product of all elements but one, by its definition."""
    return [np.prod(np.delete(x, i)) for i in range(len(x))]


@pytest.mark.parametrize("values", [
    [], [2.0], [0.0], [2.0, 3.0], [2.0, 0.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [INF, 2.0],
    [NAN, 2.0],
])  # fmt: skip
def test_products_of_the_others(values):
    """With zeros, infinities and NaN among the factors, in an array, in rows and by index."""
    x = np.array(values)

    with fw.target("interp"), np.errstate(all="ignore"):
        whole = fw.grad(fw.prod)(x)
        row = fw.map(fw.grad(fw.prod), fw.ragged(x, lengths=[len(x)])).values
        by_index = fw.grad(
            lambda x: fw.reduce_by_index(fw.ones(2), fw.mul, 1.0, np.zeros(len(values), int), x)[0]
        )(x)

    for found in (whole, row, by_index):
        np.testing.assert_array_equal(found, others(x))


def test_second_derivatives_of_products():
    """Products of all factors but two, zeros among them."""
    for x in ([0.0, 3.0, 2.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.5, 3.0, 2.0]):
        with fw.target("interp"):
            found = fw.hessian(fw.prod)(np.array(x))

        expected = [[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]]
        np.testing.assert_allclose(found, expected)


def test_initial_values():
    """They are chosen where no element is beyond them, and are a factor and a summand."""
    x = np.array([1.0, 3.0, 3.0])
    with fw.target("interp"):
        for c, of_c, of_x in ((4.0, 1, [0, 0, 0]), (3.0, 1, [0, 0, 0]), (2.0, 0, [0, 1, 0])):
            found = fw.grad(lambda c, x: fw.max(x, initial=c), (0, 1))(c, x)
            assert found[0] == of_c and found[1].tolist() == of_x
        found = fw.grad(lambda c, x: fw.reduce(fw.mul, c, x), (0, 1))(0.0, x)
        assert found[0] == 9 and found[1].tolist() == [0, 0, 0]
        found = fw.grad(lambda c, x: fw.sum(fw.scan(fw.minimum, c, x)), (0, 1))(2.0, x[[1, 0, 2]])
        assert found[0] == 1 and found[1].tolist() == [0, 2, 0]
        found = fw.grad(lambda c, x: fw.sum(fw.scan(fw.add, c, x, exclusive=True)), (0, 1))(2.0, x)
        assert found[0] == 3 and found[1].tolist() == [2, 1, 0]
        assert fw.grad(fw.max)(np.array([-INF, -INF])).tolist() == [1, 0]
        assert fw.grad(fw.min)(np.array([2.0, NAN, 1.0, NAN])).tolist() == [0, 1, 0, 0]


def test_the_destination_is_the_first_of_equals():
    """Of a reduction by index; what is outside has the derivative 0."""
    dest, x, at = np.array([2.0, 5.0, 1.0]), np.array([2.0, 7.0, 7.0, 9.0, 0.5]), [0, 1, 1, 5, 2]
    with fw.target("interp"):
        found = fw.grad(
            lambda d, x: fw.sum(fw.reduce_by_index(d, fw.maximum, -INF, at, x)), (0, 1)
        )(dest, x)

    assert found[0].tolist() == [1, 0, 1] and found[1].tolist() == [0, 1, 0, 0, 0]


def test_many_blocks():
    """Compiled, against NumPy, in one program."""
    rng = np.random.default_rng(0)
    x, u = rng.uniform(0.999, 1.001, 70_001), rng.normal(size=70_001)
    x[777:779] = x[60_000] = 2.0

    @fw.jit(target="cpu")
    def gradients(x, u):
        scans = fw.cumsum, fw.cumprod, lambda x: fw.scan(fw.maximum, -INF, x)
        return fw.grad(fw.max)(x), fw.grad(fw.prod)(x), *(fw.vjp(f, x)[1](u)[0] for f in scans)

    greatest, product, *scans = map(np.asarray, gradients(x, u))
    assert greatest.nonzero()[0].tolist() == [777]
    np.testing.assert_allclose(product, np.prod(x) / x, rtol=1e-10)
    np.testing.assert_allclose(scans[0], np.cumsum(u[::-1])[::-1], atol=1e-10)
    products = np.cumsum((u * np.cumprod(x))[::-1])[::-1] / x
    np.testing.assert_allclose(scans[1], products, rtol=1e-7, atol=1e-7)
    first = np.searchsorted(np.maximum.accumulate(x), np.maximum.accumulate(x))
    np.testing.assert_allclose(scans[2], np.bincount(first, u, len(x)), atol=1e-10)


@pytest.mark.parametrize("zeros", [0, 1, 40])
def test_compiled_products_by_index(zeros):
    """First and second derivatives, where nothing, something and much cannot be divided by."""
    rng = np.random.default_rng(zeros)
    x, at = rng.uniform(0.5, 1.5, 200), rng.integers(-1, 21, 200)
    x[rng.choice(200, zeros, replace=False)] = 0

    def derivatives(x):
        def products(x):
            return fw.reduce_by_index(fw.ones(20), fw.mul, 1.0, at, x)

        slope = fw.grad(lambda x: fw.sum(products(x)))
        return fw.jvp(slope, (x,), (fw.ones(200),))

    found, expected = fw.jit(derivatives)(x), fw.jit(derivatives, target="interp")(x)
    same = [[i for i in np.flatnonzero(at == at[k]) if i != k] for k in range(200)]
    wanted = [np.prod(x[mine]) * (0 <= at[k] < 20) for k, mine in enumerate(same)]

    np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
