"""Quicksort without recursion: all parts of one depth are split at once (Blelloch 1990, NESL).

    python examples/quicksort.py                  1,000,000 numbers
    python examples/quicksort.py 5000             5,000 numbers

The parts are concatenated in an array, flags mark their starts. An iteration picks a pivot in
every part and moves what is below it to the front and what is above it to the back: three running
counts by one segmented scan say where to. The starts of the thirds are the next flags.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import flatweave as fw


def add(a: Any, b: Any) -> Any:
    """The sums of two tuples of counts."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def before(a: Any, b: Any) -> Any:
    """The order to sort by: NaN, which differs from itself, after all numbers."""
    return (a < b) | ((a == a) & (b != b))


def segments(flags: Any) -> tuple[Any, Any]:
    """The number of each element's segment, and where each segment starts."""
    starts, _ = fw.filter(lambda p: p[1], (fw.iota(flags.shape[0]), flags))
    return fw.cumsum(flags) - 1, starts


def split(flags: Any, classes: Any, number: int) -> tuple[Any, Any]:
    """Where each element goes when every segment is ordered by class, stable; the new flags.

    Classes are 0 .. number - 1; each that occurs in a segment becomes a separate segment.
    """
    zeros = (0,) * number
    ones = fw.map(lambda c: tuple((c == k).astype(fw.i64) for k in range(number)), classes)
    counts = fw.segmented_scan(add, zeros, flags, ones)
    totals = fw.segmented_reduce(add, zeros, flags, ones)
    segment, starts = segments(flags)

    def place(c: Any, rank: Any, s: Any) -> Any:
        at, nth = starts[s] - 1, 0
        for k in range(number):
            at = at + fw.where(c > k, totals[k][s], 0)
            nth = fw.where(c == k, rank[k], nth)
        return at + nth, nth == 1

    places, is_first = fw.map(place, classes, counts, segment)
    return places, fw.scatter(flags, places, is_first)


@fw.jit
def quicksort(xs: Any) -> Any:
    """The elements in order, and the number of iterations."""

    def is_unsorted(state: Any) -> Any:
        xs, _, _ = state
        return fw.any(before(xs[1:], xs[:-1]))

    def turn(state: Any) -> Any:
        xs, flags, turns = state
        segment, starts = segments(flags)
        ends = fw.concat([starts[1:], fw.full((1,), xs.shape[0])])
        pivots = xs[(starts + ends) // 2]

        def side(x: Any, s: Any) -> Any:
            return 1 - before(x, pivots[s]).astype(fw.i8) + before(pivots[s], x).astype(fw.i8)

        places, flags = split(flags, fw.map(side, xs, segment), 3)
        return fw.scatter(xs, places, xs), flags, turns + 1

    xs, _, turns = fw.while_loop(is_unsorted, turn, (xs, fw.iota(xs.shape[0]) == 0, 0))
    return xs, turns


def main(argv: list[str]) -> int:
    """Sort random numbers, compare with NumPy: 0 when they agree."""
    xs = np.random.default_rng(1960).random(int(argv[0]) if argv else 1_000_000)
    quicksort(xs[:10])  # compile
    start = time.perf_counter()
    ordered, turns = quicksort(xs)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = np.sort(xs)
    numpy_seconds = time.perf_counter() - start
    print(f"{xs.size} numbers in {int(turns)} turns")
    print(f"flatweave: {seconds:.3f} s, NumPy: {numpy_seconds:.3f} s")
    return 0 if np.array_equal(ordered, expected) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
