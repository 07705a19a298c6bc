"""What users write: grad, value_and_grad, vjp and jvp, nested, inside programs, of structures."""

from dataclasses import dataclass

import numpy as np
import pytest

import flatweave as fw

X = np.array([1.2, 2.1, 3.3, -1.5, 0.7])
ROWS = fw.ragged([[1.0, 2.0], [], [3.0, 4.5, -1.0]])


@pytest.fixture(autouse=True)
def interpreted():
    """All of it is one program to another."""
    with fw.target("interp"):
        yield


def equal(found, expected):
    """Two values, up to rounding."""
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)


@dataclass
class Model:
    """Parameters, of which one is no float."""

    w: np.ndarray
    n: int


def test_structures():
    """A gradient has the structure of its argument, with None for integers."""
    given = {"a": 2.0, "b": (3.0, 1), "m": Model(X, 3)}

    found = fw.grad(lambda d: d["a"] * d["b"][0] * fw.sum(d["m"].w) * d["m"].n)(given)

    equal(found["a"], 9 * X.sum())
    equal(found["b"][0], 6 * X.sum())
    assert found["b"][1] is None and found["m"].n is None
    equal(found["m"].w, np.full(5, 18.0))


def test_rows():
    """The cotangent of a Ragged shares the offsets."""
    found = fw.grad(lambda r: fw.sum(fw.sum(r * r, axis=1)))(ROWS)

    assert np.asarray(found.offsets).tolist() == [0, 2, 2, 5]
    equal(found.values, 2 * np.asarray(ROWS.values))


@pytest.mark.parametrize("dtype", [fw.f16, fw.f32, fw.f64])
def test_dtypes(dtype):
    """A cotangent has the dtype of its primal."""
    xs = np.array([1.0, 2.0, 3.0]).astype(dtype.numpy)

    found = fw.grad(lambda xs: fw.sum(xs * xs))(xs)
    value, along = fw.jvp(lambda xs: xs * 2, (xs,), (xs,))

    assert found.dtype == dtype
    equal(found, [2, 4, 6])
    assert along.dtype == value.dtype


def test_floats_of_16_bits_that_are_moved():
    """Words that only move carry cotangents, too."""
    xs = np.array([3.0, 1.0, 2.0], np.float16)

    found = fw.vjp(lambda xs: fw.sort(xs)[::-1], xs)[1](np.array([1, 2, 4], np.float16))[0]

    assert found.dtype == np.float16
    assert found.tolist() == [1, 4, 2]


def test_complex_numbers():
    """The gradient of a real function is the conjugate of what Wirtinger gives, as in JAX."""
    z = np.array([1 + 2j, 3 - 1j])

    equal(fw.grad(lambda z: fw.sum(fw.real(z * fw.conj(z))))(z), 2 * np.conj(z))
    equal(fw.vjp(lambda z: z * z, z)[1](np.array([1 + 0j, 2j]))[0], 2 * z * np.array([1, 2j]))
    equal(fw.jvp(lambda z: z * z, (z,), (z,))[1], 2 * z * z)


def test_integers_among_arguments_and_results():
    """They have None as tangents and as cotangents."""
    value, back = fw.vjp(lambda x, k: {"v": x * k, "k": k}, X, 3)
    _, along = fw.jvp(lambda x, k: (x * k, k), (X, 3), (X, None))

    assert value["k"] == 3
    found = back({"v": X, "k": None})
    equal(found[0], 3 * X)
    assert found[1] is None
    equal(along[0], 3 * X)
    assert along[1] is None


def test_several_arguments_and_keywords():
    """`argnums` chooses; keywords are not differentiated."""
    equal(fw.grad(lambda a, b: a * b, argnums=(0, 1))(2.0, 3.0), (3, 2))
    equal(fw.grad(lambda a, b: a * b, argnums=-1)(2.0, 3.0), 2)
    equal(fw.grad(lambda a, k=1: a * k)(2.0, k=3.0), 3)


def test_aux():
    """What comes with a value is not differentiated."""
    (value, aux), found = fw.value_and_grad(
        lambda x: (fw.sum(x * x), {"n": x + 1, "k": 2}), has_aux=True
    )(X)

    equal(value, (X * X).sum())
    equal(aux["n"], X + 1)
    equal(found, 2 * X)
    equal(fw.grad(lambda x: (fw.sum(x), x), has_aux=True)(X)[1], X)
    value, back, aux = fw.vjp(lambda x: (x * 2, x + 1), X, has_aux=True)
    equal(back(X)[0], 2 * X)
    equal(aux, X + 1)
    equal(fw.jvp(lambda x: (x * 2, x + 1), (X,), (X,), has_aux=True)[2], X + 1)


