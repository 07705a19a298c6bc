"""The programs of `gradients.py`, and their arguments.

    ROWS["sum"]       (goal, size, program, arguments, the name in `gradient_peers.py`)
    DERIVED["hand"]   what derives a program whose derivative is no vjp
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import flatweave as fw

Array = Any
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


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


def stiffness(n: int) -> tuple[Any, ...]:
    """Decays from slow to fast."""
    return (floats(n, 0, 1, 20),)


def ode(rates: Array) -> Array:
    """y(1) of y' = -k y, y(0) = 1, for each k, by Heun's method, whose steps adapt by row."""
    def step(k: Array, s: Array) -> Array:
        t, y, h = s
        h = fw.minimum(h, 1.0 - t)
        first = -k * y
        whole = y + h * first
        mean = y + h / 2 * (first - k * whole)
        error = fw.abs(mean - whole)
        taken = error < 1e-4
        t, y = fw.where(taken, t + h, t), fw.where(taken, mean, y)
        return t, y, h * fw.clip(0.9 * fw.sqrt(1e-4 / (error + 1e-12)), 0.2, 2.0)

    return fw.map(lambda k: fw.while_loop(
        lambda s: s[0] < 1.0, lambda s: step(k, s), (k * 0.0, k * 0.0 + 1.0, k * 0.0 + 0.1)
    )[1], rates)  # fmt: skip


def example(name: str) -> ModuleType:
    """A module of `examples/gradients`, one of ADBench's problems."""
    sys.path[:0] = [] if str(EXAMPLES) in sys.path else [str(EXAMPLES)]
    return importlib.import_module(f"gradients.{name}")


def letters(n: int) -> tuple[Any, ...]:
    """Weights of two layers of 14, their state, and n letters."""
    main, extra, state, text = example("lstm").problem(2, 14, n)
    return [tuple(layer) for layer in main], extra, [tuple(layer) for layer in state], text


def lstm(main: Array, extra: Array, state: Array, text: Array) -> Array:
    """The loss; state and text are constants."""
    held: Any = fw.stop_gradient((state, text))
    loss: Array = example("lstm").loss(main, extra, *held)
    return loss


def residuals(cameras: Array, points: Array, weights: Array, seen: Array, features: Array) -> Array:
    """Those of all observations."""
    def of(weight: Array, at: Array, feature: Array) -> Array:
        return example("bundle").residual(cameras[at[0]], points[at[1]], weight, feature)

    return fw.map(of, weights, seen, features)


def pose(parameters: Array, hand: Array, points: Array, vertices: Array) -> Array:
    """Distances of points from the skin of a hand."""
    found: Array = example("hand").residuals(parameters, hand, points, vertices)
    return found


def clusters(n: int) -> tuple[Any, ...]:
    """Points in 8 dimensions, and 10 centres."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 8)), rng.normal(size=(10, 8))


def kmeans(points: Array, centres: Array) -> Array:
    """The sum of squared distances from the nearest centres."""
    def of(x: Array) -> Array:
        return fw.min(fw.map(lambda c: fw.sum((x - c) ** 2), centres))

    return fw.sum(fw.map(of, points))


ROWS: dict[str, tuple[Any, ...]] = {
    "reduce add": (1.0, 1 << 26, fw.sum, vector, "sum"),
    "reduce min": (1.6, 1 << 26, fw.min, vector, "min"),
    "reduce mul": (3.0, 1 << 26, fw.prod, near_one, "prod"),
    "reduce of linear functions": (
        3.0, 10**7, lambda a, b: fw.reduce(affine, (1.0, 0.0), (a, b)), several(2), "last linear",
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
    "reduce_by_index add": (1.2, 1 << 24, by_index(fw.add, 0), indexed, "add by index"),
    "reduce_by_index mul": (2.5, 1 << 24, by_index(fw.mul, 1), indexed, "mul by index"),
    "reduce_by_index min": (2.5, 1 << 24, by_index(fw.minimum, np.inf), indexed, "min by index"),
    "reduce_by_index general": (6.0, 1 << 24, by_index(product_plus, 0), indexed, ""),
    "sort": (1.3, 1 << 24, fw.sort, vector, "sort"),
    "filter": (2.0, 1 << 26, lambda x: fw.filter(lambda a: a > 1, x), vector, "filter"),
    "expand": (
        2.0, 1 << 24,
        lambda x, n: fw.expand(lambda p: p[1], lambda p, i: p[0] * fw.astype(i, fw.f32), (x, n)),
        mean_of_ten, "expand",
    ),
    "gmm": (3.0, 10**4, gmm, mixture, "gmm"),
    "ragged softmax cross-entropy": (3.0, 10**7, cross_entropy, ragged, "cross-entropy"),
    "ragged attention": (4.0, 10**6, attention, rows_of_three, "attention"),
    "spmv by values": (
        2.0, 10**7, lambda v, c, x: spmv(v, c, fw.stop_gradient(x)), sparse,
        "spmv by values",
    ),
    "spmv by vector": (
        2.0, 10**7, lambda v, c, x: spmv(fw.stop_gradient(v), c, x), sparse,
        "spmv by vector",
    ),
    "newton by row": (4.0, 10**6, newton, vector, "newton"),
    "adaptive ODE by row": (4.0, 10**5, ode, stiffness, "ode"),
    "particles": (4.0, 10**5, particles, neighbours, "particles"),
    "LSTM": (3.0, 1024, lstm, letters, "lstm"),
    "bundle adjustment": (
        6.0, 31843, residuals,
        lambda n: example("bundle").problem(49, n // 4, n), "bundle",
    ),
    "hand tracking": (8.0, 544, pose, lambda n: example("hand").problem(n, 100), "hand"),
    "hessian of k-means": (np.inf, 10**5, kmeans, clusters, ""),
}  # fmt: skip
DERIVED: dict[str, Callable[..., Any]] = {
    "bundle adjustment": lambda *args: example("bundle").jacobian(*args),
    "hand tracking": lambda *args: example("hand").jacobian(*args),
    "hessian of k-means": fw.jit(fw.hessian(kmeans, argnums=1)),
}
"""Jacobians with the value, as ADBench has them, and a Hessian."""
