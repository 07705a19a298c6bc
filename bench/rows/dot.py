"""sum(x * y), f32: nothing but reading memory; and m.T @ m of a tall narrow matrix, f64."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import FLOAT, Tools


def program(xs: Any, ys: Any) -> Any:
    """The dot product."""
    return fw.sum(xs * ys)


def inputs(n: int) -> Arrays:
    """Numbers from 0 to 1."""
    random = np.random.default_rng(4)
    return random.random(n, np.float32), random.random(n, np.float32)


def peers(tools: Tools, xs: Any, ys: Any) -> dict[str, Call]:
    """Each one's fastest; the sequential loop in C is off by a thousandth, all in f32."""
    n = len(xs)
    found: dict[str, Call] = {"numpy.dot": lambda: np.dot(xs, ys)}
    if native := tools.c("reduce.c"):
        found["C loop"] = native.bind("dot", xs, ys, n, gives=FLOAT)
        found["C OpenMP"] = native.bind("dot_parallel", xs, ys, n, gives=FLOAT)
    if tools.numba:
        parallel = numba_loop(tools.numba)
        found["numba"] = lambda: parallel(xs, ys)
    if tools.jax:
        jax = tools.jax
        total = jax.jit(lambda x, y: jax.numpy.sum(x * y))
        on_device = jax.numpy.asarray(xs), jax.numpy.asarray(ys)
        found["jax"] = lambda: total(*on_device).block_until_ready()
    return found


def numba_loop(numba: Any) -> Any:
    """All cores."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(xs, ys):
        total = np.float32(0)
        for i in numba.prange(len(xs)):
            total += xs[i] * ys[i]
        return total

    return loop


COLUMNS = 4


def gram(m: Any) -> Any:
    """All inner products of a few columns."""
    return m.T @ m


def tall(n: int) -> Arrays:
    """So many rows of a few columns."""
    return (np.random.default_rng(4).random((n, COLUMNS)),)


def peers_of_gram(tools: Tools, m: Any) -> dict[str, Call]:
    """OpenBLAS, and JAX."""
    found: dict[str, Call] = {"numpy": lambda: m.T @ m}
    if tools.jax:
        jax = tools.jax
        product = jax.jit(lambda x: x.T @ x)
        on_device = jax.numpy.asarray(m)
        found["jax"] = lambda: product(on_device).block_until_ready()
    return found


NEEDS = (Faster(0.95, "numpy", "numba", "jax", "C OpenMP"), OneThread())
ROWS = [
    Row("dot", "sum(x * y) f32 2^26", 1 << 26, 1 << 22, program, inputs, NEEDS, peers,
        tolerance=1e-2, blas=True),
    Row("gram", "m.T @ m, 2^20 rows of 4 f64", 1 << 20, 1 << 16, gram, tall,
        (Faster(1.5, "numpy", "jax"),), peers_of_gram, tolerance=1e-10, same_bits=True, blas=True),
]  # fmt: skip
