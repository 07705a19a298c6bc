"""Sums of big numbers and tridiagonal systems: scans of rows by operators that are not sums."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from nests import big_numbers, tridiagonal

import flatweave as fw
from bench.needs import V3, At, Faster, OfFloor
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def pairs(n: int, digits: int) -> Arrays:
    """Pairs of numbers, n digits in all of each side."""
    return big_numbers.pairs(max(n // digits, 1), digits)


def sums(a: Any, b: Any) -> Any:
    """Of each pair."""
    return fw.map(big_numbers.add, a, b)


def sum_peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """NumPy moves all carries up by one digit at a time; Numba goes through each row."""
    found: dict[str, Call] = {}
    if len(a) * a.shape[1] <= 1 << 20:
        found["numpy"] = lambda: big_numbers.numpy_sums(a, b)
    if numba := tools.numba:
        loop, out = numba_sums(numba), np.zeros_like(a)
        found["numba"] = lambda: loop(a, b, out)
    return found


def numba_sums(numba: Any) -> Any:
    """All cores, a row at a time, each digit in 64 bits."""

    @numba.njit(parallel=True)
    def loop(a, b, out):
        for i in numba.prange(len(a)):
            carry = np.uint64(0)
            for j in range(a.shape[1]):
                digit = np.uint64(a[i, j]) + np.uint64(b[i, j]) + carry
                out[i, j] = np.uint32(digit)
                carry = digit >> np.uint64(32)
        return out

    return loop


def systems(n: int) -> Arrays:
    """Systems of 128 equations."""
    return tridiagonal.systems(n, 128)


def solutions(*systems: Any) -> Any:
    """Of each system."""
    return fw.map(tridiagonal.solve, *systems)


def solution_peers(tools: Tools, *systems: Any) -> dict[str, Call]:
    """Numba takes the sequential algorithm through each system; NumPy all systems at once."""
    found: dict[str, Call] = {"numpy": lambda: tridiagonal.numpy_solutions(*systems)}
    if numba := tools.numba:
        loop, out = numba_solutions(numba), np.zeros_like(systems[0])
        found["numba"] = lambda: loop(*systems, out)
    return found


def numba_solutions(numba: Any) -> Any:
    """All cores, a system at a time."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(low, middle, high, right, out):
        n = middle.shape[1]
        for s in numba.prange(len(middle)):
            pivots = np.empty(n, middle.dtype)
            pivots[0], out[s, 0] = middle[s, 0], right[s, 0]
            for i in range(1, n):
                factor = low[s, i] / pivots[i - 1]
                pivots[i] = middle[s, i] - factor * high[s, i - 1]
                out[s, i] = right[s, i] - factor * out[s, i - 1]
            out[s, n - 1] /= pivots[n - 1]
            for i in range(n - 2, -1, -1):
                out[s, i] = (out[s, i] - high[s, i] * out[s, i + 1]) / pivots[i]
        return out

    return loop


ROWS = [
    *(Row(f"nest_add_{digits}", f"sums of numbers of {digits:,} u32, 2^27 in all", 1 << 27,
          1 << 22, sums, partial(pairs, digits=digits), (OfFloor(0.8), At(V3, OfFloor(0.7))),
          sum_peers, one_kernel=True)
      for digits in (128, 512, 1024, 4096)),
    Row("nest_tridiagonal", "10,000 tridiagonal systems of 128 f32", 10_000, 1000, solutions,
        systems, (Faster(1, "numba"),), solution_peers, tolerance=1e-2),
]  # fmt: skip
