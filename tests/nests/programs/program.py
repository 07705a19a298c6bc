"""Nests written by hand, each with its meaning in plain Python, and the arguments they share.

    nest("sort: rows", lambda a: fw.map(fw.sort, a), lambda a: [sorted(r) for r in a], A)

The meaning takes the arguments as lists (`.tolist()`) and gives lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatweave as fw


@dataclass(frozen=True)
class Program:
    """A function, what it means for lists, and its arguments."""

    name: str
    function: Callable[..., Any]
    meaning: Callable[..., Any]
    args: tuple[Any, ...]

    def expected(self) -> Any:
        """What the function should give, as lists."""
        return self.meaning(*(arg.tolist() for arg in self.args))

    def found(self, target: str) -> Any:
        """What it gives, as lists."""
        result = fw.jit(self.function, target=target)(*self.args)
        return tuple(x.tolist() for x in result) if isinstance(result, tuple) else result.tolist()


class Programs(list[Program]):
    """The programs of one topic, in order."""

    def __call__(
        self, name: str, function: Callable[..., Any], meaning: Callable[..., Any], *args: Any
    ) -> None:
        self.append(Program(name, function, meaning, args))


# four rows each, so that any can be mapped together
A = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9], [3, 2, 3, 8, 4]])
B = np.array([[0, -2, 7, 7, 1], [1, 0, 0, 3, -4], [2, 2, 2, 2, 2], [-1, 5, 0, 4, 8]])
ORDERS = np.array([[2, 0, 1, 4, 3], [4, 3, 2, 1, 0], [0, 1, 2, 3, 4], [1, 4, 0, 3, 2]])
PLACES = np.array([[2, 0, 9, 4, -1], [0, 1, 7, 3, 4], [-5, 5, 1, 2, 0], [4, 3, 2, 1, 0]])
SMALL = np.array([[0, 1, 1, 2, 0], [2, 2, 2, 2, 2], [0, 0, 1, 1, 1], [2, 1, 0, 2, 1]])
ROWS = fw.ragged([[3, 1, 2], [], [5, 4], [1]])
OTHERS = fw.ragged([[0, 1, 0], [], [2, 0], [1]])  # as long as those of ROWS
LONGER = fw.ragged([[1, 5], [7, 7, 1, 0], [], [2, 9, 4]])
DEEP = fw.ragged([[[3, 1], [], [4, 1, 5]], [], [[9]], [[], [2, 6]]])
CUBE = np.arange(24).reshape(4, 3, 2) * 7 % 11
NUMBERS = np.array([2, 0, 3, 1])
TABLE = np.array([10, -3, 8, 0, 5, 2])
HALVES = np.array([[0.5, -1.0, 2.0], [3.5, 0.0, 0.0], [-2.0, -2.5, 1.0], [4.0, 8.0, 0.25]])
BYTES = np.array([[200, 100, 7, 255, 3], [1, 2, 3, 4, 5], [0, 0, 255, 1, 0], [9, 90, 250, 6, 60]],
                 np.uint8)  # fmt: skip


# -- for meanings ----------------------------------------------------------------------------------


def scattered(dest: list[Any], idx: list[int], vals: list[Any]) -> list[Any]:
    found = list(dest)
    for i, value in zip(idx, vals, strict=True):
        if 0 <= i < len(found):
            found[i] = value
    return found


def combined(
    op: Callable[[Any, Any], Any], dest: list[Any], idx: list[int], vals: list[Any]
) -> list[Any]:
    found = list(dest)
    for i, value in zip(idx, vals, strict=True):
        if 0 <= i < len(found):
            found[i] = op(found[i], value)
    return found


def counts(n: int, idx: list[int]) -> list[int]:
    return [idx.count(k) for k in range(n)]


def order_of(row: list[Any]) -> list[int]:
    return sorted(range(len(row)), key=lambda i: row[i])


def pairwise(f: Callable[..., Any], *rows: list[Any]) -> list[Any]:
    return [f(*each) for each in zip(*rows, strict=True)]
