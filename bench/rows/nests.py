"""Nests: work on rows that needs memory in each row, which is done for all rows at once.

Sorts of matrix rows and ragged rows, what is left of sorted rows summed up, softmax, the greatest
eight of each row, and a loop for each element that takes its own number of turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

WIDTH = 1024


def sorted_rows(rows: Any) -> Any:
    """Each row in order."""
    return fw.map(fw.sort, rows)


def matrix(n: int) -> Arrays:
    """Rows of random bits."""
    bits = np.random.default_rng(31).integers(0, 2**32, max(n // WIDTH, 2) * WIDTH, np.uint32)
    return (bits.reshape(-1, WIDTH),)


def of_mean(mean: int) -> Any:
    """Normally distributed values in rows of a mean length, the shortest empty."""

    def inputs(n: int) -> Arrays:
        random = np.random.default_rng(32)
        lengths = random.integers(0, 2 * mean + 1, max(n // mean, 3))
        values = random.standard_normal(int(lengths.sum())).astype(np.float32)
        return (fw.ragged(values, lengths=lengths),)

    return inputs


def by_zipf(n: int) -> Arrays:
    """Normally distributed values in rows by Zipf's law."""
    random = np.random.default_rng(33)
    lengths = np.minimum(random.zipf(1.5, max(n // 30, 3)), n // 4 + 1)
    values = random.standard_normal(int(lengths.sum())).astype(np.float32)
    return (fw.ragged(values, lengths=lengths),)


def running_sums(rows: Any) -> Any:
    """Of each row, in order, the running sum of what is positive."""
    return fw.map(lambda row: fw.cumsum(fw.filter(lambda x: x > 0, fw.sort(row))), rows)


def softmax(rows: Any) -> Any:
    """Of each row."""

    def one(row: Any) -> Any:
        raised = fw.exp(row - fw.max(row, initial=-np.inf))
        return raised / fw.sum(raised)

    return fw.map(one, rows)


def top_8(rows: Any) -> Any:
    """The greatest eight values of each row, in order."""
    return fw.map(lambda row: fw.sort(row, descending=True)[:8], rows)


def hundreds(n: int) -> Arrays:
    """Rows of 100 values."""
    return (np.random.default_rng(34).standard_normal((n // 100, 100), np.float32),)


def collatz(numbers: Any) -> Any:
    """How many steps each number takes to 1."""

    def step(state: Any) -> Any:
        n, steps = state
        return fw.where(n % 2 == 0, n >> 1, 3 * n + 1), steps + 1

    def steps_of(n: Any) -> Any:
        return fw.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    return fw.map(steps_of, numbers)


def first_numbers(n: int) -> Arrays:
    """1 to n."""
    return (np.arange(1, n + 1),)


def by_numpy(rows: Any, out: Any) -> Call:
    """NumPy's sort along an axis, of a copy in memory that is there already."""

    def in_place() -> Any:
        out[:] = rows
        out.sort(axis=1)
        return out

    return in_place


def matrix_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy along the axis."""
    return {"numpy": by_numpy(rows, np.zeros_like(rows))}


def top_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy's partition, then a sort of what is left."""
    return {"numpy": lambda: -np.sort(np.partition(-rows, 7, axis=1)[:, :8], axis=1)}


def row_peers(body: str) -> Any:
    """A parallel loop of Numba over the rows of a Ragged; `body` works on one row."""

    def peers(tools: Tools, rows: Any) -> dict[str, Call]:
        if (numba := tools.numba) is None:
            return {}
        values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
        work = numba.njit(parallel=True, fastmath=True)(BODIES[body](numba))
        return {"numba": lambda: work(values, offsets)}

    return peers


def _each(one: Any) -> Any:
    """Rows that a function gives, as long as they were."""

    def body(numba: Any) -> Any:
        prange, row = numba.prange, numba.njit(fastmath=True)(one)

        def work(values: Any, offsets: Any) -> Any:
            out = np.empty_like(values)
            for i in prange(len(offsets) - 1):
                out[offsets[i]:offsets[i + 1]] = row(values[offsets[i]:offsets[i + 1]])
            return out, offsets

        return work

    return body


def _running(numba: Any) -> Any:
    prange = numba.prange

    def work(values: Any, offsets: Any) -> Any:
        rows = len(offsets) - 1
        ends = np.zeros(rows + 1, np.int64)
        for i in prange(rows):
            ends[i + 1] = np.sum(values[offsets[i]:offsets[i + 1]] > 0)
        ends = np.cumsum(ends)
        out = np.empty(ends[-1], values.dtype)
        for i in prange(rows):
            row = np.sort(values[offsets[i]:offsets[i + 1]])
            total, at = values.dtype.type(0), ends[i]
            for x in row:
                if x > 0:
                    total += x
                    out[at] = total
                    at += 1
        return out, ends

    return work


def _sorted(row: Any) -> Any:
    return np.sort(row)


def _softmax(row: Any) -> Any:
    if len(row) == 0:
        return row
    raised = np.exp(row - np.max(row))
    return raised / np.sum(raised)


BODIES = {"sort": _each(_sorted), "running": _running, "softmax": _each(_softmax)}


def collatz_peers(tools: Tools, numbers: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the numbers."""
    if (numba := tools.numba) is None:
        return {}
    prange = numba.prange

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def work(numbers: Any) -> Any:
        out = np.empty_like(numbers)
        for i in prange(len(numbers)):
            n, steps = numbers[i], 0
            while n != 1:
                n = n >> 1 if n % 2 == 0 else 3 * n + 1
                steps += 1
            out[i] = steps
        return out

    return {"numba": lambda: work(numbers)}


def _row(name: str, title: str, size: int, *rest: Any, tolerance: float = 0.0) -> Row:
    return Row(name, title, size, size // 16, *rest, tolerance=tolerance)


ROWS = [
    _row("nest_sort_rows", "sort of rows of 1,024 u32, 2^24", 1 << 24, sorted_rows, matrix,
         (Faster(2, "numpy"),), matrix_peers),
    _row("nest_sort_ragged", "sort of ragged rows f32 2^24, mean 30", 1 << 24, sorted_rows,
         of_mean(30), (Faster(3, "numba"),), row_peers("sort")),
    _row("nest_running", "sorted, positive, running sum, mean 10, 10^7", 10**7, running_sums,
         of_mean(10), (Faster(3, "numba"),), row_peers("running"), tolerance=1e-4),
    _row("nest_softmax", "softmax of ragged rows f32 2^24, Zipf", 1 << 24, softmax, by_zipf,
         (Faster(3, "numba"),), row_peers("softmax"), tolerance=1e-4),
    _row("nest_top_8", "greatest 8 of rows of 100 f32, 10^5 rows", 10**7, top_8, hundreds,
         (Faster(2, "numpy"),), top_peers),
    _row("nest_collatz", "steps of Collatz, 1 to 2^24, i64", 1 << 24, collatz, first_numbers,
         (Faster(1.5, "numba"),), collatz_peers),
]  # fmt: skip
