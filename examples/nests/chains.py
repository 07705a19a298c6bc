"""Chains of array operations inside a map: all operations of a row are one pass over all rows.

    python examples/nests chains

These are the programs that Marslev and Grønborg (2024, appendices C and F) measure their compiler
with. A row's operations are fused as those of an array are: nothing between them is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


def each(row_of: Callable[..., Any]) -> Callable[..., Any]:
    """A function of rows from one of a row; `shared` arrays are the same for all rows."""
    return fw.jit(lambda rows, *shared: fw.map(lambda row: row_of(row, *shared), rows))


map_simple = each(lambda row: row + 2)
reduce_simple = each(lambda row: fw.sum(row))
scan_simple = each(lambda row: fw.cumsum(row))

# of two values, one of which is the same in all rows
reduce_of_products = each(lambda row, weights: fw.sum(row * weights))
scan_of_products = each(lambda row, weights: fw.cumsum(row * weights))

# two results of one row
reduce_twice = each(lambda row: (fw.sum(row), fw.max(row, initial=-1)))
scan_and_sum = each(lambda row: (fw.cumsum(row), fw.sum(row)))


@fw.jit
def scatter_rows(rows: Any, places: Any, values: Any) -> Any:
    """Each row with its values written at its indices."""
    return fw.map(fw.scatter, rows, places, values)


@each
def chain_of_scans(row: Any) -> Any:
    """A scan of a scan, each followed by a map."""
    first = fw.scan(fw.add, 0, row * 2)
    return fw.scan(fw.maximum, 0, first - row) + 1


@each
def chain_to_sum(row: Any) -> Any:
    """Two maps, a scan, a map, a sum."""
    return fw.sum(fw.cumsum((row + 1) * 2) * row)


@each
def used_twice(row: Any, weights: Any) -> Any:
    """A sum of the row is used for each of its elements, and each in a scan."""
    total = fw.sum(row * weights)
    return fw.cumsum(row + total)


CHAINS = {
    "map": (map_simple, lambda rows: rows + 2),
    "sum": (reduce_simple, lambda rows: rows.sum(axis=1)),
    "scan": (scan_simple, lambda rows: rows.cumsum(axis=1)),
    "scan of scan": (
        chain_of_scans,
        lambda rows: np.maximum.accumulate(
            np.maximum((2 * rows).cumsum(axis=1) - rows, 0), axis=1
        ) + 1,
    ),
    "scan, then sum": (
        chain_to_sum, lambda rows: ((2 * (rows + 1)).cumsum(axis=1) * rows).sum(axis=1),
    ),
}  # fmt: skip
WEIGHTED = {
    "sum of products": (reduce_of_products, lambda rows, w: (rows * w).sum(axis=1)),
    "scan of products": (scan_of_products, lambda rows, w: (rows * w).cumsum(axis=1)),
    "sum used by a scan": (
        used_twice, lambda rows, w: (rows + (rows * w).sum(axis=1)[:, None]).cumsum(axis=1),
    ),
}  # fmt: skip


def matrix(rows: int, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of whole numbers, and one more row."""
    draw = np.random.default_rng(16)
    return draw.integers(-9, 10, (rows, extent)), draw.integers(-9, 10, extent)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    count = 100 if quick else 10_000
    rows, weights = matrix(count, 1024)
    said = f"{count:,} rows of 1,024, i64"
    for name, (ours, numpys) in CHAINS.items():
        yield (name, said, lambda f=ours: f(rows), lambda f=numpys: f(rows), np.array_equal)
    for name, (ours, numpys) in WEIGHTED.items():
        yield (name, said, lambda f=ours: f(rows, weights), lambda f=numpys: f(rows, weights),
               np.array_equal)  # fmt: skip
