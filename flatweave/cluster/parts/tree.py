"""Parts joined with their neighbours, by eight, as they come: the same groups wherever this is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

WIDTH = 8
"""Parts that are joined at once."""
T = TypeVar("T")


class Tree(Generic[T]):
    """What is there of a sequence of parts: on each level fewer than eight, the last ones below."""

    def __init__(self, join: Callable[[list[T]], T]) -> None:
        self._join = join
        self._levels: list[list[T]] = []

    def add(self, part: T, level: int = 0) -> None:
        """The part behind all others."""
        if level == len(self._levels):
            self._levels.append([])
        group = self._levels[level]
        group.append(part)
        if len(group) == WIDTH:
            self._levels[level] = []
            self.add(self._join(group), level + 1)

    def whole(self) -> T | None:
        """All of them as one; None where there are none."""
        last: list[T] = []
        for level in self._levels:  # what stands on a higher one came first
            group = [*level, *last]
            last = [self._join(group)] if len(group) > 1 else group
        return last[0] if last else None
