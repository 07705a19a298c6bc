"""What a format of files says of how arrays are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Columns(NamedTuple):
    """Arrays of as many rows, by name: what is to be written; where their chunks end."""

    kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]
    ends: Sequence[int]

    @property
    def rows(self) -> int:
        """How many each of them has."""
        return self.ends[-1] if self.ends else 0


class Sink(Protocol):
    """Files that are being written; it goes to other processes as it is. Whatever it writes twice
    is the same, so that a task can be run again."""

    @property
    def ends(self) -> Sequence[int]:
        """Where the rows end that are written together."""

    def write(self, number: int, begin: int, *columns: Any) -> None:
        """Some rows of all columns, the first of which is row `begin`: arrays, or in tables a
        Ragged where they differ in length."""

    def finish(self) -> None:
        """Everything has been written."""

    def abandon(self) -> None:
        """Remove what has been written, as something went wrong."""
