"""Sums of 2^24 i32: of parts of 2,048 and 4,096 by each of the thesis's kernels, and of all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kernels import large_reduction
from kernels import reductions as red

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.rows.kernels.array_tier import ARRAYS, array_tier
from bench.tools import Tools

SIZE, QUICK = 1 << 24, 1 << 16


def inputs(n: int) -> Arrays:
    """Small numbers of both signs; a whole number of parts."""
    whole = -(-n // red.LARGE) * red.LARGE
    return (np.random.default_rng(1).integers(-9, 10, whole, dtype=np.int32),)


def peers(extent: int, tools: Tools, xs: Any) -> dict[str, Call]:
    """Sums of rows."""
    rows = xs.reshape(-1, extent)
    numpys = {"numpy": lambda: np.sum(rows, axis=1, dtype=np.int32)}
    return numpys | array_tier(lambda rows: fw.map(lambda row: fw.sum(row), rows), rows)


def sums(dtype: Any, tools: Tools, xs: Any) -> dict[str, Call]:
    """NumPy's, a loop on all cores, and the array language's."""
    found: dict[str, Call] = {"numpy": lambda: np.sum(xs, dtype=dtype, keepdims=True)}
    if tools.numba:
        loop = numba_sum(tools.numba)
        found["numba"] = lambda: np.array([loop(xs)], dtype)
    whole = array_tier(lambda xs: fw.sum(xs), xs)[ARRAYS]
    return found | {ARRAYS: lambda: np.array([whole()], dtype)}


def numba_sum(numba: Any) -> Any:
    """All cores."""

    @numba.njit(parallel=True)
    def loop(xs):
        total = np.int32(0)
        for i in numba.prange(len(xs)):
            total += xs[i]
        return total

    return loop


NEEDS = (Faster(1 / 1.2, ARRAYS),)
ROWS = [
    *(
        Row(f"kernel_{name}", f"{name}: sums of parts of {extent:,} i32, 2^24", SIZE, QUICK,
            kernel, inputs, (), partial(peers, extent))
        for name, kernel in red.KERNELS.items()
        for extent in (red.VARIANTS[name][1],)
    ),
    *(
        Row(f"kernel_sum_{name}", f"{name}: sum of 2^24 i32", SIZE, QUICK,
            kernel, inputs, NEEDS, partial(sums, dtype))
        for (name, kernel), dtype in zip(
            large_reduction.KERNELS.items(), (np.int32, np.int64, np.int64), strict=True
        )
    ),
]  # fmt: skip
