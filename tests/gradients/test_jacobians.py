"""jacrev, jacfwd and hessian next to known matrices; values held constant."""

import numpy as np
import pytest

import flatweave as fw

X = np.array([1.2, 2.1, -0.7])
M = np.arange(6.0).reshape(2, 3) / 7


@pytest.fixture(autouse=True)
def interpreted():
    """All of it is one program to another."""
    with fw.target("interp"):
        yield


@pytest.mark.parametrize("jacobian", [fw.jacrev, fw.jacfwd])
class TestBothModes:
    """The same in either mode."""

    def test_of_vectors(self, jacobian):
        """A matrix."""
        np.testing.assert_allclose(jacobian(lambda x: M @ x)(X), M)
        np.testing.assert_allclose(jacobian(fw.sin)(X), np.diag(np.cos(X)))
        np.testing.assert_allclose(fw.jit(jacobian(fw.cumsum))(X), np.tri(3))

    def test_of_matrices_and_numbers(self, jacobian):
        """The axes of the result, then those of the argument."""
        found = jacobian(lambda m: m.T * 2)(M)
        assert found.shape == (3, 2, 2, 3)
        np.testing.assert_allclose(found, 2 * np.einsum("jk,il->ijkl", np.eye(2), np.eye(3)))
        np.testing.assert_allclose(jacobian(lambda x: fw.sum(x * x))(X), 2 * X)
        np.testing.assert_allclose(jacobian(lambda a: a * X)(2.0), X)
        np.testing.assert_allclose(jacobian(lambda a: a * a)(3.0), 6)

    def test_of_structures(self, jacobian):
        """For each array of the result the structure of the arguments."""
        found = jacobian(
            lambda p, a: {"v": p["w"] * a, "k": p["k"], "s": a * 2}, argnums=(0, 1)
        )({"w": X, "k": 3}, 2.0)

        np.testing.assert_allclose(found["v"][0]["w"], 2 * np.eye(3))
        np.testing.assert_allclose(found["v"][1], X)
        np.testing.assert_allclose(found["s"][0]["w"], np.zeros(3))
        np.testing.assert_allclose(found["s"][1], 2)
        assert found["k"] is None and found["v"][0]["k"] is None

    def test_of_floats_of_16_bits(self, jacobian):
        """Rows have the dtype of the argument, columns that of the result."""
        found = jacobian(lambda x: fw.astype(fw.cumsum(x), fw.f16))(np.ones(3, np.float16))

        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, np.tri(3))

    @pytest.mark.parametrize("size", [16, 21, 33])
    def test_of_stored_arrays_in_blocks_of_seeds(self, jacobian, size):
        """A loop over blocks, of which the last one may overlap; a map needs no such loop."""
        x = np.linspace(0.2, 1, size)
        found = jacobian(lambda p: {"s": fw.cumsum(p["x"] * p["a"]), "n": fw.sum(p["x"])})(
            {"x": x, "a": 2.0}
        )
        np.testing.assert_allclose(found["s"]["x"], 2 * np.tri(size))
        np.testing.assert_allclose(found["s"]["a"], np.cumsum(x))
        np.testing.assert_allclose(found["n"]["x"], np.ones(size))
        every = fw.map(jacobian(fw.cumsum), np.stack([x, x]))
        np.testing.assert_allclose(every, [np.tri(size)] * 2)

    def test_of_an_empty_array(self, jacobian):
        """A matrix without rows."""
        assert jacobian(lambda x: x * 2)(X[:0]).shape == (0, 0)


def test_hessians():
    """Second derivatives, by products of a Hessian and unit vectors, too."""
    def f(x):
        return fw.prod(x) + fw.sum(x ** 3)

    expected = np.array([[6 * X[0], X[2], X[1]], [X[2], 6 * X[1], X[0]], [X[1], X[0], 6 * X[2]]])
    np.testing.assert_allclose(fw.hessian(f)(X), expected, rtol=1e-12)
    products = fw.map(lambda v: fw.jvp(fw.grad(f), (X,), (v,))[1], np.eye(3))
    np.testing.assert_allclose(products, expected, rtol=1e-12)


