"""filter of i32, half of them kept, which half at random: branches cannot be foretold."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, OfFloor, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import INTEGER, Tools


def program(xs: Any) -> Any:
    """Those that are not negative."""
    return fw.filter(lambda x: x >= 0, xs)


def inputs(n: int) -> Arrays:
    """All bits at random."""
    return (np.random.default_rng(6).integers(-(2**31), 2**31, n, dtype=np.int32),)


def peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """Each one writes into memory that is there, NumPy excepted: it cannot say how much."""
    out, n = np.zeros(len(xs) + 1, xs.dtype), len(xs)
    found: dict[str, Call] = {"numpy": lambda: xs[xs >= 0]}
    if native := tools.c("filter.c"):
        loop = native.bind("keep", xs, out, n, gives=INTEGER)
        parallel = native.bind("keep_parallel", xs, out, n, gives=INTEGER)
        found["C loop"] = lambda: out[: loop()]
        found["C OpenMP"] = lambda: out[: parallel()]
    if tools.numba:
        serial = numba_loop(tools.numba)
        found["numba"] = lambda: out[: serial(xs, out)]
    return found


def numba_loop(numba: Any) -> Any:
    """Without a branch."""

    @numba.njit
    def loop(xs, out):
        kept = 0
        for x in xs:
            out[kept] = x
            kept += x >= 0
        return kept

    return loop


ROWS = [
    Row("filter", "filter i32 2^26, half kept", 1 << 26, 1 << 22, program, inputs,
        (OfFloor(0.8), At(V3, OfFloor(0.75)), OneThread()), peers, serial=("numba",))
]  # fmt: skip
