"""Rows of files as pieces of a `Chunked`: they know where they are, and are read when they must be.

    read([(a, 0, 4), (b, 0, 4)])      rows of two columns of one file: one reading
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, UserError
from flatweave.cluster.sources.memory import one
from flatweave.frontend.values.chunked import Values


def _columns(region: Region, columns: Sequence[str]) -> list[Any]:
    """Columns of a region of a file; the code that decodes them may raise anything."""
    file, begin, end = region
    try:
        return file.read(columns, begin, end)
    except (UserError, FileNotFoundError, MemoryError):
        raise
    except Exception as failure:
        named = pretty.listed([repr(column) for column in columns if column])
        what, why = f"{named} of {file.path}" if named else file.path, str(failure).strip(" .\n")
        raise ArgumentError(
            f"rows {begin} to {end - 1} of {what} cannot be read: {why}.",
            remedy="The file may be damaged: write it anew, or leave it out.",
        ) from None


def extremes(values: Values) -> tuple[int, int]:
    """The least and the greatest of some integers."""
    return int(values.min()), int(values.max())


class File(Protocol):
    """A file of rows, or several beside each other; it goes to other processes as it is, equals
    what reads the same file, and can be a key."""

    @property
    def path(self) -> str:
        """Where it is."""

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Some rows of some columns: an array of each; of lists, the arrays of a Ragged."""


class Seeking(File, Protocol):
    """A file whose rows can be read each by itself."""

    def picked(self, column: str, places: Values) -> Values:
        """Rows of a column at some places."""


class Opened(NamedTuple):
    """What is known of a file: its rows, what each column holds, a function that says where it is
    cut into pieces of so many rows, and one that says about how many bytes a row of a column has
    where rows differ in length. A column's dtype and the shape of a row, or `Lists`."""

    file: File
    rows: int
    columns: Mapping[str, Any]
    ends: Callable[[int], Sequence[int]]
    width: Callable[[str], int] = lambda column: 0


class Region(NamedTuple):
    """Rows of one file."""

    file: File
    begin: int
    end: int


class Files:
    """What brings rows of files."""

    def rows(self, parts: Sequence[tuple[Any, int, int]]) -> list[Values]:
        """Rows of pieces; those of several columns are read at once."""
        return read(parts)


class Stored:
    """Rows of one column, in files one after the other."""

    __slots__ = ("column", "regions")
    place = Files()

    def __init__(self, regions: Sequence[Region], column: str = "") -> None:
        self.regions = tuple(regions)
        self.column = column

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(end - begin for _, begin, end in self.regions)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, read from the files."""
        return read([(self, begin, end)])[0]

    def picked(self, places: Values) -> Values:
        """Rows at some places, which rise; of files that cannot seek all between them are read."""
        found = []
        for file, begin, end in self.regions:
            here, places = places[places < end - begin] + begin, places[places >= end - begin]
            if hasattr(file, "picked"):
                found.append(file.picked(self.column, here))
            elif len(here):
                (rows,) = file.read((self.column,), begin, end)
                found.append(rows[here - begin])
            places = places - (end - begin)
        return one(found)

    def within(self, begin: int, end: int) -> list[Region]:
        """The regions of some of them."""
        found, first = [], 0
        for file, low, high in self.regions:
            last = first + high - low
            if begin < last and first < end:
                begins, ends = max(begin, first), min(end, last)
                found.append(Region(file, low + begins - first, low + ends - first))
            first = last
        return found or [Region(file, low, low) for file, low, _ in self.regions[:1]]

    def part(self, found: Sequence[Any], begin: int, end: int) -> Values:
        """Some of them, of what was read of each region within which they are."""
        return one(found)


def picked(parts: Iterable[tuple[Any, int, int]], at: Values) -> Values:
    """Rows at some places, which rise, of what lies in pieces, or arrays, one after the other."""
    found = []
    for piece, begin, end in parts:
        places, at = at[at < end - begin] + begin, at[at >= end - begin] - (end - begin)
        if isinstance(piece, np.ndarray):
            found.append(piece[places])
        elif isinstance(piece, Stored):
            found.append(piece.picked(places))
        elif len(places):
            found.append(piece.load(begin, end)[places - begin])
    return np.concatenate(found)


def read(parts: Iterable[tuple[Any, int, int]]) -> list[Values]:
    """Rows of pieces, or of arrays; columns of the same rows of a file are read in one go."""
    wanted: dict[Region, dict[str, None]] = {}
    parts = list(parts)
    places = [piece.within(a, b) if isinstance(piece, Stored) else [] for piece, a, b in parts]
    for (piece, _, _), regions in zip(parts, places, strict=True):
        for region in regions:
            wanted.setdefault(region, {})[piece.column] = None
    found_of = {
        region: dict(zip(columns, _columns(region, tuple(columns)), strict=True))
        for region, columns in wanted.items()
    }
    found = []
    for (piece, begin, end), regions in zip(parts, places, strict=True):
        if isinstance(piece, np.ndarray):
            found.append(piece[begin:end])
        elif regions:
            there = [found_of[region][piece.column] for region in regions]
            found.append(piece.part(there, begin, end))
        else:
            found.append(piece.load(begin, end))
        if len(found[-1]) != end - begin:
            raise ArgumentError(
                f"an array in chunks has {pretty.counted(len(found[-1]), 'row')} where it was said"
                f" to have {end - begin}.",
                remedy="Make it anew of what is there now.",
            )
    return found
