"""Transposition of 4,096 x 4,096 f32, and products of 1,024 x 1,024."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from kernels import matrices

import flatweave as fw
from bench.row import Arrays, Call, Row
from bench.rows.kernels.array_tier import array_tier
from bench.tools import Tools


def square(n: int) -> np.ndarray:
    """Small whole numbers: sums of products are exact."""
    extent = isqrt(n)
    return np.random.default_rng(n).integers(-9, 10, (extent, extent)).astype(np.float32)


def one(n: int) -> Arrays:
    """A matrix of n elements."""
    return (square(n),)


def two(n: int) -> Arrays:
    """Two of them."""
    return square(n), square(n).T.copy()


def transposed(tools: Tools, a: Any) -> dict[str, Call]:
    """Copied in the other order."""
    numpys: dict[str, Call] = {"numpy": lambda: np.ascontiguousarray(a.T)}
    return numpys | array_tier(lambda a: fw.transpose(a), a)


def products(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """OpenBLAS with all threads, and sums of products of rows."""

    def program(a: Any, b: Any) -> Any:
        columns = fw.transpose(b)
        return fw.map(lambda row: fw.map(lambda column: fw.sum(row * column), columns), a)

    numpys: dict[str, Call] = {"numpy": lambda: a @ b}
    return numpys | array_tier(program, a, b)


def rows(name: str) -> Any:
    """A kernel's elements as rows; kernels with tiles give them concatenated."""
    kernel = matrices.KERNELS[name]
    if name.endswith("plain"):
        return kernel
    return lambda *args: fw.reshape(kernel(*args), args[0].shape)


ROWS = [
    *(
        Row(f"kernel_{name}", f"{name}: 4,096 x 4,096 f32", 1 << 24, 1 << 12, rows(name), one,
            (), transposed)
        for name in ("transpose_plain", "transpose_tiles")
    ),
    *(
        Row(f"kernel_{name}", f"{name}: 1,024 x 1,024 f32", 1 << 20, 1 << 12, rows(name), two,
            (), products, blas=True)
        for name in ("product_plain", "product_tiles")
    ),
]  # fmt: skip
