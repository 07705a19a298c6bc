"""What was found out about arrays, for as long as these are there: turns of a loop ask again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Known:
    """One answer for each question and array; arrays are compared by identity."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[weakref.ref[Any], Any]] = {}

    def of(self, question: str, array: Any, find: Callable[[], T]) -> T:
        """The answer, found when it is asked for first."""
        key = question, id(array)
        if key not in self._found:
            found = self._found

            def gone(_: Any) -> None:
                found.pop(key, None)

            found[key] = weakref.ref(array, gone), find()
        answer: T = self._found[key][1]
        return answer
