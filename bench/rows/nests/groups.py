"""Groups: statistics of values by their keys, closest pairs within rows, quicksort as a nest."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from nests import divide, groups

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

MEAN = 100  # values in a group


def keyed(n: int) -> Arrays:
    """Random values with random keys, and how many keys there are."""
    draw, number = np.random.default_rng(44), max(n // MEAN, 1)
    return draw.integers(0, number, n), draw.random(n), number


def statistics(keys: Any, values: Any, number: Any) -> Any:
    """Size, mean, median and three greatest values."""
    return groups.statistics(keys, values, number, 3)


def statistics_peers(tools: Tools, keys: Any, values: Any, number: int) -> dict[str, Call]:
    """NumPy sorts by key and value; then everything is gathered."""
    return {"numpy": partial(in_numpy, keys, values, number)}


def in_numpy(keys: Any, values: Any, number: int) -> Any:
    """Groups without values are not foreseen, but for their greatest."""
    order = np.lexsort((values, keys))
    ordered, sizes = values[order], np.bincount(keys, minlength=number)
    ends = np.cumsum(sizes)
    begins, filled = ends - sizes, sizes > 0
    means = np.full(number, np.nan)
    medians = means.copy()
    means[filled] = np.add.reduceat(ordered, begins[filled]) / sizes[filled]
    middle = (begins + (sizes - 1) // 2)[filled], (begins + sizes // 2)[filled]
    medians[filled] = (ordered[middle[0]] + ordered[middle[1]]) / 2
    kept = np.minimum(sizes, 3)
    offsets = np.concatenate([[0], np.cumsum(kept)])
    back = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
    return sizes, means, medians, ordered[np.repeat(ends, kept) - 1 - back], offsets


def rows(n: int) -> Arrays:
    """Rows of none to sixty values."""
    draw = np.random.default_rng(45)
    lengths = draw.integers(0, 61, n)
    return (fw.ragged(draw.random(lengths.sum()), lengths=lengths),)


def closest_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """Numba, a row at a time on all cores."""
    if (numba := tools.numba) is None:
        return {}

    @numba.njit(parallel=True, fastmath={"contract", "reassoc"})
    def loop(values, offsets):
        out = np.empty(len(offsets) - 1)
        for row in numba.prange(len(out)):
            least = np.inf
            for i in range(offsets[row], offsets[row + 1]):
                for j in range(i + 1, offsets[row + 1]):
                    least = min(least, abs(values[i] - values[j]))
            out[row] = least
        return out

    values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
    return {"numba": lambda: loop(values, offsets)}


def numbers(n: int) -> Arrays:
    """In any order."""
    return (np.random.default_rng(46).random(n),)


def sort_peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """Its own sort."""
    return {"numpy": lambda: np.sort(xs)}


ROWS = [
    Row("nest_statistics", "statistics of 10^5 groups, 10^7 values f64", 10**7, 10**6, statistics,
        keyed, (Faster(3, "numpy"),), statistics_peers, tolerance=1e-9),
    Row("nest_closest", "closest pair in each of 10^5 rows, mean 30, f64", 10**5, 10**4,
        groups.closest.__wrapped__, rows, (Faster(1, "numba"),), closest_peers),
    Row("nest_quicksort", "quicksort as a nest, 10^6 f64", 10**6, 10**5,
        divide.quicksort.__wrapped__, numbers, (), sort_peers),
]  # fmt: skip
