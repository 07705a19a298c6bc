"""fw.jax.function: values and gradients in programs of JAX."""

import numpy as np
import pytest

import flatweave as fw

pytestmark = pytest.mark.slow  # the import takes seconds
jax = pytest.importorskip("jax")
jnp = jax.numpy
X, W = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.5])


@pytest.fixture(autouse=True)
def wide():
    """Floats of 64 bits."""
    with jax.enable_x64(True):
        yield


def loss(f):
    """A number of a function's results."""
    return lambda x, w: (f(x, w) ** 2).sum()


OURS = loss(fw.jax.function(lambda x, w: fw.cumsum(fw.sin(x) * w)))
THEIRS = loss(lambda x, w: jnp.cumsum(jnp.sin(x) * w))


@pytest.mark.parametrize("around", [lambda f: f, jax.jit])
def test_gradients(around):
    """Those of JAX, of both orders."""
    for ours, theirs in (
        (OURS, THEIRS),
        (jax.grad(OURS), jax.grad(THEIRS)),
        (jax.grad(OURS, 1), jax.grad(THEIRS, 1)),
        (jax.jacrev(jax.grad(OURS)), jax.jacrev(jax.grad(THEIRS))),
    ):
        np.testing.assert_allclose(around(ours)(X, W), theirs(X, W), atol=1e-12)


def test_rows_of_vmap():
    """One after the other."""
    xs = np.stack([X, X + 1])
    np.testing.assert_allclose(jax.vmap(OURS)(xs, xs), jax.vmap(THEIRS)(xs, xs))


def test_structures_and_complex_numbers():
    """Integers have no gradient; gradients of complex numbers are JAX's."""
    f = fw.jax.function(lambda d: {"y": fw.sum(d["x"] ** 2 * d["n"]), "at": fw.argmax(d["x"])})
    given = {"x": jnp.asarray(X), "n": jnp.arange(3)}
    assert f(given)["at"] == 2
    found = jax.grad(lambda x: f({"x": x, "n": given["n"]})["y"])(given["x"])
    np.testing.assert_allclose(found, 2 * X * np.arange(3))
    z = jnp.asarray(X + 1j * W)
    cube = lambda z: z * z * z.conj()
    ours = fw.jax.function(lambda z: z * z * fw.conj(z))
    both = [jax.grad(lambda z, g=g: (2 * g(z).real + g(z).imag).sum())(z) for g in (ours, cube)]
    np.testing.assert_allclose(*both)


def test_narrow_floats():
    """Without wide floats, results have JAX's width."""
    with jax.enable_x64(False):
        half = fw.jax.function(lambda x: x.astype(fw.f64) / 2)
        assert half(jnp.ones(2)).dtype == jnp.float32
        assert jax.jit(half)(jnp.ones(2)).dtype == jnp.float32
