"""Matrices: a dense product, many decompositions, a sparse product, each written as a nest."""

from __future__ import annotations

from typing import Any

import numpy as np
from nests import matrices

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def two_squares(n: int) -> Arrays:
    """Random numbers."""
    return tuple(np.random.default_rng(36).random((2, n, n), np.float32))


def product_peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """OpenBLAS."""
    return {"numpy": lambda: a @ b}


def many(n: int) -> Arrays:
    """Matrices of 24 x 24."""
    return (matrices.dominant(n, 24),)


def lu_peers(tools: Tools, given: Any) -> dict[str, Call]:
    """NumPy takes each step of all matrices at once; Numba a matrix at a time, on all cores."""
    found: dict[str, Call] = {"numpy": lambda: matrices.numpy_lu(given)}
    if numba := tools.numba:
        loop = numba_lu(numba)
        found["numba"] = lambda: loop(given)
    return found


def numba_lu(numba: Any) -> Any:
    """In a copy."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(given):
        found, n = given.copy(), given.shape[1]
        for s in numba.prange(len(given)):
            a = found[s]
            for k in range(n):
                for i in range(k + 1, n):
                    a[i, k] /= a[k, k]
                    for j in range(k + 1, n):
                        a[i, j] -= a[i, k] * a[k, j]
        return found

    return loop


def two_sparse(n: int) -> Arrays:
    """Square matrices with on average 8 numbers in a row, whole ones."""
    draw = np.random.default_rng(38)

    def some() -> Any:
        lengths = np.minimum(draw.poisson(8, n), n)
        columns = np.concatenate([np.sort(draw.choice(n, k, replace=False)) for k in lengths])
        numbers = draw.integers(1, 9, len(columns)).astype(np.float64)
        return fw.ragged((numbers, columns.astype(np.int32)), lengths=lengths)

    return some(), some()


def sparse_product(a: Any, b: Any) -> Any:
    """Numbers, columns, offsets."""
    numbers, columns = matrices.sparse_product(a, b)
    return numbers, columns.values


def sparse_peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """SciPy, and its columns in order."""
    if (sparse := tools.scipy("sparse")) is None:
        return {}
    x, y = (
        sparse.csr_array((*map(np.asarray, m.values), np.asarray(m.offsets, np.int32)),
                         (len(m), len(m)))
        for m in (a, b)
    )  # fmt: skip

    def product() -> Any:
        found = x @ y
        found.sort_indices()
        return found.data, found.indptr, found.indices

    return {"scipy": product}


ROWS = [
    Row("nest_product", "product of matrices of 1,024 x 1,024 f32", 1024, 256,
        matrices.product.__wrapped__, two_squares, (Faster(0.5, "numpy"),), product_peers,
        tolerance=1e-3, blas=True),
    Row("nest_lu", "10,000 LU decompositions of 24 x 24 f64", 10_000, 1000,
        matrices.decompositions.__wrapped__, many, (Faster(1, "numba"),), lu_peers,
        tolerance=1e-9),
    Row("nest_sparse", "sparse x sparse, 10^5 rows of mean 8, f64", 10**5, 10**4, sparse_product,
        two_sparse, (Faster(1, "scipy"),), sparse_peers),
]  # fmt: skip
