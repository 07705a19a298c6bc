"""Chunked: an array as chunks along axis 0, each in memory, in a file, or on a cluster's worker.

    xs = fw.Chunked.cut(np.arange(10), 4)          chunks of 4, 4 and 2 rows, views of the array
    xs = fw.Chunked.open("ticks.npy", 1 << 20)     regions of a file, read when they are needed
    xs = fw.Chunked([a, b])                        these arrays, concatenated

It is nowhere as a whole: functions go over it chunk by chunk (`cluster/`), operators and methods
with them: `xs[xs > 3].sum()`.
"""

from __future__ import annotations

import math
import operator
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

import numpy as np

from flatweave.base import pretty
from flatweave.base.dtypes import COMPLEX, DTYPES, f16, short_float
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.array import METHODS, Array, kind_of
from flatweave.frontend.values.elsewhere import (
    Field,
    Held,
    Piece,
    Several,
    Values,
    Viewed,
    loaded,
    parts_of,
    seen_as,
)
from flatweave.frontend.values.operators import Operators
from flatweave.runtime import lazy_import

__all__ = ["Chunked", "Field", "Held", "Piece", "Several", "Values", "Viewed"]
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
ROWS_BYTES = 128 << 20
"""The default size of a chunk."""
GATHERED = 1 << 30
"""The largest array that np.asarray assembles from chunks; a larger one is an error."""
NUMBERS = frozenset(dtype.numpy for dtype in (*DTYPES, *COMPLEX.values(), f16))


class Pieced:
    """Rows in consecutive pieces: their number, and the position of each."""

    __slots__ = ("__weakref__", "_bounds", "dtype", "pieces", "rises", "row")
    dtype: np.dtype[Any]
    pieces: tuple[Piece, ...]
    row: tuple[int, ...]
    _bounds: tuple[int, ...] | None

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where chunks begin, and the end of the last one."""
        if self._bounds is None:
            self._bounds = (0, *accumulate(piece.rows for piece in self.pieces))
        return self._bounds

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

    @property
    def size(self) -> int:
        """The number of elements of all chunks."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.bounds[-1]

    def __iter__(self) -> Iterator[Values]:
        """The chunks as arrays, each loaded when it is needed."""
        return (piece.load(0, piece.rows) for piece in self.pieces)

    def load(self, begin: int, end: int) -> Values:
        """Some rows of it, wherever they are, as one array."""
        return self.whole(loaded(self.between(not_before(begin), end)))

    def whole(self, parts: Sequence[Values]) -> Values:
        """Consecutive rows of it as one array."""
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, *self.row), self.dtype)

    def between(self, begin: int, end: int) -> list[tuple[Piece, int, int]]:
        """The pieces that hold some rows, and which of each one's own these are."""
        bounds, last = self.bounds, min(end, self.bounds[-1])
        if begin >= last:
            return []
        return [
            part
            for k in range(bisect_right(bounds, begin) - 1, bisect_left(bounds, last))
            if bounds[k] < bounds[k + 1]
            for part in parts_of(
                self.pieces[k], max(begin - bounds[k], 0), min(last, bounds[k + 1]) - bounds[k]
            )
        ]


