"""Rows put in order: rows of a matrix, ragged rows, and what is done with them afterwards."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from nests import sorting

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.rows.nests.peers import rows_in_numba
from bench.tools import Tools


def sorted_rows(rows: Any) -> Any:
    """Each row in order."""
    return fw.map(fw.sort, rows)


def matrix(n: int, width: int) -> Arrays:
    """Rows of random bits."""
    bits = np.random.default_rng(31).integers(0, 2**32, max(n // width, 2) * width, np.uint32)
    return (bits.reshape(-1, width),)


def of_mean(n: int, mean: int) -> Arrays:
    """Normally distributed values in rows of a mean length, the shortest empty."""
    random = np.random.default_rng(32)
    lengths = random.integers(0, 2 * mean + 1, max(n // mean, 3))
    values = random.standard_normal(int(lengths.sum())).astype(np.float32)
    return (fw.ragged(values, lengths=lengths),)


def top_8(rows: Any) -> Any:
    """The greatest eight values of each row, in order."""
    return fw.map(lambda row: fw.sort(row, descending=True)[:8], rows)


def hundreds(n: int) -> Arrays:
    """Rows of 100 values."""
    return (np.random.default_rng(34).standard_normal((n // 100, 100), np.float32),)


def matrix_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy along the axis, in a copy in memory that is there already."""
    out = np.zeros_like(rows)

    def in_place() -> Any:
        out[:] = rows
        out.sort(axis=1)
        return out

    return {"numpy": in_place}


def top_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy's partition, then a sort of what is left."""
    return {"numpy": lambda: sorting.numpy_greatest(rows, 8)}


def ragged_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the rows."""
    if tools.numba is None:
        return {}
    values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
    loop = rows_in_numba(tools.numba, lambda row: np.sort(row))
    return {"numba": lambda: loop(values, offsets)}


def running_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the rows; NumPy and Awkward, which has no running sums."""
    values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
    found: dict[str, Call] = {"numpy": lambda: by_hand(values, offsets)}
    if tools.numba:
        loop = numba_running(tools.numba)
        found["numba"] = lambda: loop(values, offsets)
    if awkward := tools.awkward:
        array = awkward.unflatten(values, np.diff(offsets))
        found["awkward"] = lambda: in_awkward(awkward, array)
    return found


def by_hand(values: Any, offsets: Any) -> Any:
    """Values sorted by their rows' numbers; sums of everything, less what came before each row."""
    row_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ordered = values[np.lexsort((values, row_of))]
    kept = ordered > 0
    return prefixes(ordered[kept], np.bincount(row_of[kept], minlength=len(offsets) - 1))


def prefixes(kept: Any, lengths: Any) -> Any:
    """The running sums of rows, and their offsets."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    sums = np.concatenate([[0], np.cumsum(kept, dtype=np.float64)])
    return (sums[1:] - np.repeat(sums[offsets[:-1]], lengths)).astype(np.float32), offsets


def in_awkward(awkward: Any, array: Any) -> Any:
    """The same, but the sorting and the choosing."""
    ordered = awkward.sort(array, axis=1)
    kept = ordered[ordered > 0]
    lengths = awkward.to_numpy(awkward.num(kept))
    return prefixes(awkward.to_numpy(awkward.flatten(kept)), lengths)


def numba_running(numba: Any) -> Any:
    """All cores, a row at a time: how many are kept, then the sums."""

    @numba.njit(parallel=True)
    def loop(values, offsets):
        rows = len(offsets) - 1
        ends = np.zeros(rows + 1, np.int64)
        for i in numba.prange(rows):
            ends[i + 1] = np.sum(values[offsets[i] : offsets[i + 1]] > 0)
        ends = np.cumsum(ends)
        out = np.empty(ends[-1], values.dtype)
        for i in numba.prange(rows):
            row = np.sort(values[offsets[i] : offsets[i + 1]])
            total, at = np.float32(0), ends[i]
            for x in row:
                if x > 0:
                    total += x
                    out[at] = total
                    at += 1
        return out, ends

    return loop


ROWS = [
    *(Row(f"nest_sort_{width}", f"sort of rows of {width:,} u32, 2^24", 1 << 24, 1 << 20,
          sorted_rows, partial(matrix, width=width), (Faster(2, "numpy"),), matrix_peers)
      for width in (128, 512, 1024, 2048)),
    Row("nest_radix", "the same by bits, written out, of 1,024, 2^22", 1 << 22, 1 << 18,
        sorting.radix_sorted.__wrapped__, partial(matrix, width=1024), (), matrix_peers),
    Row("nest_sort_ragged", "sort of ragged rows f32 2^24, mean 30", 1 << 24, 1 << 20,
        sorted_rows, partial(of_mean, mean=30), (Faster(3, "numba"),), ragged_peers),
    Row("nest_running", "sorted, positive, running sum, mean 10, 10^7", 10**7, 10**6,
        sorting.running_sums.__wrapped__, partial(of_mean, mean=10),
        (Faster(3, "numba"),), running_peers, tolerance=1e-4),
    Row("nest_top_8", "greatest 8 of rows of 100 f32, 10^5 rows", 10**7, 10**6, top_8, hundreds,
        (Faster(2, "numpy"),), top_peers),
]  # fmt: skip
