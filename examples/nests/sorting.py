"""Rows put in order: all of each row, what is left of it summed up, its greatest values.

    python examples/nests sorting

A row is sorted as an array is, `fw.map(fw.sort, rows)`, whether all have one length or not. The
radix sort is written out: a step partitions a row by one bit (Marslev and Grønborg 2024, 8.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


def parted(is_first: Callable[[Any], Any], row: Any) -> Any:
    """The elements for which `is_first` holds, then the others, each in their order."""
    ones = fw.map(lambda x: is_first(x).astype(fw.i64), row)
    first, number = fw.cumsum(ones), fw.sum(ones)
    others = number + fw.cumsum(1 - ones)
    places = fw.map(lambda one, a, b: fw.where(one == 1, a, b) - 1, ones, first, others)
    return fw.scatter(row, places, row)


def radix_sort(row: Any) -> Any:
    """Unsigned numbers in order, bit by bit from the lowest."""

    def turn(bit: Any, row: Any) -> Any:
        mask = fw.astype(1 << bit, row.dtype)
        return parted(lambda x: (x & mask) == 0, row)

    return fw.fori_loop(0, 8 * np.dtype(row.dtype).itemsize, turn, row)


@fw.jit
def radix_sorted(rows: Any) -> Any:
    """Every row in order."""
    return fw.map(radix_sort, rows)


@fw.jit
def running_sums(rows: Any) -> Any:
    """Of every row, in order, the running sum of what is positive."""
    return fw.map(lambda row: fw.cumsum(fw.filter(lambda x: x > 0, fw.sort(row))), rows)


@fw.jit
def greatest(rows: Any, k: Any) -> Any:
    """The k greatest values of every row, in order; of a shorter row all."""
    return fw.map(lambda row: fw.sort(row, descending=True)[:k], rows)


def numpy_running_sums(rows: fw.Ragged) -> list[np.ndarray]:
    """The same in NumPy, row by row."""
    ordered = (np.sort(np.asarray(row)) for row in rows)
    return [np.cumsum(row[row > 0]) for row in ordered]


def numpy_greatest(rows: np.ndarray, k: int) -> np.ndarray:
    """The same in NumPy, of rows of one length."""
    return -np.sort(np.partition(-rows, k - 1, axis=1)[:, :k], axis=1)


def ragged_rows(number: int, mean: int) -> fw.Ragged:
    """Rows of normally distributed values, from none to twice the mean."""
    draw = np.random.default_rng(10)
    lengths = draw.integers(0, 2 * mean + 1, number)
    return fw.ragged(draw.standard_normal(lengths.sum()), lengths=lengths)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    size = 10 if quick else 1000
    bits = np.random.default_rng(9).integers(0, 2**32, (size, 256), np.uint32)
    yield (
        "radix sort of rows",
        f"{size:,} rows of 256, u32",
        lambda: radix_sorted(bits),
        lambda: np.sort(bits, axis=1),
        np.array_equal,
    )
    rows = ragged_rows(10 * size, 10)
    yield (
        "sort, filter, scan of rows",
        f"{len(rows):,} rows, mean length 10",
        lambda: running_sums(rows),
        lambda: numpy_running_sums(rows),
        lambda ours, numpys: all(map(np.allclose, ours, numpys)),
    )
    matrix = np.random.default_rng(11).standard_normal((10 * size, 100), np.float32)
    yield (
        "greatest 8 of rows",
        f"{len(matrix):,} rows of 100, f32",
        lambda: greatest(matrix, 8),
        lambda: numpy_greatest(matrix, 8),
        lambda ours, numpys: np.array_equal([np.asarray(row) for row in ours], numpys),
    )