class Chunked(Pieced, Operators):
    """An array as chunks along axis 0 that need not be in memory at once.

    `Chunked(arrays)` takes arrays of one dtype whose rows have one shape, each as `fw.asarray`
    does, and over the same memory. Functions, operators and methods take it as they take an array
    of that dtype and rank; what they give row by row is Chunked, too. Raises ArgumentError for
    arrays that do not go together, and for what is missing in them.

    Source: `dask.array`.

        >>> xs = fw.Chunked([np.arange(3), np.arange(2)])
        >>> xs
        Chunked(int64[5], 2 chunks)
        >>> fw.jit(lambda x: fw.sum(x * x))(xs), xs[xs > 0].sum()
        (Array(6, dtype=int64), Array(4, dtype=int64))
    """

    __slots__ = ()

    def __new__(cls, arrays: Iterable[Any] = ()) -> Chunked:
        is_list = isinstance(arrays, list | tuple) and len(arrays) > 0
        if cls is Chunked and is_list and _is_ragged(arrays[0]):  # type: ignore[index]
            kind: type[Chunked] = lazy_import.opened("rows").ChunkedRows
            return object.__new__(kind)
        return object.__new__(cls)

    def __init__(self, arrays: Iterable[Any]) -> None:
        if not isinstance(arrays, Iterable):
            raise ArgumentError.here(
                f"Chunked needs a list of arrays, got {kind_of(arrays)}.",
                "Cut an array into chunks: fw.Chunked.cut(xs, rows).",
            )
        found: list[Values] = [
            METHODS["rows_of"](each, f"array {k} of Chunked") for k, each in enumerate(arrays)
        ]
        kinds = {(each.dtype, each.shape[1:]) for each in found if each.ndim}
        if len(kinds) != 1 or any(each.ndim == 0 for each in found):
            shown = pretty.listed([f"{each.dtype}{list(each.shape)}" for each in found]) or "none"
            raise ArgumentError.here(
                f"Chunked needs arrays of one dtype whose rows have one shape, got {shown}.",
                "Convert them with astype and reshape first.",
            )
        ((dtype, row),) = kinds
        self._set([Held(each) for each in found], dtype, row)

    def _set(self, pieces: Sequence[Piece], dtype: Any, row: tuple[int, ...]) -> None:
        self.pieces = tuple(pieces)
        self.dtype = np.dtype(dtype)
        if not holds_numbers(self.dtype):
            raise DTypeError.here(
                f"chunks hold numbers, booleans and records of these, not {self.dtype}.",
                "Take the integers of times: xs.astype(np.int64). Text is Strings, in memory.",
            )
        self.row = row
        self.rises = False  # whether elements are known not to decrease
        self._bounds = None

    @classmethod
    def of(cls, pieces: Sequence[Piece], dtype: Any, row: tuple[int, ...] = ()) -> Chunked:
        """Consecutive pieces of one array."""
        made: Chunked = cls.__new__(cls)
        made._set(pieces, dtype, row)
        return made

    def viewed(self, dtype: Any, row: tuple[int, ...]) -> Chunked:
        """The same memory as elements of another dtype, in rows of another shape."""
        pieces = [_viewed(piece, np.dtype(dtype), row) for piece in self.pieces]
        return Chunked.of(pieces, dtype, row)

    @overload
    def __getitem__(self, name: str) -> Chunked: ...
    @overload
    def __getitem__(self, name: Any) -> Array | Chunked: ...
    def __getitem__(self, name: Any) -> Array | Chunked:
        """The field of this name, of records; else as an array is indexed."""
        if not isinstance(name, str):
            return METHODS["getitem"](self, name)
        if name not in (self.dtype.names or ()):
            raise ArgumentError.here(
                f"{self!r} has no field {name!r}.",
                f"It has {pretty.listed(self.dtype.names)}." if self.dtype.names
                else "Its elements are numbers: index it as an array, xs[2:5], xs[xs > 0].",
            )
        field = self.dtype[name]
        pieces = [
            Held(piece.values[name]) if isinstance(piece, Held) else Field(piece, name)
            for piece in self.pieces
        ]
        return Chunked.of(pieces, field.base, (*self.row, *field.shape))

    @classmethod
    def cut(cls, array: Any, rows: int | None = None, *, values: int | None = None) -> Chunked:
        """An array that is in memory, in chunks of `rows` rows; nothing is copied.

        Rows of a Ragged stay whole: its chunks have `rows` rows each, or, with `values`, at most
        that many values, but at least one row.
        """
        if _is_ragged(array):
            kind: type[Chunked] = lazy_import.opened("rows").ChunkedRows
            return kind.cut(array, rows, values=values)
        whole: Values = METHODS["rows_of"](array, "the array of cut")
        rows = positive(rows)
        if not whole.ndim:
            return cls([whole])  # which says what is wrong with it
        cuts = range(0, max(len(whole), 1), rows)
        return cls([whole[begin : begin + rows] for begin in cuts])

    @overload
    @classmethod
    def open(
        cls, path: Paths, rows: int | None = None, *, column: str | None = None,
        format: str | None = None,
    ) -> Chunked: ...  # fmt: skip
    @overload
    @classmethod
    def open(
        cls, path: Paths, rows: int | None = None, *, column: list[str] | tuple[str, ...],
        format: str | None = None,
    ) -> dict[str, Chunked]: ...  # fmt: skip
    @classmethod
    def open(
        cls, path: Paths, rows: int | None = None, *,
        column: str | list[str] | tuple[str, ...] | None = None, format: str | None = None,
    ) -> Chunked | dict[str, Chunked]:  # fmt: skip
        """The array of files, read in chunks of about `rows` rows, by default of 128 MiB.

        `path` is a path, a list of paths, a folder or a pattern with `*`; with `://`, one that
        fsspec knows. `format` is "npy", "parquet", "arrow", "zarr", "text" or "bytes", by default
        as the names end. For tables, `column` names a column; several names give a dict of columns
        cut alike. Chunks end where row groups, record batches, Zarr's chunks or lines do.
        Raises ArgumentError for files that do not go together, Unsupported without their library.
        """
        rows = None if rows is None else positive(rows)
        found: Chunked | dict[str, Chunked] = lazy_import.opened("sources").opened(
            path, rows, column, format
        )
        return found

    @classmethod
    def ragged(cls, values: Any, offsets: Any) -> Chunked:
        """Rows of different lengths, of values and offsets in chunks: row i is
        `values[offsets[i]:offsets[i+1]]`. Rows are cut where offsets are, which are gone through
        once: ShapeError for those that fall, or do not go from 0 to the number of values."""
        rows: Chunked = lazy_import.opened("ragged").ragged(values, offsets)
        return rows

    @classmethod
    def from_dask(cls, collection: Any) -> Chunked:
        """A Dask array, a column of a Dask data frame, or a list of futures or delayed arrays.

        Its blocks are the chunks, computed by Dask when they are needed: on the workers of the
        client of `fw.on`, or else here. Raises ArgumentError for anything else, DTypeError for
        other elements than numbers.
        """
        chunks: Chunked = lazy_import.opened("collections").from_dask(collection)
        return chunks

    def rechunk(self, rows: int | Chunked) -> Chunked:
        """The same array in chunks of `rows` rows, or cut like another one of that length.

        Nothing is moved before a chunk is read. Sums of floats round as chunks are cut: cut alike,
        they have the same bits. Raises ArgumentError for what is no number of rows.
        """
        if not isinstance(rows, Chunked):
            return self._cut_at([*range(0, len(self), positive(rows)), len(self)])
        if len(rows) != len(self):
            raise ArgumentError.here(
                f"rechunk cuts an array of {pretty.counted(len(self), 'row')} as one of"
                f" {pretty.counted(len(rows), 'row')}.",
                "Give a number of rows, or an array of that length.",
            )
        return self._cut_at(rows.bounds)

    def _cut_at(self, bounds: Sequence[int]) -> Chunked:
        pieces = [Several(self.between(*ends)) for ends in pairwise(bounds)]
        return Chunked.of(pieces, self.dtype, self.row)

    def to_dask(self) -> object:
        """A Dask array of the same chunks; what is on workers stays there."""
        return lazy_import.opened("to_dask").to_dask(self)

    def save(
        self, path: str | os.PathLike[str], *, format: str | None = None,
        column: str | None = None, beside: Mapping[str, Chunked] | None = None,
    ) -> None:  # fmt: skip
        """Write it chunk by chunk, on a cluster by the workers, which share the path.

        `format` is "npy", "parquet", "arrow", "zarr" or "bytes", by default as the name ends. Of
        tables, which are folders with a file for each chunk, `column` is its name, "values" by
        default, and `beside` are other columns of the same length. An .npy file is overwritten;
        folders must be new. Raises ArgumentError for what cannot be written so.
        """
        lazy_import.opened("save").save(self, path, format, column, beside or {})

    def __contains__(self, value: Any) -> bool:
        return bool(METHODS["any"](METHODS["equal"](self, value)))

    def __bool__(self) -> bool:
        raise untraceable.truth_of_chunks()

    if not TYPE_CHECKING:  # which knows every name

        def __getattr__(self, name: str) -> NoReturn:
            raise untraceable.attribute(name, "an array in chunks", "Chunked")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        if self.nbytes > GATHERED:
            raise ArgumentError.here(
                f"{self!r} has {pretty.size(self.nbytes)}, which np.asarray does not put together"
                f" in memory (at most {pretty.size(GATHERED)}).",
                "Go over its chunks, `for chunk in xs`, or say xs.load(0, len(xs)) to have"
                " all of it in memory.",
            )
        found = self.load(0, len(self))
        return found if dtype is None else found.astype(dtype)

    def to_numpy(self) -> Values:
        """All rows as one array, if these are no more than 1 GiB; else ArgumentError."""
        return self.__array__()

    def _elements(self) -> Values:
        return self.to_numpy()

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"Chunked({self.dtype}[{extents}], {pretty.counted(len(self.pieces), 'chunk')})"


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether elements are numbers or booleans that programs know, or records of these."""
    if dtype.names is not None:
        return all(holds_numbers(dtype[name].base) for name in dtype.names)
    return dtype in NUMBERS or short_float(dtype) is not None


def _viewed(piece: Any, dtype: np.dtype[Any], row: tuple[int, ...]) -> Piece:
    """A piece as other elements; one that was seen otherwise, as it was before."""
    if isinstance(piece, Held):
        return Held(seen_as(piece.values, dtype, row))
    while isinstance(piece, Viewed):
        piece = piece.piece
    return Viewed(piece, dtype, row)


def _is_ragged(value: Any) -> bool:
    """Whether a value is a Ragged."""
    return bool(getattr(type(value), "irregular", False))


def not_before(begin: int) -> int:
    """The first of some rows, which is one."""
    if begin < 0:
        raise ArgumentError.here(
            f"load takes rows from 0 up, got {begin}.",
            "Count from the end with xs.load(len(xs) - 3, len(xs)).",
        )
    return begin


def positive(rows: Any) -> int:
    """A number of rows."""
    try:
        found = operator.index(rows)
    except TypeError:
        found = 0
    if found < 1:
        raise ArgumentError.here(
            f"a chunk has a whole number of rows from 1 up, got {rows!r}.",
            "Leave it out for the default.",
        )
    return found