def test_what_does_not_depend():
    """Zeros, of the right shapes."""
    found = fw.grad(lambda x, y: y * 1.0, argnums=(0, 1))(X, 2.0)

    equal(found[0], np.zeros(5))
    equal(found[1], 1)
    equal(fw.grad(lambda x: 2.0)(1.0), 0)
    equal(fw.grad(lambda x: x)(1.0), 1)
    equal(fw.jvp(lambda x: x, (X,), (None,))[1], np.zeros(5))


def test_derivatives_of_derivatives():
    """Each is a program like any other."""
    equal(fw.grad(fw.grad(fw.sin))(0.3), -np.sin(0.3))
    equal(fw.grad(fw.grad(lambda x: fw.sin(x) ** 2))(0.0), 2)  # whose first derivative is 0
    f = lambda x: fw.sum(fw.sin(x) * x * x)
    second = 2 * np.sin(X) + 4 * X * np.cos(X) - X * X * np.sin(X)
    equal(fw.jvp(fw.grad(f), (X,), (np.ones(5),))[1], second)
    equal(fw.grad(lambda x: fw.sum(fw.grad(f)(x)))(X), second)
    equal(fw.grad(lambda x: fw.sum(fw.jvp(f, (x,), (np.ones(5),))[1]))(X), second)
    equal(fw.grad(lambda x: fw.sum(fw.grad(fw.prod)(x)))(X[:2]), [1, 1])
    equal(fw.grad(lambda x: x * fw.grad(lambda y: x + y)(1.0))(1.0), 1)


def test_inside_programs():
    """In jit, map, vmap, loops and branches."""
    slope = np.cos(X) * X + np.sin(X)
    g = fw.grad(lambda a: fw.sin(a) * a)

    equal(fw.map(g, X), slope)
    equal(fw.vmap(g)(X), slope)
    equal(fw.jit(lambda x: fw.vjp(lambda a: a * a, x)[1](x)[0])(X), 2 * X * X)
    equal(fw.map(lambda a: fw.cond(a > 0, lambda: g(a), lambda: a), X), np.where(X > 0, slope, X))
    down = fw.fori_loop(0, 90, lambda i, s: s - 0.1 * fw.grad(lambda z: fw.sum((z - 1) ** 2))(s), X)
    np.testing.assert_allclose(down, np.ones(5), atol=1e-6)
    rows = fw.map(fw.grad(lambda row: fw.sum(row * row)), ROWS)
    equal(rows.values, 2 * np.asarray(ROWS.values))


def test_what_does_not_contribute_has_the_derivative_zero():
    """Not NaN, wherever it is masked."""
    zero = np.array([0.0, 4.0])

    equal(fw.grad(lambda x: fw.sum(fw.where(x > 0, fw.sqrt(x), 0)))(zero), [0, 0.25])
    equal(fw.grad(lambda x: fw.sum(fw.sqrt(x)[1:]))(zero), [0, 0.25])
    equal(fw.grad(lambda x: fw.sum(fw.filter(lambda a: a > 1, fw.log(x))))(zero), [0, 0.25])
    equal(fw.grad(lambda x: fw.max(fw.sqrt(x)))(zero), [0, 0.25])
    branches = lambda a: fw.cond(a > 0, lambda: fw.sqrt(a), lambda: a * 0)
    equal(fw.map(fw.grad(branches), zero), [0, 0.25])


def test_the_first_of_equals_is_chosen():
    """Of reductions, scans and permutes by an extreme."""
    ties = np.array([1.0, 3.0, 3.0])

    equal(fw.grad(fw.max)(ties), [0, 1, 0])
    equal(fw.grad(lambda x: fw.sum(fw.scan(fw.maximum, 0.0, x)))(ties), [1, 2, 0])
    by_index = lambda x: fw.reduce_by_index(fw.zeros(1), fw.maximum, 0.0, [0, 0, 0], x)[0]
    equal(fw.grad(by_index)(ties), [0, 1, 0])


