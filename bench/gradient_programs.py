"""The programs of `gradients.py`, their arguments, and the same ones for JAX.

    ROWS["sum"]       (goal, size, program, arguments, JAX's name)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw

Array = Any


def floats(n: int, seed: int = 0, low: float = 0.5, high: float = 1.5) -> np.ndarray[Any, Any]:
    """Numbers of 32 bits."""
    rng = np.random.default_rng(seed)
    return rng.random(n, np.float32) * np.float32(high - low) + np.float32(low)


def near_one(n: int) -> tuple[Any, ...]:
    """Factors whose products neither overflow nor vanish."""
    x = np.exp(floats(n, 0, -1e-3, 1e-3))
    x[1::2] = 1 / x[: n - n % 2 : 2]
    return (x,)


def vector(n: int) -> tuple[Any, ...]:
    """One array."""
    return (floats(n),)


def several(count: int) -> Callable[[int], tuple[Any, ...]]:
    """Arrays of numbers below 1."""
    return lambda n: tuple(floats(n, k, -0.7, 0.7) for k in range(count))


def affine(f: Array, g: Array) -> Array:
    """Linear functions, composed in order."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def matrix(p: Array, q: Array) -> Array:
    """A product of 2 by 2 matrices."""
    return (
        p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
        p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3],
    )  # fmt: skip


def product_plus(a: Array, b: Array) -> Array:
    """An operator that commutes, of which nothing is known."""
    return a + b + a * b


BINS = 1 << 16


def indexed(n: int) -> tuple[Any, ...]:
    """Values, and where they go."""
    return near_one(n)[0], np.random.default_rng(1).integers(0, BINS, n).astype(np.int32)


def by_index(op: Callable[..., Any], ne: float) -> Callable[..., Any]:
    """reduce_by_index into 2^16 elements."""
    start = np.float32(ne)
    return lambda x, at: fw.reduce_by_index(fw.full(BINS, start), op, start, at, x)


def ragged(n: int) -> tuple[Any, ...]:
    """Rows of 10 elements in the mean, and a label in each."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 20, n // 10)
    rows = fw.ragged(floats(int(lengths.sum())), lengths=lengths)
    return rows, (rng.random(len(lengths)) * lengths).astype(np.int64)


def cross_entropy(rows: Array, labels: Array) -> Array:
    """The mean of softmax cross-entropies of rows."""
    def loss(row: Array, label: Array) -> Array:
        top = fw.max(row)
        return fw.log(fw.sum(fw.exp(row - top))) + top - row[label]

    return fw.mean(fw.map(loss, rows, labels))


def attention(queries: Array, keys: Array, values: Array) -> Array:
    """Each row's softmax of products with the keys, times the values; all of one number."""
    def row(q: Array, k: Array, v: Array) -> Array:
        def one(a: Array) -> Array:
            weights = fw.exp(k * a)
            return fw.sum(weights * v) / fw.sum(weights)

        return fw.map(one, q)

    return fw.map(row, queries, keys, values)


