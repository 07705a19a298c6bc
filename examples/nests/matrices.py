"""Matrices as nests: products, decompositions of many at once, sparse times sparse.

    python examples/nests matrices

A matrix is an array of rows, and a product a map of a map of a sum. A sparse matrix is a Ragged of
(number, column), as in `examples/sparse_matrices.py`; a row of a product has any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def product(a: Any, b: Any) -> Any:
    """Each row of `a` with each column of `b`."""
    columns = fw.transpose(b)
    return fw.map(lambda row: fw.map(lambda column: fw.sum(row * column), columns), a)


def lu(a: Any) -> Any:
    """L below the diagonal, whose own is 1, and U: Gauss' elimination, without pivoting."""

    def step(k: Any, a: Any) -> Any:
        def element(i: Any, j: Any) -> Any:
            factor = a[i, k] / a[k, k]
            reduced = fw.where(j > k, a[i, j] - factor * a[k, j], a[i, j])
            return fw.where(i > k, fw.where(j == k, factor, reduced), a[i, j])

        return fw.generate(a.shape, element)

    return fw.fori_loop(0, a.shape[0], step, a)


@fw.jit
def decompositions(matrices: Any) -> Any:
    """L and U of many matrices."""
    return fw.map(lu, matrices)


@fw.jit
def sparse_product(a: Any, b: Any) -> Any:
    """A sparse matrix times another: numbers and columns of its rows, in order of columns."""

    def row_of(row: Any) -> Any:
        products = fw.map(lambda x, j: fw.map(lambda y, k: (k, x * y), *b[j]), *row)
        columns, numbers = fw.sort_by_key(*(part.values for part in products))
        changes = fw.map(
            lambda i: (i == 0) | (columns[i] != columns[fw.maximum(i - 1, 0)]),
            fw.iota(columns.shape[0]),
        )
        first, _ = fw.filter(lambda p: p[1], (columns, changes))
        return fw.segmented_reduce(fw.add, 0, changes, numbers), first

    return fw.map(row_of, a)


def compressed(dense: np.ndarray) -> fw.Ragged:
    """The rows of a matrix, of each (number, column) of what is not 0."""
    rows, columns = np.nonzero(dense)
    lengths = np.bincount(rows, minlength=len(dense))
    return fw.ragged((dense[rows, columns], columns.astype(np.int32)), lengths=lengths)


def dense(numbers: Any, columns: Any, width: int) -> np.ndarray:
    """The matrix of rows of numbers and columns."""
    lengths = np.diff(np.asarray(numbers.offsets))
    found = np.zeros((len(lengths), width), np.asarray(numbers.values).dtype)
    found[np.repeat(np.arange(len(lengths)), lengths), np.asarray(columns.values)] = numbers.values
    return found


def numpy_lu(matrices: np.ndarray) -> np.ndarray:
    """All matrices take each step together."""
    a = matrices.copy()
    for k in range(a.shape[1]):
        a[:, k + 1 :, k] /= a[:, k, k, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 :]
    return a


def dominant(number: int, size: int) -> np.ndarray:
    """Random matrices whose diagonal dominates."""
    return np.random.default_rng(13).random((number, size, size)) + size * np.eye(size)


def sparse(size: int, filled: float) -> np.ndarray:
    """A random matrix of whole numbers, mostly 0; one row is all 0."""
    draw = np.random.default_rng(14)
    found = draw.integers(1, 9, (size, size)) * (draw.random((size, size)) < filled)
    found[size // 2] = 0
    return found


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    size = 30 if quick else 300
    a, b = np.random.default_rng(15).random((2, size, size), np.float32)
    yield ("matrix product", f"{size} x {size}, f32", lambda: product(a, b), lambda: a @ b,
           lambda ours, numpys: np.allclose(ours, numpys, rtol=1e-4))  # fmt: skip
    many = dominant(size, 24)
    yield ("LU decompositions", f"{size} of 24 x 24", lambda: decompositions(many),
           lambda: numpy_lu(many), np.allclose)  # fmt: skip
    x = sparse(size, 0.05)
    rows = compressed(x)
    yield ("sparse x sparse", f"{size} x {size}, 5 % filled", lambda: sparse_product(rows, rows),
           lambda: x @ x,
           lambda ours, numpys: np.array_equal(dense(*ours, size), numpys))  # fmt: skip