def test_nan_and_infinity():
    """They are values like others: what has nothing to do with them is not touched."""
    xs = np.array([np.nan, 2.0, np.inf])

    equal(fw.grad(lambda x: fw.sum(x * x))(xs), 2 * xs)
    equal(fw.grad(lambda x: fw.sum(x[1:2] * x[1:2]))(xs), [0, 4, 0])
    equal(fw.grad(fw.max)(np.array([1.0, np.inf])), [0, 1])


def test_a_store_and_its_derivative():
    """A barrier passes tangents and cotangents on."""
    equal(fw.grad(lambda x: fw.sum(fw.store(x * x) * 2))(X), 4 * X)
    equal(fw.jvp(lambda x: fw.store(x * x), (X,), (X,))[1], 2 * X * X)


def test_some_of_the_rows():
    """The others have the derivative 0."""
    weights = np.array([1.0, 10.0])

    found = fw.grad(lambda r: fw.sum(fw.sum(r[1:] * r[1:], axis=1) * weights))(ROWS)

    equal(found.values, [0, 0, 60, 90, -20])


def test_shifted_reads():
    """Reads at an offset, backwards, and of an array of another length."""
    u = np.arange(1.0, 6.0)

    equal(fw.vjp(lambda x: x[2:], X)[1](u[:3])[0], [0, 0, 1, 2, 3])
    equal(fw.vjp(lambda x: x[:-1][::-1], X)[1](u[:4])[0], [4, 3, 2, 1, 0])
    equal(fw.vjp(lambda x: fw.generate(2, lambda i: x[i + 1] * x[4 - i]), X)[1](u[:2])[0],
          [0, X[4], 2 * X[3], 2 * X[2], X[1]])  # fmt: skip
    equal(fw.vjp(lambda x: fw.generate(5, lambda i: x[0]), X)[1](u)[0], [15, 0, 0, 0, 0])
    equal(fw.vjp(fw.roll, X, 2)[1](u)[0], [3, 4, 5, 1, 2])


TANGENTS = {
    "a quotient": lambda t, out, x: 2 * t - x * t + t / x,
    "a derivative": lambda t, out, x: fw.jvp(lambda x: fw.softmax(fw.sort(x)), (x,), (t,))[1],
    "a loop": lambda t, out, x: fw.fori_loop(0, 3, lambda i, s: s * x + t, fw.zeros(5)),
    "rows": lambda t, out, x: fw.map(lambda u, v: fw.sum(u * x) + v, t, x * 0 + t),
    "a function of indices": lambda t, out, x: fw.generate(5, lambda i: t[i] * x[i] - t[4 - i]),
    "an equation": lambda t, out, x: fw.linalg.solve(fw.outer(x, x) + np.eye(5), t),
}
BENT = {
    "a bound": lambda t, out, x: fw.clip(t, -1, 1), "a square": lambda t, out, x: t * t,
    "a test": lambda t, out, x: fw.where(t > 0, t, 0), "a constant": lambda t, out, x: t + 1,
    "a size": lambda t, out, x: x * fw.abs(t), "a greatest": lambda t, out, x: x * fw.max(t),
    "a sort": lambda t, out, x: fw.sort(t),
    "a product": lambda t, out, x: fw.cumprod(t), "a divisor": lambda t, out, x: x / t,
    "a loop": lambda t, out, x: fw.fori_loop(0, 3, lambda i, s: s * t, x),
    "indices": lambda t, out, x: fw.generate(5, lambda i: t[i] * t[i]),
}  # fmt: skip


@pytest.mark.parametrize("name", TANGENTS)
def test_rules_that_are_linear_in_the_tangents(name):
    """They are transposed: <jvp v, u> = <v, vjp u>."""
    f = fw.custom_jvp(lambda x: x * 1.0)
    f.defjvps(TANGENTS[name])
    v, u = np.cos(np.arange(5.0)), np.sin(np.arange(5.0) + 1)

    forward = fw.jvp(f, (X,), (v,))[1]
    (back,) = fw.vjp(f, X)[1](u)

    np.testing.assert_allclose(np.asarray(forward) @ u, v @ np.asarray(back), rtol=1e-9)


@pytest.mark.parametrize("name", BENT)
def test_rules_that_are_not_linear_in_the_tangents(name):
    """They have no transpose: reverse mode refuses them."""
    f = fw.custom_jvp(lambda x: x * 1.0)
    f.defjvps(BENT[name])

    with pytest.raises(fw.ArgumentError, match="is not linear in the tangents"):
        fw.grad(lambda x: fw.sum(5 * f(x)))(X)
