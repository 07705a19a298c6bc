"""Programs written in two ways: what is easy to write takes at most 1.3 times as long.

The peer is a second program of Flatweave, the form that was faster, in the same rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

ALIKE = 1 / 1.3
STEPS = 20
WINDOW = [(i, j) for i in range(-2, 3) for j in range(-2, 3)]
COMMA, BELOW = 44, 60


def written(
    name: str, program: Callable[..., Any], is_same: bool = True
) -> Callable[..., dict[str, Call]]:
    """The other form as a peer; one that leaves something out gives nothing to compare."""

    def peers(tools: Tools, *args: Any) -> dict[str, Call]:
        other = fw.jit(program)
        return {name: lambda: other(*args) if is_same else (other(*args), None)[1]}

    return peers


# -- the median of 25 values ----------------------------------------------------------------------


def sorted_window(picture: Any) -> Any:
    """The middle one of the sorted values."""
    return fw.stencil(lambda n: fw.sort([n[at] for at in WINDOW])[12], picture, (5, 5))


def network_of(values: Sequence[Any]) -> Any:
    """Batcher's odd-even merge sort, by minima and maxima."""
    values, merged = list(values), 1
    while merged < len(values):
        distance = merged
        while distance:
            for start in range(distance % merged, len(values) - distance, 2 * distance):
                for low in range(start, min(start + distance, len(values) - distance)):
                    high = low + distance
                    if low // (2 * merged) == high // (2 * merged):
                        a, b = values[low], values[high]
                        values[low], values[high] = fw.minimum(a, b), fw.maximum(a, b)
            distance //= 2
        merged *= 2
    return values[12]


def window_in_network(picture: Any) -> Any:
    """The same by hand."""
    return fw.stencil(lambda n: network_of([n[at] for at in WINDOW]), picture, (5, 5))


def picture_of(dtype: Any) -> Callable[[int], Arrays]:
    """A square of values up to 200."""

    def inputs(n: int) -> Arrays:
        side = max(int(n**0.5), 8)
        return ((np.random.default_rng(5).random((side, side)) * 200).astype(dtype),)

    return inputs


# -- the first comma of each row ------------------------------------------------------------------


def first_by_nonzero(rows: Any) -> Any:
    """Where it is in the row; -1 in a row without one."""

    def first(row: Any) -> Any:
        places = fw.flatnonzero(row == COMMA)
        return fw.cond(places.shape[0] > 0, lambda: places[0], lambda: -1)

    return fw.map(first, rows)


def flat_filter(rows: Any) -> Any:
    """All commas of all rows: where they are is not said by row."""
    return fw.flatnonzero(rows.values == COMMA)


def lines(n: int) -> Arrays:
    """Rows of 5 to 59 bytes."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(5, 60, max(n // 32, 1))
    return (fw.ragged(rng.integers(32, 127, lengths.sum(), np.uint8), lengths=lengths),)


# -- what a filter keeps of each row --------------------------------------------------------------


def kept_of_rows(rows: Any) -> Any:
    """The small elements of each row."""
    return fw.map(lambda row: fw.filter(lambda v: v < BELOW, row), rows)


def kept_of_all(rows: Any) -> Any:
    """Those of all rows: how many there are in each is not said."""
    return fw.filter(lambda v: v < BELOW, rows.values)


def commas_of_rows(rows: Any) -> Any:
    """Where they are in each row."""
    return fw.map(lambda row: fw.flatnonzero(row == COMMA), rows)


def rows_of(dtype: Any) -> Callable[[int], Arrays]:
    """The same rows, of numbers."""

    def inputs(n: int) -> Arrays:
        (rows,) = lines(n)
        return (fw.ragged(np.asarray(rows.values).astype(dtype), offsets=rows.offsets),)

    return inputs


# -- the greatest of eight, and where -------------------------------------------------------------


def products(x: Any, i: Any) -> Any:
    """Eight values for each element."""
    return fw.generate(8, lambda k: x[i + k] * x[i])


def greatest_and_place(x: Any) -> Any:
    """Pairs of a value and its index."""

    def one(i: Any) -> Any:
        pairs = (products(x, i), fw.iota(8, fw.i32))
        first = (np.float32(-1), np.int32(0))
        return fw.reduce(lambda a, b: fw.where(a[0] >= b[0], a, b), first, pairs)[1]

    return fw.generate(x.shape[0] - 8, one)


def greatest(x: Any) -> Any:
    """The value alone."""
    return fw.generate(
        x.shape[0] - 8, lambda i: fw.reduce(fw.maximum, np.float32(-1), products(x, i))
    )


def numbers(n: int) -> Arrays:
    """From 0 to 1."""
    return (np.random.default_rng(8).random(n + 9).astype(np.float32),)


# -- Jacobi steps ---------------------------------------------------------------------------------


def average(b: Any) -> Any:
    """Of four neighbours, where there are four."""
    return (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:]) * 0.25


def steps_by_at(b: Any) -> Any:
    """The inner part set anew."""
    return fw.fori_loop(0, STEPS, lambda i, b: b.at[1:-1, 1:-1].set(average(b)), b)


def steps_by_concat(b: Any) -> Any:
    """The inner part with its four edges."""

    def step(i: Any, b: Any) -> Any:
        middle = fw.concat([b[1:-1, :1], average(b), b[1:-1, -1:]], axis=1)
        return fw.concat([b[:1], middle, b[-1:]])

    return fw.fori_loop(0, STEPS, step, b)


def pair(
    name: str, title: str, size: int, programs: tuple[Any, Any], inputs: Callable[[int], Arrays],
    fast: str, is_same: bool = True,
) -> Row:  # fmt: skip
    """One program next to its fast form."""
    program, other = programs
    return Row(f"pair_{name}", title, size, 1 << 14, program, inputs, (Faster(ALIKE, fast),),
               written(fast, other, is_same))  # fmt: skip


ROWS = [
    *(pair(f"median_{np.dtype(dtype).name}",
           f"5 x 5 median, 1,024 x 1,024 {np.dtype(dtype).name}", 1 << 20,
           (sorted_window, window_in_network), picture_of(dtype), "network by hand")
      for dtype in (np.uint8, np.int16, np.float32)),
    pair("first_in_row", "first index of a byte in each row, 2^22 bytes", 1 << 22,
         (first_by_nonzero, flat_filter), lines, "flat filter", is_same=False),
    *(pair(f"filter_of_rows_{np.dtype(dtype).name}",
           f"filter of rows of 5 to 59 {np.dtype(dtype).name}, 2^22 elements", 1 << 22,
           (kept_of_rows, kept_of_all), rows_of(dtype), "flat filter", is_same=False)
      for dtype in (np.uint8, np.float32)),
    pair("nonzero_of_rows", "flatnonzero of rows of 5 to 59 bytes, 2^22 bytes", 1 << 22,
         (commas_of_rows, flat_filter), lines, "flat filter", is_same=False),
    pair("greatest_and_place", "value and index of the greatest of 8, 2^22 times", 1 << 22,
         (greatest_and_place, greatest), numbers, "value alone", is_same=False),
    pair("jacobi_at", "20 Jacobi steps by at[..].set, 512 x 512 f32", 1 << 18,
         (steps_by_at, steps_by_concat), picture_of(np.float32), "concat"),
]  # fmt: skip
