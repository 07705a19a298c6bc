"""Groups: values gathered by their keys are rows of a Ragged, and what is asked of one is a nest.

    python examples/nests groups

Means alone need no order; medians, greatest values and pairs within a group do need the group as
an array. A group may be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


def grouped(keys: Any, values: Any, number: Any) -> Any:
    """The values of each of `number` keys, 0, 1, .., in their order."""
    return fw.ragged(fw.sort_by_key(keys, values)[1], lengths=fw.histogram(number, keys))


def median(values: Any) -> Any:
    """The middle of some values, NaN of none."""
    n, ordered = values.shape[0], fw.sort(values)
    return fw.cond(
        n > 0, lambda: (ordered[(n - 1) // 2] + ordered[n // 2]) / 2, lambda: fw.f64(np.nan)
    )


@fw.jit
def statistics(keys: Any, values: Any, number: Any, k: Any) -> Any:
    """Of each group its size, mean, median and k greatest values."""

    def of_one(group: Any) -> Any:
        greatest = fw.sort(group, descending=True)[:k]
        return group.shape[0], fw.mean(group), median(group), greatest

    return fw.map(of_one, grouped(keys, values, number))


@fw.jit
def differences(groups: Any) -> Any:
    """In each group how far every value is from every other one: a matrix for each group."""
    return fw.map(
        lambda group: fw.map(lambda x: fw.map(lambda y: fw.abs(x - y), group), group), groups
    )


@fw.jit
def closest(groups: Any) -> Any:
    """In each group the least difference of two values; infinity where there are no two."""

    def of_one(group: Any) -> Any:
        n = group.shape[0]

        def to_later(i: Any) -> Any:
            later = fw.map(lambda j: fw.abs(group[i] - group[i + 1 + j]), fw.iota(n - 1 - i))
            return fw.min(later, initial=fw.inf)

        return fw.min(fw.map(to_later, fw.iota(n)), initial=fw.inf)

    return fw.map(of_one, groups)


def numpy_statistics(keys: np.ndarray, values: np.ndarray, number: int, k: int) -> list[tuple]:
    """The same in NumPy, group by group."""
    order = np.argsort(keys, kind="stable")
    cuts = np.searchsorted(keys[order], np.arange(1, number))
    none = (0, np.nan, np.nan, [])
    return [
        (len(g), np.mean(g), np.median(g), np.sort(g)[::-1][:k].tolist()) if len(g) else none
        for g in np.split(values[order], cuts)
    ]


def plain_closest(group: list[float]) -> float:
    """The least of all differences."""
    pairs = ((x, y) for i, x in enumerate(group) for y in group[i + 1 :])
    return min((abs(x - y) for x, y in pairs), default=np.inf)


def is_close(ours: Any, numpys: list[tuple]) -> bool:
    """Whether the same was found of every group."""
    *numbers, greatest = ours
    found = np.stack([np.asarray(column, np.float64) for column in numbers], axis=1)
    expected = np.array([row[:3] for row in numpys], np.float64).reshape(-1, 3)
    same = greatest.tolist() == [row[3] for row in numpys]
    return same and np.allclose(found, expected, equal_nan=True)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    size, draw = 1000 if quick else 1_000_000, np.random.default_rng(18)
    number = size // 50
    keys, values = np.minimum(draw.zipf(1.2, size), number) - 1, draw.random(size)
    yield (
        "statistics of groups",
        f"{size:,} values in {number:,} groups",
        lambda: statistics(keys, values, number, 3),
        lambda: numpy_statistics(keys, values, number, 3),
        is_close,
    )
    lengths = draw.integers(0, 40, number // 10)
    groups = fw.ragged(draw.random(lengths.sum()), lengths=lengths)
    yield (
        "closest pairs",
        f"of {len(groups):,} groups",
        lambda: closest(groups),
        lambda: [plain_closest(group) for group in groups.tolist()],
        np.array_equal,
    )
