"""Chunked: an array as chunks along axis 0, each in memory, in a file, or on a cluster's worker.

    xs = fw.Chunked.cut(np.arange(10), 4)          chunks of 4, 4 and 2 rows, views of the array
    xs = fw.Chunked.open("ticks.npy", "64 MiB")    regions of a file, read when they are needed
    xs = fw.Chunked([a, b])                        these arrays, one after the other

It is nowhere as a whole: functions compiled by `jit` go over it chunk by chunk (`cluster/`).
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.source import user_location

Values = np.ndarray[Any, np.dtype[Any]]
ROWS_BYTES = 128 << 20
"""A chunk where nobody says how large."""
GATHERED = 1 << 30
"""Up to so many bytes np.asarray puts all chunks together; of more it is an error."""


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


class OnFile:
    """Rows of an .npy file, in a process that opens it when it needs them."""

    __slots__ = ("begin", "end", "path")

    def __init__(self, path: str, begin: int, end: int) -> None:
        self.path = path
        self.begin = begin
        self.end = end

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.end - self.begin

    def load(self, begin: int, end: int) -> Values:
        """Some of them, read from the file."""
        whole = np.load(self.path, mmap_mode="r")  # its header alone: what is mapped would stay
        row, size = whole.shape[1:], math.prod(whole.shape[1:])
        first = whole.offset + (self.begin + begin) * size * whole.itemsize
        found = np.fromfile(self.path, whole.dtype, (end - begin) * size, offset=first)
        return found.reshape(end - begin, *row)


class Chunked:
    """An array as chunks along axis 0 that need not be in memory at once.

    `Chunked(arrays)` takes arrays of one dtype whose rows have one shape. A jitted function takes
    it as it takes an array of that dtype and rank; what it gives row by row is Chunked, too.
    Raises ArgumentError for arrays that do not go together.

        >>> xs = fw.Chunked([np.arange(3), np.arange(2)])
        >>> xs
        Chunked(int64[5], 2 chunks)
        >>> fw.jit(lambda x: fw.sum(x * x))(xs)
        Array(6, dtype=int64)
    """

    __slots__ = ("bounds", "dtype", "pieces", "row")
    bounds: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, arrays: Iterable[Any]) -> None:
        found = [np.asarray(each, order="C") for each in arrays]
        kinds = {(each.dtype, each.shape[1:]) for each in found if each.ndim}
        if len(kinds) != 1 or any(each.ndim == 0 for each in found):
            shown = pretty.listed([f"{each.dtype}{list(each.shape)}" for each in found]) or "none"
            raise ArgumentError(
                f"Chunked needs arrays of one dtype whose rows have one shape, got {shown}.",
                where=user_location(), remedy="Convert them with astype and reshape first.",
            )  # fmt: skip
        ((dtype, row),) = kinds
        self._set([Held(each) for each in found], dtype, row)

    def _set(self, pieces: Sequence[Piece], dtype: Any, row: tuple[int, ...]) -> None:
        self.pieces = tuple(pieces)
        self.dtype = np.dtype(dtype)
        if self.dtype.kind not in "biuf" or self.dtype.itemsize == 2 and self.dtype.kind == "f":
            raise DTypeError(
                f"chunks hold booleans, integers, f32 and f64, not {self.dtype}.",
                where=user_location(), remedy="Convert them first, for instance with astype.",
            )  # fmt: skip
        self.row = row
        self.bounds = (0, *accumulate(piece.rows for piece in self.pieces))

    @classmethod
    def of(cls, pieces: Sequence[Piece], dtype: Any, row: tuple[int, ...] = ()) -> Chunked:
        """Pieces of one array, one after the other."""
        made = cls.__new__(cls)
        made._set(pieces, dtype, row)
        return made

    @classmethod
    def cut(cls, array: Any, rows: int) -> Chunked:
        """An array that is in memory, in chunks of so many rows; nothing is copied."""
        values = np.asarray(array)
        rows = _positive(rows)
        cuts = range(0, max(len(values), 1), rows)
        return cls([values[begin : begin + rows] for begin in cuts])

    @classmethod
    def open(cls, path: str | os.PathLike[str], rows: int | None = None) -> Chunked:
        """The array of an .npy file, read in chunks of so many rows, by default of 128 MiB."""
        name = os.path.abspath(os.fspath(path))
        values = np.load(name, mmap_mode="r")
        if not values.flags.c_contiguous or not values.ndim:
            raise ArgumentError(
                f"{name} has no rows one after the other: {values.dtype}{list(values.shape)}"
                f"{'' if values.flags.c_contiguous else ', column by column'}.",
                where=user_location(), remedy="Save np.ascontiguousarray(xs).",
            )  # fmt: skip
        each = max(values.itemsize * math.prod(values.shape[1:]), 1)
        rows = _positive(max(ROWS_BYTES // each, 1) if rows is None else rows)
        ends = [*range(0, len(values), rows), len(values)]
        pieces = [OnFile(name, begin, end) for begin, end in pairwise(ends)]
        return cls.of(pieces, values.dtype, values.shape[1:])

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows of all chunks, then the shape of a row."""
        return (self.bounds[-1], *self.row)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 1 + len(self.row)

    @property
    def nbytes(self) -> int:
        """The bytes of all chunks."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def __iter__(self) -> Iterator[Values]:
        """The chunks as arrays, each loaded when its turn comes."""
        return (piece.load(0, piece.rows) for piece in self.pieces)

    def load(self, begin: int, end: int) -> Values:
        """Some rows of it, wherever they are, as one array."""
        parts = [piece.load(a, b) for piece, a, b in self.between(begin, end)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, *self.row), self.dtype)

    def between(self, begin: int, end: int) -> list[tuple[Piece, int, int]]:
        """The pieces that hold some rows, and which of each one's own these are."""
        return [
            (piece, max(begin - first, 0), min(end, last) - first)
            for piece, (first, last) in zip(self.pieces, pairwise(self.bounds), strict=True)
            if first < end and begin < last and first < last
        ]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        if self.nbytes > GATHERED:
            raise ArgumentError(
                f"{self!r} has {pretty.size(self.nbytes)}, which np.asarray does not put together"
                f" in memory by itself (up to {pretty.size(GATHERED)}).",
                where=user_location(),
                remedy="Go over its chunks, `for chunk in xs`, or say xs.load(0, len(xs)) to have"
                " all of it in memory.",
            )
        found = self.load(0, len(self))
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"Chunked({self.dtype}[{extents}], {pretty.counted(len(self.pieces), 'chunk')})"


def _positive(rows: Any) -> int:
    """A number of rows."""
    try:
        found = operator.index(rows)
    except TypeError:
        found = 0
    if found < 1:
        raise ArgumentError(
            f"a chunk has a whole number of rows from 1 up, got {rows!r}.",
            where=user_location(), remedy="Leave it out for the default.",
        )  # fmt: skip
    return found
