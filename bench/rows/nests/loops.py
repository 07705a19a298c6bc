"""Loops in nests, where elements differ in their number of iterations.

Collatz' sequences have scalars in their state, edit distances and trinomial trees an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nests import loops, words

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def first_numbers(n: int) -> Arrays:
    """1 to n."""
    return (np.arange(1, n + 1),)


def collatz_peers(tools: Tools, numbers: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the numbers."""
    if (numba := tools.numba) is None:
        return {}

    @numba.njit(parallel=True)
    def loop(numbers):
        out = np.empty_like(numbers)
        for i in numba.prange(len(numbers)):
            n, steps = numbers[i], 0
            while n != 1:
                n = n >> 1 if n % 2 == 0 else 3 * n + 1
                steps += 1
            out[i] = steps
        return out

    return {"numba": lambda: loop(numbers)}


def pairs_of_words(n: int) -> Arrays:
    """Words of English length, 1 to 12 letters, and as many more."""
    draw = np.random.default_rng(35)

    def some() -> Any:
        lengths = np.clip(draw.poisson(5, n) + 1, 1, 12)
        return fw.ragged(draw.integers(97, 101, lengths.sum(), np.uint8), lengths=lengths)

    return some(), some()


def distances(first: Any, second: Any) -> Any:
    """The edit distance of each pair."""
    return fw.map(words.distance, first, second)


def distance_peers(tools: Tools, first: Any, second: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the pairs, with one row of the table for each thread."""
    if (numba := tools.numba) is None:
        return {}
    a, b = ((np.asarray(x.values), np.asarray(x.offsets)) for x in (first, second))

    @numba.njit
    def distance(a, b):
        row = np.arange(len(b) + 1)
        for i in range(len(a)):
            corner, row[0] = row[0], i + 1
            for j in range(len(b)):
                best = min(row[j + 1] + 1, row[j] + 1, corner + (a[i] != b[j]))
                corner, row[j + 1] = row[j + 1], best
        return row[len(b)]

    @numba.njit(parallel=True)
    def loop(a, a_offsets, b, b_offsets):
        out = np.empty(len(a_offsets) - 1, np.int32)
        for i in numba.prange(len(out)):
            out[i] = distance(
                a[a_offsets[i] : a_offsets[i + 1]], b[b_offsets[i] : b_offsets[i + 1]]
            )
        return out

    return {"numba": lambda: loop(*a, *b)}


def texts(n: int) -> Arrays:
    """Texts of up to 200 letters, each with a pattern of one to four."""
    draw = np.random.default_rng(39)

    def some(least: int, most: int) -> Any:
        lengths = draw.integers(least, most + 1, n)
        return fw.ragged(draw.integers(97, 101, lengths.sum(), np.uint8), lengths=lengths)

    return some(0, 200), some(1, 4)


def places(texts: Any, patterns: Any) -> Any:
    """Where each pattern begins in its text."""
    return fw.map(words.found, texts, patterns)


def place_peers(tools: Tools, texts: Any, patterns: Any) -> dict[str, Call]:
    """Two parallel loops of Numba over the texts: one counts, one writes."""
    if (numba := tools.numba) is None:
        return {}
    a, b = ((np.asarray(x.values), np.asarray(x.offsets)) for x in (texts, patterns))

    @numba.njit
    def begins(text, pattern, i):
        j = 0
        while j < len(pattern) and text[i + j] == pattern[j]:
            j += 1
        return j == len(pattern)

    @numba.njit(parallel=True)
    def loop(a, a_offsets, b, b_offsets):
        ends = np.zeros(len(a_offsets), np.int64)
        for row in numba.prange(len(ends) - 1):
            text = a[a_offsets[row] : a_offsets[row + 1]]
            pattern = b[b_offsets[row] : b_offsets[row + 1]]
            for i in range(len(text) - len(pattern) + 1):
                ends[row + 1] += begins(text, pattern, i)
        ends = np.cumsum(ends)
        out = np.empty(ends[-1], np.int64)
        for row in numba.prange(len(ends) - 1):
            text = a[a_offsets[row] : a_offsets[row + 1]]
            pattern = b[b_offsets[row] : b_offsets[row + 1]]
            at = ends[row]
            for i in range(len(text) - len(pattern) + 1):
                if begins(text, pattern, i):
                    out[at] = i
                    at += 1
        return out, ends

    return {"numba": lambda: loop(*a, *b)}


def options(n: int) -> Arrays:
    """Options of 2 to 200 steps, most of few."""
    return loops.market(n, 200)


def prices(*options: Any) -> Any:
    """Of each option, on its own tree."""
    return fw.map(loops.put, *options)


def price_peers(tools: Tools, *options: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the options."""
    if (numba := tools.numba) is None:
        return {}

    @numba.njit
    def put(spot, strike, years, volatility, rate, steps):
        time = years / steps
        growth, jump = np.exp(rate * time / 2), volatility * np.sqrt(time / 2)
        high, low = np.exp(jump), np.exp(-jump)
        up, down = ((growth - low) / (high - low)) ** 2, ((high - growth) / (high - low)) ** 2
        discount = np.exp(-rate * time)
        # the tree's nodes are the same in every step, but shifted
        gain = np.maximum(strike - spot * np.exp(2 * jump * np.arange(-steps, steps + 1)), 0)
        values = gain.copy()
        for step in range(steps - 1, -1, -1):
            for j in range(2 * step + 1):
                held = up * values[j + 2] + (1 - up - down) * values[j + 1] + down * values[j]
                values[j] = max(discount * held, gain[j + steps - step])
        return values[0]

    @numba.njit(parallel=True)
    def loop(spot, strike, years, volatility, rate, steps):
        out = np.empty_like(spot)
        for i in numba.prange(len(out)):
            out[i] = put(spot[i], strike[i], years[i], volatility[i], rate[i], steps[i])
        return out

    return {"numba": lambda: loop(*options)}


ROWS = [
    Row("nest_collatz", "steps of Collatz, 1 to 2^24, i64", 1 << 24, 1 << 20,
        loops.collatz.__wrapped__, first_numbers, (Faster(1.5, "numba"),), collatz_peers),
    Row("nest_distances", "edit distances of 10^5 pairs of words", 10**5, 10**4, distances,
        pairs_of_words, (Faster(1, "numba"),), distance_peers),
    Row("nest_found", "patterns in 10^5 texts of up to 200 letters", 10**5, 10**4, places, texts,
        (Faster(1, "numba"),), place_peers),
    Row("nest_options", "10^4 options on trees of 2 to 200 steps, f64", 10**4, 10**3, prices,
        options, (Faster(1, "numba"),), price_peers, tolerance=1e-6),
]  # fmt: skip
