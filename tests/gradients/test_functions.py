"""Gradients of NumPy's functions where a formula is easily wrong: ends, ties, knots, zeros."""

import itertools
import math

import numpy as np
import pytest

import flatweave as fw

X = np.array([1.0, 2.0, 3.0])
KNOTS = np.arange(5.0)
CASES = {
    "interp between knots": (lambda v: fw.sum(fw.interp(v, KNOTS, KNOTS**2)), X + 0.5, [3, 5, 7]),
    "interp at knots": (lambda v: fw.sum(fw.interp(v, KNOTS, KNOTS**2)), X, [3, 5, 7]),
    "interp outside": (lambda v: fw.interp(v, KNOTS, KNOTS), 5.5, 0),
    "interp of values": (lambda fp: fw.interp(1.5, KNOTS[:3], fp), X, [0, 0.5, 0.5]),
    "interp of values at a knot": (lambda fp: fw.interp(1.0, KNOTS[:3], fp), X, [0, 1, 0]),
    "logaddexp of equals": (lambda v: fw.logaddexp(v, 1.0), 1.0, 0.5),
    "logaddexp of itself": (lambda v: fw.logaddexp(v, v), 1.0, 1),
    "logaddexp with nothing": (lambda v: fw.logaddexp(v, -np.inf), 1.0, 1),
    "cov": (fw.cov, X, [-1, 0, 1]),
    "cov of rows": (lambda m: fw.sum(fw.cov(m)), np.array([X, X[::-1]]), np.zeros((2, 3))),
    "sinc at 0": (fw.sinc, 0.0, 0),
    "hypot at 0": (lambda v: fw.hypot(v, 0.0), 0.0, 0),
    "hypot": (lambda v: fw.hypot(v, 4.0), 3.0, 0.6),
    "power 0": (lambda v: v**0, 0.0, 0),
    "power 1.0 at 0": (lambda v: v**1.0, 0.0, 1),
    "power of a negative number": (lambda v: v**3.0, -2.0, 12),
    "exponents of 0": (lambda y: fw.power(0.0, y), 2.0, 0),
    "exponents": (lambda y: fw.power(2.0, y), 3.0, 8 * math.log(2)),
    "remainder by its divisor": (lambda m: 7.5 % m, 2.0, -3),
    "fmod by its divisor": (lambda m: fw.fmod(-7.5, m), 2.0, 3),
    "nan_to_num": (lambda v: fw.sum(fw.nan_to_num(v)), np.array([1.0, np.nan]), [1, 0]),
    "nanmean": (fw.nanmean, np.array([1.0, np.nan, 3.0]), [0.5, 0, 0.5]),
    "quantile": (lambda v: fw.quantile(v, 0.25), X, [0.5, 0.5, 0]),
    "median": (fw.median, X, [0, 1, 0]),
    "where with log of 0": (
        lambda v: fw.sum(fw.where(v > 0, fw.log(v), 0.0)), np.array([0.0, 2.0]), [0, 0.5]
    ),
    "max of ties along an axis": (
        lambda v: fw.sum(fw.max(v, axis=1)), np.array([[1.0, 1.0], [0.0, 2.0]]), [[1, 0], [0, 1]]
    ),
    "elements read twice": (lambda v: fw.sum(fw.take(v, np.array([0, 0, 2]))), X, [2, 0, 1]),
    "at[0].add": (lambda v: fw.sum(v.at[0].add(v[1]) * np.array([2.0, 1.0, 1.0])), X, [2, 3, 1]),
    "at[1].set": (lambda v: fw.sum(v.at[1].set(0.0)), X, [1, 0, 1]),
    "unique": (
        lambda v: fw.sum(fw.unique(v) * np.arange(2)), np.array([2.0, 1.0, 1.0]), [1, 0, 0]
    ),
    "pad with the edges": (lambda v: fw.sum(fw.pad(v, 1, mode="edge")), X, [2, 1, 2]),
    "arccos at its end": (fw.arccos, 1.0, -np.inf),
    "sqrt at 0": (fw.sqrt, 0.0, np.inf),
    "trapezoid": (fw.trapezoid, X, [0.5, 1, 0.5]),
    "through f32": (lambda v: fw.sum(v.astype(fw.f32) ** 2), X, 2 * X),
    "through integers": (lambda v: fw.sum(v * v.astype(fw.i64)), X, X),
    "copysign": (lambda v: fw.copysign(v, -1.0), 2.0, -1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    """Each gradient is what a hand derives."""
    f, x, expected = CASES[name]

    found = fw.jit(fw.grad(f), target="interp")(x)

    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


HIGHER = {  # the first three derivatives
    "logaddexp of equals": (lambda v: fw.logaddexp(0.0, v), 0.0, [1 / 2, 1 / 4, 0]),
    "logaddexp of equals, first": (lambda v: fw.logaddexp(v, 1.0), 1.0, [1 / 2, 1 / 4, 0]),
    "logaddexp of itself": (lambda v: fw.logaddexp(v, v), 1.0, [1, 0, 0]),
    "logaddexp of -inf": (lambda v: fw.logaddexp(v, v), -np.inf, [1, 0, 0]),
    "logaddexp of inf": (lambda v: fw.logaddexp(v, v), np.inf, [1, 0, 0]),
    "logaddexp of inf and -inf": (lambda v: fw.logaddexp(v, -np.inf), np.inf, [1, 0, 0]),
    "logaddexp of nothing": (lambda v: fw.logaddexp(v, np.inf), -np.inf, [0, 0, 0]),
    "logaddexp as an operator": (
        lambda v: fw.reduce(fw.logaddexp, -np.inf, fw.stack([v, v])), 0.0, [1, 0, 0]
    ),
    "logaddexp as an operator, of equals": (
        lambda v: fw.scan(fw.logaddexp, -np.inf, fw.stack([v, 0.0]))[1], 0.0, [1 / 2, 1 / 4, 0]
    ),
    "power of itself at exponent 0": (
        lambda v: (v + 2) ** v, 0.0, [math.log(2), math.log(2) ** 2 + 1,
                                      math.log(2) ** 3 + 3 * math.log(2) - 3 / 4],
    ),
    "power 0.0 at 0": (lambda v: v**0.0, 0.0, [0, 0, 0]),
    "power 2.0 at 0": (lambda v: v**2.0, 0.0, [0, 2, 0]),
    "power of 0": (lambda v: fw.power(0.0, v), 0.0, [0, 0, 0]),
    "power 2.0 of a negative number": (lambda v: v**2.0, -3.0, [-6, 2, 0]),
    "sinc at 0": (fw.sinc, 0.0, [0, -math.pi**2 / 3, 0]),
    "sinc at 1e-9": (
        fw.sinc, 1e-9, [-math.pi**2 / 3e9, -math.pi**2 / 3, math.pi**4 / 5e9]
    ),
    "sinc at 1": (fw.sinc, 1.0, [-1, 2, math.pi**2 - 6]),
    "hypot at the axis": (lambda v: fw.hypot(1.0, v), 0.0, [0, 1, 0]),
    "hypot along the axis": (lambda v: fw.hypot(v, 0.0), 2.0, [1, 0, 0]),
    "asin at 1": (fw.asin, 1.0, [np.inf, np.inf, np.inf]),
    "asin at -1": (fw.asin, -1.0, [np.inf, -np.inf, np.inf]),
    "acos at 1": (fw.acos, 1.0, [-np.inf, -np.inf, -np.inf]),
    "acosh at 1": (fw.acosh, 1.0, [np.inf, -np.inf, np.inf]),
    "atanh at 1": (fw.atanh, 1.0, [np.inf, np.inf, np.inf]),
}  # fmt: skip


@pytest.mark.parametrize("name", HIGHER)
def test_higher_derivatives_at_ends_and_ties(name):
    """What is right to the first order by the choice of a branch is right to the others, too."""
    f, x, expected = HIGHER[name]
    slopes = [fw.grad(f), fw.grad(fw.grad(f)), fw.grad(fw.grad(fw.grad(f)))]

    with fw.target("interp"):
        found = [float(slope(x)) for slope in slopes]
        forward = float(fw.jvp(slopes[0], (x,), (1.0,))[1])

    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert forward == pytest.approx(expected[1], rel=1e-12, abs=1e-12)


def test_mixed_derivatives():
    """By both operands; the third of hypot at an axis, where the first is a sign."""
    def mixed(f, *at):
        return fw.grad(lambda y: fw.grad(lambda x: f(x, y))(at[0]))(at[1])

    rows = np.array([[1.0, 2.0], [3.0, -1.0]])
    with fw.target("interp"):
        exponents = float(mixed(fw.power, 2.0, 0.0)), float(mixed(fw.power, 3.0, 1.0))
        power = np.asarray(fw.hessian(lambda v: v[0] ** v[1])(np.array([2.0, 0.0])))
        axis = float(fw.grad(lambda x: fw.grad(fw.grad(lambda y: fw.hypot(x, y)))(0.0))(1.0))
        losses = np.asarray(fw.hessian(lambda w: fw.mean(fw.logaddexp(0.0, rows @ w)))(np.zeros(2)))

    np.testing.assert_allclose(exponents, [1 / 2, 1 + math.log(3)], rtol=1e-12)
    np.testing.assert_allclose(power, [[0, 1 / 2], [1 / 2, math.log(2) ** 2]], rtol=1e-12)
    np.testing.assert_allclose(losses, rows.T @ rows / 8, rtol=1e-12)
    assert axis == -1


@pytest.mark.parametrize("of_products", [
    lambda x: fw.prod(x),
    lambda x: fw.sum(fw.reduce_by_index(fw.ones(1), fw.mul, 1.0, np.zeros(4, int), x)),
    lambda x: fw.cumprod(x)[-1],
    lambda x: fw.map(fw.prod, x[None, :])[0],
], ids=["reduce", "by index", "scan", "in a row"])  # fmt: skip
def test_derivatives_of_products(of_products):
    """Of every order with zeros among the factors; of products that underflow or overflow."""
    with fw.target("interp"):
        third = np.asarray(fw.jacfwd(fw.hessian(of_products))(np.array([0.0, 2.0, 0.0, 0.0])))
        small = fw.grad(of_products)(np.array([1e-200, 1e-200, 1e300, 1.0]))
        great = fw.grad(of_products)(np.array([1e200, 1e200, 1e-300, 1.0]))

    expected = np.zeros((4, 4, 4))
    for at in itertools.permutations([0, 2, 3]):
        expected[at] = 2.0
    np.testing.assert_array_equal(third[np.ix_([0, 2, 3], [0, 2, 3], [0, 2, 3])],
                                  expected[np.ix_([0, 2, 3], [0, 2, 3], [0, 2, 3])])
    np.testing.assert_allclose(small[:2], [1e100, 1e100], rtol=1e-12)
    np.testing.assert_allclose(great[:2], [1e-100, 1e-100], rtol=1e-12)


def test_elements_of_rows_contribute_to_their_row_as_sums():
    """Not as writes to computed indices; rows may be empty."""
    counts = np.array([2, 0, 3])

    def f(x, counts):
        made = fw.expand(lambda p: p[1], lambda p, i: p[0] ** 2 * fw.astype(i + 1, fw.f64),
                         (x, counts))  # fmt: skip
        return fw.sum(made * fw.astype(fw.iota(made.shape[0]) + 1, fw.f64))

    gradient = fw.jit(fw.grad(f), target="interp")

    np.testing.assert_allclose(gradient(X, counts), 2 * X * [1 + 4, 0, 3 + 8 + 15])
    np.testing.assert_allclose(gradient(X[:0], counts[:0]), X[:0])
    assert "permute" not in gradient.stages(X, counts).text["array"]


def test_rows_of_points_contribute_without_writes_to_computed_indices():
    """Whole rows, concatenated, are all elements from the first offset on."""
    points = np.random.default_rng(5).normal(size=(9, 3))

    def one(row):
        return fw.sum(fw.softmax(row @ row.T, axis=1) @ row**2) + fw.sum(row[::-1] * row)

    def f(x):
        return fw.sum(fw.map(one, fw.ragged(x, offsets=[0, 2, 4, 4, 9])[1:]) ** 2)

    gradient = fw.jit(fw.grad(f), target="interp")

    fw.check_grads(f, (points,), order=1)
    assert not np.asarray(gradient(points))[:2].any()
    assert "permute" not in gradient.stages(points).text["array"]


def test_branches_that_add_to_one_array():
    """Each contributes to all of it, or to an element; the one that is taken counts."""
    def f(x, flag):
        return fw.cond(flag, lambda: fw.sum(x * x), lambda: fw.sum(fw.sin(x)) + x[1])

    gradient = fw.jit(fw.grad(f), target="interp")

    np.testing.assert_allclose(gradient(X, True), 2 * X)
    np.testing.assert_allclose(gradient(X, False), np.cos(X) + [0, 1, 0])


def test_a_reduction_over_two_axes_inside_an_element_function_is_compiled():
    """What a number contributes to a matrix is added up over both axes, in each row."""
    rows = fw.ragged([[1.0, 2.0], [], [3.0]])

    def by_factor(row):
        square = row[:, None] * row[None, :]
        return fw.grad(lambda t: fw.sum(square * t))(2.0)

    np.testing.assert_array_equal(fw.map(by_factor, rows), [9.0, 0.0, 9.0])


def test_a_reduction_that_checks_an_extent_is_compiled():
    """The rows that the filter keeps have to be few enough, in each of the sums of cotangents."""
    shares, start = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.5, 0.0, -0.5])
    rows = fw.ragged(np.array([]), lengths=[0, 0])

    def f(rows, shares, start, least):
        def of_row(_, share):
            copies = fw.map(lambda _: fw.astype(share, np.int32), fw.iota(2))
            kept = fw.filter(lambda _: least > 1, copies)
            return kept, fw.reduce(lambda a, b: a + b, start, shares)

        return fw.map(of_row, rows, shares)

    (_, totals), backwards = fw.vjp(f, rows, shares, start, -1)
    _, of_shares, of_start, _ = backwards((None, np.ones((2, 3))))

    np.testing.assert_allclose(totals, np.tile(start + shares.sum(0), (2, 1)))
    np.testing.assert_array_equal(of_shares, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(of_start, np.full(3, 2.0))


@pytest.mark.parametrize("x", [0.0, -0.0, 1.5, -1.5, 5.0])
def test_remainders_rise_with_what_is_divided(x):
    """At 0, too."""
    assert fw.grad(lambda a: fw.fmod(a, 2.0))(x) == 1
    assert fw.jvp(lambda a: fw.fmod(a, 2.0), (x,), (1.0,))[1] == 1


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_gradients_of_convolutions_have_rows_of_one_length(mode):
    """No nest of rows, whose kernels are far longer; the values are right."""
    rows, window = np.arange(12.0).reshape(2, 6), np.array([1.0, 2.0, 4.0])
    f = fw.vmap(fw.grad(lambda x, w: fw.sum(fw.convolve(x, w, mode) ** 2)), in_axes=(0, None))

    text = fw.jit(f, target="interp").stages(rows, window).text["array"]
    assert "= nest " not in text
    units = [np.convolve(unit, window, mode) for unit in np.eye(6)]
    np.testing.assert_allclose(f(rows, window), [
        [2 * np.dot(np.convolve(row, window, mode), unit) for unit in units] for row in rows
    ])  # fmt: skip
