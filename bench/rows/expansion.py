"""10^6 counts expanded, a square root of each result, and their sum for each count: all fused."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(counts: Any) -> Any:
    """For each count the sum of the roots of as many numbers from it on."""
    return fw.expand_reduce(lambda n: n, lambda n, i: fw.sqrt(n + i), fw.add, 0.0, counts)


def inputs(n: int) -> Arrays:
    """From 0 to 19, on average 9.5."""
    return (np.random.default_rng(13).integers(0, 20, n),)


def numpy_way(counts: Any) -> Any:
    """Flattened by hand: the indices of the sources, then the indices in them."""
    sources = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.bincount(sources, np.sqrt(counts[sources] + places), len(counts))


def peers(tools: Tools, counts: Any) -> dict[str, Call]:
    """NumPy stores the expansion; Numba's two loops do not, on one core and on all."""
    found: dict[str, Call] = {"numpy": lambda: numpy_way(counts)}
    if tools.numba:
        serial, parallel = (numba_loops(tools.numba, spread) for spread in (False, True))
        found["numba, serial"] = lambda: serial(counts)
        found["numba, parallel"] = lambda: parallel(counts)
    return found


def numba_loops(numba: Any, parallel: bool) -> Any:
    """A loop in a loop."""

    @numba.njit(parallel=parallel, fastmath=True)
    def loops(counts):
        sums = np.empty(len(counts))
        for k in numba.prange(len(counts)):
            total = 0.0
            for i in range(counts[k]):
                total += np.sqrt(counts[k] + i)
            sums[k] = total
        return sums

    return loops


ROWS = [
    Row("expansion", "10^6 counts expanded, sqrt, sum per row", 10**6, 10**5, program, inputs,
        (Faster(1.5, "numba, serial"),), peers, tolerance=1e-9)
]  # fmt: skip
