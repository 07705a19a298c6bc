"""The arrays that the arguments of table.py name, for a dtype and a number of elements.

    x y u z         n elements: from 1 to 9; below 1; x with NaN
    s g v           n in order; 100 edges in order; 9 weights
    p o q           n flags; n mostly False; a matrix of flags
    i j t           indices of n; small numbers; numbers below 4
    m w k r c       matrices of n elements, as square as can be; with NaN; a row; a column
    m3 m10 a b      m with another axis; 10 rows; indices of columns; indices in lines
    e e4            a matrix and, from 10^6 elements on, a stack of 4 x 4s that can be inverted
    t3              rows of three
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

SMALL = 4  # rows and columns of the matrices in a stack
STACKED = 10**6  # elements from which on e4 is a stack


def elements(n: int, dtype: str, seed: int, low: float = 1.0, high: float = 9.0) -> Any:
    """Numbers in no order."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 100, n).astype(dtype)
    values = rng.uniform(low, high, n)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * rng.uniform(low, high, n)).astype(dtype)
    return values.astype(dtype)


def with_nan(values: Any) -> Any:
    """The same with every seventh NaN; of integers the same."""
    if values.dtype.kind in "iu":
        return values
    values = values.copy()
    values[::7] = np.nan
    return values


def invertible(rows: int, count: int, dtype: str) -> Any:
    """Symmetric, positive definite matrices (of complex numbers Hermitian), near identities."""
    dtype = dtype if np.dtype(dtype).kind in "fc" else "d"
    a = elements(count * rows * rows, dtype, 7, -1.0, 1.0).reshape(count, rows, rows)
    matrices = ((a + a.conj().swapaxes(1, 2)) / (4 * rows) + np.eye(rows)).astype(dtype)
    return matrices[0] if count == 1 else matrices


def inputs(n: int, dtype: str) -> dict[str, Any]:
    """All of them, and the numbers and dtypes that calls name."""
    rows = isqrt(n)
    shape = (rows, n // rows)
    x, y = elements(n, dtype, 1), elements(n, dtype, 2)
    i = np.random.default_rng(3).permutation(n)
    j = np.random.default_rng(4).integers(0, 1000, n)
    z = with_nan(x)
    small = STACKED // SMALL**2 if n >= STACKED else 1
    arrays = {
        "x": x, "y": y, "u": elements(n, dtype, 5, 0.05, 0.95), "z": z,
        "s": np.sort(x), "g": np.linspace(1, 9, 100).astype(dtype), "v": elements(9, dtype, 6),
        "p": j % 2 == 0, "o": j % 50 == 0, "q": (j % 50 == 0).reshape(shape),
        "i": i, "j": j, "t": (j % 4).astype(dtype if np.dtype(dtype).kind in "iu" else "i8"),
        "m": x.reshape(shape), "w": y.reshape(shape), "k": z.reshape(shape),
        "r": elements(shape[1], dtype, 8), "c": elements(rows, dtype, 9)[:, None],
        "m3": x.reshape(1, *shape), "m10": x.reshape(10, -1),
        "a": np.random.default_rng(10).permutation(shape[1]),
        "b": np.argsort(j.reshape(shape), axis=1),
        "e": invertible(rows, 1, dtype),
        "e4": invertible(SMALL if small > 1 else rows, small, dtype),
        "t3": x[: n // 3 * 3].reshape(-1, 3),
    }  # fmt: skip
    other = {"f": "f8", "d": "f4", "i": "f8", "B": "f4", "D": "c8"}[dtype]
    return arrays | {
        "n": n, "rows": rows, "shape": shape, "dtype": np.dtype(dtype), "h": np.dtype(other)
    }
