"""Searches of each element or row: as of a time, up to a separator, for the nearest in another row.

Numba runs the same loops, parallel over elements or rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

NEEDS = (Faster(0.7, "numba"),)
SPACE, NONE = 32, -1

# -- the last quote before each trade -------------------------------------------------------------


def as_of(trades: Any, times: Any, prices: Any) -> Any:
    """The price of the last quote that is not later than a trade; -1 before the first."""
    last = fw.searchsorted(times, trades, side="right") - 1
    return fw.where(last < 0, -1.0, prices[fw.maximum(last, 0)])


def ticks(n: int) -> Arrays:
    """Half as many trades as quotes, both in order of time."""
    rng = np.random.default_rng(21)
    trades, times = (np.sort(rng.integers(0, 1 << 40, k)) for k in (n // 2, n))
    return trades, times, rng.random(n)


def as_of_peers(tools: Tools, trades: Any, times: Any, prices: Any) -> dict[str, Call]:
    """NumPy's search; Numba's, one for each trade."""

    def by_numpy() -> Any:
        last = np.searchsorted(times, trades, side="right") - 1
        return np.where(last < 0, -1.0, prices[np.maximum(last, 0)])

    found: dict[str, Call] = {"numpy": by_numpy}
    if tools.numba:
        numba, out = tools.numba, np.zeros(len(trades))

        @numba.njit(parallel=True)
        def search(trades, times, prices, out):
            for i in numba.prange(len(trades)):
                low, high = 0, len(times)
                while low < high:
                    middle = (low + high) // 2
                    if times[middle] <= trades[i]:
                        low = middle + 1
                    else:
                        high = middle
                out[i] = prices[low - 1] if low else -1.0
            return out

        found["numba"] = lambda: search(trades, times, prices, out)
    return found


# -- where the first word of each line ends -------------------------------------------------------


def first_words(lines: Any) -> Any:
    """The index of the first space of each line; its length where it has no space."""

    def one(line: Any) -> Any:
        length = line.shape[0]
        return fw.min(fw.where(line == SPACE, fw.iota(length), length), initial=length)

    return fw.map(one, lines)


def log(n: int) -> Arrays:
    """Lines of 40 to 160 bytes in words of about 8."""
    rng = np.random.default_rng(22)
    lengths = rng.integers(40, 161, max(n // 100, 1))
    size = int(lengths.sum())
    text = np.where(rng.random(size) < 1 / 8, SPACE, rng.integers(97, 123, size)).astype(np.uint8)
    return (fw.ragged(text, lengths=lengths),)


def log_peers(tools: Tools, lines: Any) -> dict[str, Call]:
    """Numba, which stops at the first one."""
    text, offsets = np.asarray(lines.values), np.asarray(lines.offsets)
    if not tools.numba:
        return {}
    numba, out = tools.numba, np.zeros(len(offsets) - 1, np.int64)

    @numba.njit(parallel=True)
    def first(text, offsets, out):
        for i in numba.prange(len(out)):
            k = offsets[i]
            while k < offsets[i + 1] and text[k] != SPACE:
                k += 1
            out[i] = k - offsets[i]
        return out

    return {"numba": lambda: first(text, offsets, out)}


# -- the nearest element of the row with the same number ------------------------------------------


def nearest(left: Any, right: Any) -> Any:
    """For each element the index of the nearest one in the other's row, -1 in an empty row."""

    def match(own: Any, other: Any) -> Any:
        def one(x: Any) -> Any:
            some = other.shape[0] > 0
            return fw.cond(some, lambda: fw.argmin(fw.abs(other - x)), lambda: NONE)

        return fw.map(one, own)

    return fw.map(match, left, right)


def jets(n: int) -> Arrays:
    """Events with up to 8 jets on either side."""
    rng = np.random.default_rng(23)
    sides = []
    for _ in range(2):
        lengths = rng.integers(0, 9, max(n // 4, 1))
        sides.append(fw.ragged(rng.random(int(lengths.sum())), lengths=lengths))
    return tuple(sides)


def jet_peers(tools: Tools, left: Any, right: Any) -> dict[str, Call]:
    """Numba, an event after the other."""
    if not tools.numba:
        return {}
    parts = [np.asarray(part) for side in (left, right) for part in (side.values, side.offsets)]
    numba, out = tools.numba, np.zeros(len(parts[0]), np.int64)

    @numba.njit(parallel=True)
    def match(a, starts, b, others, out):
        for e in numba.prange(len(starts) - 1):
            for i in range(starts[e], starts[e + 1]):
                best, place = np.inf, -1
                for j in range(others[e], others[e + 1]):
                    distance = abs(b[j] - a[i])
                    if distance < best:
                        best, place = distance, j - others[e]
                out[i] = place
        return out

    return {"numba": lambda: fw.ragged(match(*parts, out), offsets=parts[1])}


ROWS = [
    Row("as_of", "as-of search, 2 10^6 times in 4 10^6", 4_000_000, 1 << 16, as_of, ticks, NEEDS,
        as_of_peers),
    Row("first_words", "the first space of each line, 2^26 bytes", 1 << 26, 1 << 18, first_words,
        log, NEEDS, log_peers),
    Row("nearest_in_row", "the nearest jet of each, 10^6 events", 4_000_000, 1 << 16, nearest, jets,
        NEEDS, jet_peers),
]  # fmt: skip