def rows_of_three(n: int) -> tuple[Any, ...]:
    """Three Ragged arrays of the same lengths."""
    lengths = np.random.default_rng(0).integers(1, 64, n // 32)
    return tuple(
        fw.ragged(floats(int(lengths.sum()), k), lengths=lengths) for k in range(3)
    )


def sparse(n: int) -> tuple[Any, ...]:
    """A sparse matrix of 10 elements in a row, and a vector."""
    rng = np.random.default_rng(0)
    columns = fw.ragged(rng.integers(0, n // 10, n).astype(np.int32), lengths=np.full(n // 10, 10))
    return fw.Ragged(floats(n), columns.offsets), columns, floats(n // 10)


def spmv(values: Array, columns: Array, x: Array) -> Array:
    """A sparse matrix times a vector."""
    return fw.map(lambda v, c: fw.sum(v * fw.gather(x, c)), values, columns)


def mixture(n: int) -> tuple[Any, ...]:
    """Weights, means and scales of 25 components in 64 dimensions, and points."""
    rng = np.random.default_rng(0)
    shapes = (25,), (25, 64), (25, 64), (n, 64)
    return tuple(rng.normal(size=shape) * 0.3 for shape in shapes)


def gmm(weights: Array, means: Array, scales: Array, points: Array) -> Array:
    """The log-likelihood of a mixture of normal distributions with diagonal covariances."""
    fixed = fw.stop_gradient(points)

    def point(x: Array) -> Array:
        terms = fw.map(lambda w, m, s: w + fw.sum(s - 0.5 * ((x - m) * fw.exp(s)) ** 2),
                       weights, means, scales)  # fmt: skip
        top = fw.max(terms)
        return fw.log(fw.sum(fw.exp(terms - top))) + top

    return fw.sum(fw.map(point, fixed))


def newton(x: Array) -> Array:
    """The cube root of each number by Newton's method, until it converges."""
    return fw.map(lambda a: fw.while_loop(
        lambda s: fw.abs(s * s * s - a) > 1e-5,
        lambda s: s - (s * s * s - a) / (3 * s * s), a + 1.0,
    ), x)  # fmt: skip


def neighbours(n: int) -> tuple[Any, ...]:
    """Particles on a line, and 8 neighbours of each."""
    near = np.arange(n)[:, None] + np.array([-4, -3, -2, -1, 1, 2, 3, 4])
    lists = fw.ragged((near % n).reshape(-1).astype(np.int32), lengths=np.full(n, 8))
    return np.arange(n) + np.random.default_rng(0).normal(size=n) * 0.1, lists


def particles(x: Array, lists: Array) -> Array:
    """50 steps of particles that repel their neighbours."""
    def force(a: Array, near: Array, x: Array) -> Array:
        d = fw.gather(x, near) - a
        return fw.sum(d / (1.0 + d * d))

    def step(i: Array, s: Array) -> Array:
        x, v = s
        v = v - 0.01 * fw.map(lambda a, near: force(a, near, x), x, lists)
        return x + 0.01 * v, v

    return fw.fori_loop(0, 50, step, (x, x * 0.0))[0]


def mean_of_ten(n: int) -> tuple[Any, ...]:
    """How many elements each number becomes, and the numbers."""
    return floats(n // 10), np.random.default_rng(0).integers(0, 20, n // 10)


ROWS: dict[str, tuple[Any, ...]] = {
    "reduce add": (1.0, 1 << 26, fw.sum, vector, "sum"),
    "reduce min": (1.6, 1 << 26, fw.min, vector, "min"),
    "reduce mul": (3.0, 1 << 26, fw.prod, near_one, "prod"),
    "reduce of linear functions": (
        3.0, 10**7, lambda a, b: fw.reduce(affine, (1.0, 0.0), (a, b)), several(2), "",
    ),
    "scan of linear functions": (
        3.0, 10**7, lambda a, b: fw.scan(affine, (1.0, 0.0), (a, b)), several(2), "linear",
    ),
    "scan add": (1.1, 1 << 26, fw.cumsum, vector, "cumsum"),
    "scan min": (1.4, 1 << 26, lambda x: fw.scan(fw.minimum, np.float32(np.inf), x), vector,
                 "cummin"),
    "scan mul": (3.2, 1 << 26, fw.cumprod, near_one, "cumprod"),
    "scan of 2x2 matrices": (
        4.0, 10**7, lambda *xs: fw.scan(matrix, (1.0, 0.0, 0.0, 1.0), xs), several(4), "matrices",
    ),
    "reduce_by_index add": (1.2, 1 << 24, by_index(fw.add, 0), indexed, "by_index_add"),
    "reduce_by_index mul": (2.5, 1 << 24, by_index(fw.mul, 1), indexed, ""),
    "reduce_by_index min": (2.5, 1 << 24, by_index(fw.minimum, np.inf), indexed, "by_index_min"),
    "reduce_by_index general": (6.0, 1 << 24, by_index(product_plus, 0), indexed, ""),
    "sort": (1.3, 1 << 24, fw.sort, vector, "sort"),
    "filter": (2.0, 1 << 26, lambda x: fw.filter(lambda a: a > 1, x), vector, ""),
    "expand": (
        2.0, 1 << 24,
        lambda x, n: fw.expand(lambda p: p[1], lambda p, i: p[0] * fw.astype(i, fw.f32), (x, n)),
        mean_of_ten, "",
    ),
    "gmm": (3.0, 10**4, gmm, mixture, "gmm"),
    "ragged softmax cross-entropy": (3.0, 10**7, cross_entropy, ragged, ""),
    "ragged attention": (4.0, 10**6, attention, rows_of_three, ""),
    "spmv by values": (
        2.0, 10**7, lambda v, c, x: spmv(v, c, fw.stop_gradient(x)), sparse, "",
    ),
    "spmv by vector": (
        2.0, 10**7, lambda v, c, x: spmv(fw.stop_gradient(v), c, x), sparse, "",
    ),
    "newton by row": (4.0, 10**6, newton, vector, ""),
    "particles": (4.0, 10**5, particles, neighbours, ""),
}  # fmt: skip


def with_jax(name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """Calls of JAX's value and vjp; ImportError where there is no JAX."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def gmm_(weights: Array, means: Array, scales: Array, points: Array) -> Array:
        d = (points[:, None, :] - means) * jnp.exp(scales)
        terms = weights + jnp.sum(scales - 0.5 * d * d, axis=2)
        return jnp.sum(jax.scipy.special.logsumexp(terms, axis=1))

    jax.config.update("jax_enable_x64", True)
    ops = jax.ops
    f = {
        "sum": jnp.sum, "min": jnp.min, "prod": jnp.prod, "cumsum": jnp.cumsum, "sort": jnp.sort,
        "cummin": lax.cummin, "cumprod": jnp.cumprod,
        "linear": lambda *xs: lax.associative_scan(affine, xs),
        "matrices": lambda *xs: lax.associative_scan(matrix, xs),
        "by_index_add": lambda x, at: ops.segment_sum(x, at, BINS),
        "by_index_min": lambda x, at: ops.segment_min(x, at, BINS),
        "gmm": lambda w, m, s, x: gmm_(w, m, s, lax.stop_gradient(x)),
    }[name]  # fmt: skip
    xs = [jnp.asarray(x) for x in args]
    moving = [x for x in xs if x.dtype.kind == "f"]
    rest = xs[len(moving) :]
    value = jax.jit(f)

    @jax.jit
    def vjp(*given: Array) -> Array:
        out, back = jax.vjp(lambda *ys: f(*ys, *rest), *given)
        return out, back(jax.tree.map(jnp.ones_like, out))

    return {
        "jax_value": lambda: jax.block_until_ready(value(*xs)),
        "jax_vjp": lambda: jax.block_until_ready(vjp(*moving)),
    }
