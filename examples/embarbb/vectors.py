"""Vectors: a constant added, saxpy, the inner product, the general product of matrices.

    python examples/embarbb vectors

One source serves every dtype: a jitted function is compiled once for each that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def addconst(s: Any, v: Any) -> Any:
    """The same number added to each element."""
    return v + s


@fw.jit
def saxpy(s: Any, x: Any, y: Any) -> Any:
    """s x + y"""
    return s * x + y


@fw.jit
def inner(x: Any, y: Any) -> Any:
    """The inner product; nothing is stored."""
    return fw.sum(x * y)


@fw.jit
def gemm(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> Any:
    """alpha a b + beta c, in one pass over the product."""
    return alpha * fw.matmul(a, b) + beta * c


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n, size = (1000, 20) if quick else (1 << 22, 500)
    draw = np.random.default_rng(1)
    x, y = draw.random((2, n), np.float32)
    a, b, c = draw.random((3, size, size), np.float32)
    s, t = np.float32(2.5), np.float32(0.5)

    def close(ours: Any, numpys: Any) -> bool:
        return np.allclose(ours, numpys, rtol=1e-4)

    yield "addconst", f"{n} f32", lambda: addconst(s, x), lambda: x + s, np.array_equal
    yield "saxpy", f"{n} f32", lambda: saxpy(s, x, y), lambda: s * x + y, np.array_equal
    doubles = x.astype(np.float64), y.astype(np.float64)
    yield ("daxpy", f"{n} f64", lambda: saxpy(2.5, *doubles),
           lambda: 2.5 * doubles[0] + doubles[1], np.array_equal)  # fmt: skip
    yield "inner product", f"{n} f32", lambda: inner(x, y), lambda: np.dot(x, y), close
    yield ("sgemm", f"{size} x {size} f32", lambda: gemm(s, a, b, t, c),
           lambda: s * (a @ b) + t * c, close)  # fmt: skip