def test_values_held_constant():
    """stop_gradient passes values on, and no tangents."""
    np.testing.assert_allclose(fw.grad(lambda x: fw.sum(x * fw.stop_gradient(x)))(X), X)
    np.testing.assert_allclose(fw.jvp(lambda x: fw.stop_gradient(x) * x, (X,), (X,))[1], X * X)
    half = np.array([1.0, 2.0], np.float16)
    found = fw.grad(lambda x: fw.sum(x * fw.stop_gradient(x)))(half)
    assert found.dtype == np.float16 and found.tolist() == [1, 2]
    z = fw.stop_gradient({"z": np.array([1 + 2j]), "k": 3, "r": fw.ragged([[1.0], []])})
    assert z["z"].tolist() == [1 + 2j] and z["k"] == 3 and z["r"].tolist() == [[1.0], []]


def test_compiled():
    """A Jacobian and a Hessian as machine code."""
    def f(x):
        return fw.jacrev(fw.cumprod)(x), fw.hessian(fw.prod)(x), fw.grad(
            lambda x: fw.sum(x * fw.stop_gradient(x))
        )(x)

    for one, other in zip(fw.jit(f, target="cpu")(X), fw.jit(f)(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_derivatives_are_checked():
    """check_grads passes right derivatives, of structures and of rows, and refuses others."""
    rows = fw.ragged([[1.0, 2.0], [], [0.5]])
    fw.check_grads(lambda d, r: fw.sum(fw.sin(d["x"]) * d["k"]) * fw.sum(r.values ** 2),
                   ({"x": X, "k": 2}, rows), order=2)  # fmt: skip
    fw.check_grads(fw.cumprod, (X.astype(np.float32),), order=1)
    with pytest.raises(AssertionError, match="jvp of order 1"):
        fw.check_grads(lambda x: fw.stop_gradient(x) * x, (X,), order=1)


def test_derivatives_of_complex_numbers_are_checked():
    """They move in both parts; a wrong derivative is found."""
    z = np.array([1 + 2j, 0.5 - 1j])
    fw.check_grads(lambda z: z * z * fw.conj(z), (z,), order=2)
    with pytest.raises(AssertionError):
        fw.check_grads(lambda z: z * fw.stop_gradient(z), (z,), order=1)


def test_tangents_of_another_floating_dtype():
    """They take the dtype of what they belong to."""
    x, v = X.astype(np.float32), np.ones(3)
    (found,) = fw.vjp(lambda x: x * 2, x)[1](v)
    _, along = fw.jvp(lambda x: x * 2, (x,), (v,))

    assert found.dtype == along.dtype == np.float32
    np.testing.assert_array_equal(found, 2 * v)


@pytest.mark.parametrize("jacobian", [fw.jacrev, fw.jacfwd])
def test_of_products_of_matrices_on_the_cpu(jacobian):
    """There is a scan for each seed, and its results are interleaved numbers."""

    def turned(angles):
        c, s = fw.cos(angles), fw.sin(angles)
        turns = fw.stack([fw.stack([c, -s], axis=1), fw.stack([s, c], axis=1)], axis=1)
        return fw.scan(lambda a, b: a @ b, fw.eye(2), turns)[:, 0, 0]

    with fw.target("cpu"):
        found = jacobian(turned)(X)

    np.testing.assert_allclose(found, -np.sin(np.cumsum(X))[:, None] * np.tri(3))


def test_a_loop_with_products_on_the_cpu():
    """A sweep of the reverse loop stores zeros next to a product."""
    i, j, w = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([[1.0, 0.5], [-0.3, 2.0]])
    x = np.linspace(-1, 1, 8).reshape(4, 2)

    def energy(x):
        step = lambda _, x: x + 0.1 * fw.tanh(fw.zeros((4, 2)).at[j].add((x @ w)[i]))
        return fw.sum(fw.fori_loop(0, 4, step, x) ** 2)

    with fw.target("cpu"):
        found = np.asarray(fw.grad(energy)(x))
    slope = fw.jvp(energy, (x,), (np.ones_like(x),))[1]

    np.testing.assert_allclose(found.sum(), slope, rtol=1e-12)
