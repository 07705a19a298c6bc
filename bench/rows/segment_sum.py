"""The maximum segment sum by an associative operator on 4-tuples; the empty segment counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, OfFloor, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import FLOAT, Tools


def joined(left: Any, right: Any) -> Any:
    """(best, best prefix, best suffix, total) of two neighbours, from theirs."""
    best, prefix, suffix, total = left
    best_2, prefix_2, suffix_2, total_2 = right
    return (
        fw.maximum(fw.maximum(best, best_2), suffix + prefix_2),
        fw.maximum(prefix, total + prefix_2),
        fw.maximum(suffix_2, suffix + total_2),
        total + total_2,
    )


def alone(x: Any) -> Any:
    """The tuple of one element."""
    gain = fw.maximum(x, 0)
    return gain, gain, gain, x


def program(xs: Any) -> Any:
    """The best sum of neighbouring elements."""
    return fw.reduce(joined, (0, 0, 0, 0), fw.map(alone, xs))[0]


def inputs(n: int) -> Arrays:
    """Whole numbers: every order of adding gives the same."""
    random = np.random.default_rng(3)
    return (random.integers(-8, 9, n, dtype=np.int8).astype(np.float32),)


def peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """Kadane's loop, and NumPy's prefix sums less the least one before."""
    n = len(xs)
    sums, least = np.zeros_like(xs), np.zeros_like(xs)

    def numpy_way() -> Any:
        np.cumsum(xs, out=sums)
        np.minimum.accumulate(np.minimum(sums, 0, out=least), out=least)
        return np.max(np.subtract(sums, least, out=least))

    found: dict[str, Call] = {"numpy": numpy_way}
    if native := tools.c("reduce.c"):
        found["C loop"] = native.bind("segment_sum", xs, n, gives=FLOAT)
        found["C OpenMP"] = native.bind("segment_sum_parallel", xs, n, gives=FLOAT)
    if tools.numba:
        loop = numba_loop(tools.numba)
        found["numba"] = lambda: loop(xs)
    return found


def numba_loop(numba: Any) -> Any:
    """Kadane's."""

    @numba.njit(fastmath=True)
    def loop(xs):
        here = best = np.float32(0)
        for x in xs:
            here = max(here + x, np.float32(0))
            best = max(best, here)
        return best

    return loop


NEEDS = (OfFloor(0.7), At(V3, Faster(2.5, "C OpenMP")), OneThread())
ROWS = [
    Row("segment_sum", "max segment sum, 4-tuple, f32 2^26", 1 << 26, 1 << 22, program, inputs,
        NEEDS, peers, serial=("numba",))
]  # fmt: skip
