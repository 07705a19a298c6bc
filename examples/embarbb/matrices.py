"""Matrices: times a vector, times each other column by column, and sparse times a vector.

    python examples/embarbb matrices
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def mat_vec(m: Any, v: Any) -> Any:
    """Each row times the vector, added up: the vector is not repeated in memory."""
    return fw.sum(m * v, axis=1)


@fw.jit
def by_columns(a: Any, b: Any) -> Any:
    """A product of matrices in a loop over the columns of the result."""

    def column(i: Any, c: Any) -> Any:
        return fw.replace(c, (slice(None), i), fw.sum(a * b[:, i], axis=1))

    return fw.fori_loop(0, b.shape[1], column, fw.zeros((a.shape[0], b.shape[1]), a.dtype))


@fw.jit
def sparse(numbers: Any, columns: Any, offsets: Any, x: Any) -> Any:
    """A sparse matrix in compressed rows times a vector; what is no column counts as 0."""
    products = numbers * fw.gather(x, columns, default=0)
    return fw.sum(fw.ragged(products, offsets=offsets), axis=1)


def compressed(rows: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random sparse matrix: its numbers, their columns, and where rows begin."""
    draw = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(draw.integers(0, 9, rows))])
    return draw.random(offsets[-1]), draw.integers(0, width, offsets[-1]), offsets


def numpy_sparse(
    numbers: np.ndarray, columns: np.ndarray, offsets: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """The same in NumPy."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(row, numbers * x[columns], len(offsets) - 1)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    size, rows = (20, 50) if quick else (256, 200_000)
    a, b = np.random.default_rng(2).random((2, size, size))
    yield ("matrix x vector", f"{size} x {size}", lambda: mat_vec(a, b[0]), lambda: a @ b[0],
           np.allclose)  # fmt: skip
    yield ("product by columns", f"{size} x {size}", lambda: by_columns(a, b), lambda: a @ b,
           np.allclose)  # fmt: skip
    matrix, x = compressed(rows, 1000), np.random.default_rng(4).random(1000)
    yield ("sparse x vector", f"{rows} rows", lambda: sparse(*matrix, x),
           lambda: numpy_sparse(*matrix, x), np.allclose)  # fmt: skip
