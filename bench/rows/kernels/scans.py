"""Scans of 2^24 i32: of parts of 1,024 by each network, and of all in three launches."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernels import large_scan, warp_scans
from kernels import scans as networks

import flatweave as fw
from bench.needs import Faster
from bench.row import Call, Row
from bench.rows.kernels.array_tier import ARRAYS, array_tier
from bench.rows.kernels.reductions import QUICK, SIZE, inputs
from bench.tools import Tools

PART = networks.PART


def peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """Scans of rows."""
    rows = xs.reshape(-1, PART)
    found: dict[str, Call] = {
        "numpy": lambda: np.cumsum(rows, axis=1, dtype=np.int32).ravel(),
    }
    compiled = array_tier(lambda rows: fw.map(lambda row: fw.scan(fw.add, 0, row), rows), rows)
    return found | {ARRAYS: lambda: np.asarray(compiled[ARRAYS]()).ravel()}


def whole(tools: Tools, xs: Any) -> dict[str, Call]:
    """Scans of all."""
    numpys: dict[str, Call] = {"numpy": lambda: np.cumsum(xs, dtype=np.int32)}
    return numpys | array_tier(lambda xs: fw.scan(fw.add, 0, xs), xs)


NEEDS = (Faster(1 / 1.2, ARRAYS),)
ROWS = [
    *(
        Row(f"kernel_{name}", f"{name}: scans of parts of 1,024 i32, 2^24", SIZE, QUICK,
            kernel, inputs, (), peers)
        for name, kernel in (networks.KERNELS | warp_scans.KERNELS).items()
    ),
    *(
        Row(f"kernel_{name}", f"{name}: scan of 2^24 i32", SIZE, QUICK, kernel, inputs,
            NEEDS, whole)
        for name, kernel in large_scan.KERNELS.items()
    ),
]  # fmt: skip
