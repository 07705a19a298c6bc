"""Pieces of a `Chunked`: rows that can be had, wherever they are, as they are or seen otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


class Piece(Protocol):
    """Rows of an array that can be had, wherever they are."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def load(self, begin: int, end: int) -> Values:
        """Some of them, in this process."""


class Held:
    """Rows in the memory of this process."""

    __slots__ = ("__weakref__", "values")

    def __init__(self, values: Values) -> None:
        self.values = values

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.values)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, nothing copied."""
        return self.values[begin:end]


class Several:
    """Rows of some consecutive pieces, as one."""

    __slots__ = ("parts", "rows")

    def __init__(self, parts: Sequence[tuple[Piece, int, int]]) -> None:
        self.parts = tuple(parts)
        self.rows = sum(end - begin for _, begin, end in parts)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, put together."""
        found = [piece.load(*ends) for piece, *ends in self.within(begin, end)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def within(self, begin: int, end: int) -> list[tuple[Piece, int, int]]:
        """Where some of them are."""
        found, at = [], 0
        for piece, low, high in self.parts:
            first, last = max(begin - at, 0), min(end - at, high - low)
            if first < last:
                found.append((piece, low + first, low + last))
            at += high - low
        return found


class Viewed:
    """The rows of a piece as elements of another dtype, in rows of another shape."""

    __slots__ = ("dtype", "piece", "row")

    def __init__(self, piece: Piece, dtype: Any, row: tuple[int, ...]) -> None:
        self.piece = piece
        self.dtype = np.dtype(dtype)
        self.row = row

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.piece.rows

    def load(self, begin: int, end: int) -> Values:
        """Some of them; contiguous rows are not copied."""
        return seen_as(self.piece.load(begin, end), self.dtype, self.row)


class Field:
    """One field of the records of a piece."""

    __slots__ = ("name", "piece")

    def __init__(self, piece: Piece, name: str) -> None:
        self.piece = piece
        self.name = name

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.piece.rows

    def load(self, begin: int, end: int) -> Values:
        """That field of some of them."""
        return self.piece.load(begin, end)[self.name]


def loaded(parts: Sequence[tuple[Piece, int, int]]) -> list[Values]:
    """Rows of pieces, in this process; a source of several pieces loads these at once."""
    places = [getattr(piece, "place", None) for piece, *_ in parts]
    found: dict[int, Values] = {}
    for place in dict.fromkeys(filter(None, places)):
        mine = [k for k, each in enumerate(places) if each is place]
        found.update(zip(mine, place.rows([parts[k] for k in mine]), strict=True))
    return [found[k] if k in found else p.load(*ends) for k, (p, *ends) in enumerate(parts)]


def parts_of(piece: Piece, begin: int, end: int) -> list[tuple[Piece, int, int]]:
    """Rows of a piece, of those from which it has them."""
    match piece:
        case Several():
            return piece.within(begin, end)
        case Viewed(piece=Several() as inner, dtype=dtype, row=row):
            return [(Viewed(x, dtype, row), a, b) for x, a, b in inner.within(begin, end)]
        case Field(piece=Several() as inner, name=name):
            return [(Field(x, name), a, b) for x, a, b in inner.within(begin, end)]
    return [(piece, begin, end)]


def memory_behind(piece: Piece) -> list[Values]:
    """The arrays of this process that a piece reads; none of what is elsewhere."""
    match piece:
        case Held(values=values):
            return [values]
        case Several(parts=parts):
            return [values for part, _, _ in parts for values in memory_behind(part)]
        case Viewed(piece=inner) | Field(piece=inner):
            return memory_behind(inner)
    return []


def seen_as(values: Values, dtype: np.dtype[Any], row: tuple[int, ...]) -> Values:
    """An array's memory as rows of other elements."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(dtype).reshape(len(values), *row)
