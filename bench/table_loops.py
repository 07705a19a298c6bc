"""The loops that one writes by hand with Numba, next to `bench.table_rows`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import numba
except ImportError:  # the rows leave it out
    numba = None


def compiled(parallel: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Numba's decorator; the function itself where Numba is not installed."""
    if numba is None:
        return lambda function: function
    return numba.njit(parallel=parallel, cache=False)  # type: ignore[no-any-return]


prange = range if numba is None else numba.prange


@compiled()
def by_index(keys: Any, x: Any, count: int) -> Any:
    """Values group by group, and where each begins: a counting sort."""
    offsets = np.zeros(count + 1, np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for g in range(count):
        offsets[g + 1] += offsets[g]
    at, found = offsets.copy(), np.empty_like(x)
    for i in range(len(x)):
        found[at[keys[i]]] = x[i]
        at[keys[i]] += 1
    return found, offsets


@compiled(parallel=True)
def trimmed(x: Any, offsets: Any) -> Any:
    """The mean of each row without the least and the greatest tenth."""
    found = np.empty(len(offsets) - 1)
    for g in prange(len(found)):
        row = np.sort(x[offsets[g] : offsets[g + 1]])
        cut = len(row) // 10
        found[g] = row[cut : len(row) - cut].mean()
    return found


@compiled(parallel=True)
def drawdown(x: Any, offsets: Any) -> Any:
    """The deepest fall of each row from a peak."""
    found = np.empty(len(offsets) - 1)
    for g in prange(len(found)):
        peak, deepest = -np.inf, 0.0
        for i in range(offsets[g], offsets[g + 1]):
            peak = max(peak, x[i])
            deepest = max(deepest, peak - x[i])
        found[g] = deepest
    return found


def by_group(name: str, keys: Any, x: Any, count: int) -> Any:
    """One of the functions above for each group of keys below `count`, which all occur."""
    rows, offsets = by_index(keys, x, count)
    return np.arange(count), {"trimmed": trimmed, "drawdown": drawdown}[name](rows, offsets)


@compiled()
def asof(left: Any, right: Any) -> Any:
    """The merge of two ascending arrays."""
    found, j = np.empty(len(left), np.int64), 0
    for i in range(len(left)):
        while j < len(right) and right[j] <= left[i]:
            j += 1
        found[i] = j - 1
    return found


@compiled(parallel=True)
def masses(offsets: Any, pt: Any, eta: Any, phi: Any) -> Any:
    """The mass of every pair of a row."""
    n = len(offsets) - 1
    ends = np.zeros(n + 1, np.int64)
    for e in range(n):
        count = offsets[e + 1] - offsets[e]
        ends[e + 1] = ends[e] + count * (count - 1) // 2
    found = np.empty(ends[n])
    for e in prange(n):
        at = ends[e]
        for i in range(offsets[e], offsets[e + 1]):
            for j in range(i + 1, offsets[e + 1]):
                shape = math.cosh(eta[i] - eta[j]) - math.cos(phi[i] - phi[j])
                found[at] = math.sqrt(2 * pt[i] * pt[j] * shape)
                at += 1
    return found


@compiled()
def average(x: Any) -> Any:
    """An exponential average."""
    found, mean = np.empty_like(x), 0.0
    for i in range(len(x)):
        mean = 0.9 * mean + 0.1 * x[i]
        found[i] = mean
    return found


@compiled(parallel=True)
def averages(x: Any, count: int, length: int) -> Any:
    """Those of series of one length."""
    found = np.empty_like(x)
    for s in prange(count):
        mean = 0.0
        for i in range(s * length, (s + 1) * length):
            mean = 0.9 * mean + 0.1 * x[i]
            found[i] = mean
    return found


@compiled()
def crooked(x: Any) -> Any:
    """A recurrence that has no parallel form."""
    found, c = np.empty_like(x), 0.0
    for i in range(len(x)):
        c = math.sqrt(c * c * 0.5 + x[i])
        found[i] = c
    return found


@compiled()
def log_lines(text: Any) -> Any:
    """The second of the day, the status and the size of each line of a web server's log."""
    count = 0
    for byte in text:
        count += byte == 10
    found = np.empty((3, count), np.int64)
    i = 0
    for line in range(count):
        while text[i] != 91:  # [
            i += 1
        while text[i] != 58:  # :
            i += 1
        second = 0
        for k in (1, 4, 7):
            second = second * 60 + (text[i + k] - 48) * 10 + text[i + k + 1] - 48
        for _ in range(2):
            while text[i] != 34:  # "
                i += 1
            i += 1
        i += 1
        status = size = 0
        while text[i] != 32:
            status = status * 10 + text[i] - 48
            i += 1
        i += 1
        while text[i] != 10:
            if text[i] != 45:  # -
                size = size * 10 + text[i] - 48
            i += 1
        i += 1
        found[0, line], found[1, line], found[2, line] = second, status, size
    return found[0], found[1], found[2]
