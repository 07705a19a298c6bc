"""Columns of Arrow's tables, and columns whose rows differ in length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.cluster.files import Region, Stored, missing, one, opened, read
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.ragged.chunked import chunked_tree, offsets_in
from flatweave.frontend.ragged.exchange import of_arrow
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arrow_columns import numbers_of
from flatweave.frontend.values.chunked import Chunked, Held, Values
from flatweave.frontend.values.tree import Tree, flatten, unflatten

# Columns whose rows differ in length, in chunks: lists of numbers, lists of lists, text as bytes.
#
#     words ["ab", "", "c"]      values [97, 98, 99] and offsets [0, 2, 2, 3], each a Chunked
#
# A file says how many rows it has, not how many values are in them: all rows are read once to
# count these, by the workers where there are some, when a function is given the column. Then it
# is known where each piece begins and ends, and a chunk reads its own piece alone.


COUNTING = 2
"""Pieces that are counted at once in this process, each of which is in memory then."""


@record(eq=True)
class Lists:
    """What a column of lists holds: its structure as a Ragged, and for each array in it the dtype
    and the shape of an element; None for offsets."""

    tree: Tree
    arrays: tuple[tuple[np.dtype[Any], tuple[int, ...]] | None, ...]

    def __str__(self) -> str:
        shown = [f"{dtype}{list(row) or ''}" for dtype, row in filter(None, self.arrays)]
        return f"rows of {', '.join(shown)}"


class Span(NamedTuple):
    """How many elements of an array are in a piece; of offsets, where the piece's first row begins
    and its last one ends."""

    rows: int
    begin: int
    end: int


class Leaf(Stored):
    """One array of such a column in a piece. Offsets count from the first row of all files; there
    is one for each row, where it ends."""

    __slots__ = ("_array", "_is_offsets", "_span")
    is_counted = False  # before a function is given it

    def __init__(
        self, regions: Sequence[Region], column: str, array: int, is_offsets: bool,
        span: Span | Callable[[], Span],
    ) -> None:  # fmt: skip
        super().__init__(regions, column)
        self._array = array
        self._is_offsets = is_offsets
        self._span = span

    @property
    def span(self) -> Span:
        """Where it is among all."""
        if not isinstance(self._span, Span):
            self._span = self._span()
        return self._span

    @property
    def rows(self) -> int:
        """How many elements there are."""
        return self.span.rows

    def load(self, begin: int, end: int) -> Values:
        """Some of them; the last offset, where the next piece begins, is known."""
        if self._is_known(begin, end):
            return np.full(end - begin, self.span.end, np.int64)
        return read([(self, begin, end)])[0]

    def within(self, begin: int, end: int) -> list[Region]:
        """The regions to read for them: all, since their position in the file is unknown."""
        return [] if self._is_known(begin, end) else list(self.regions)

    def part(self, found: Sequence[Any], begin: int, end: int) -> Values:
        """Some of them, of what was read of each region."""
        arrays = [each[self._array] for each in found]
        rows, first, last = self.span
        is_same = sum(map(len, arrays)) == rows
        if self._is_offsets:
            begins = list(accumulate((int(each[-1]) for each in arrays), initial=first))
            is_same = begins[-1] == last
            arrays = [each[1:] + at for each, at in zip(arrays, begins, strict=False)]
        if not is_same:
            raise ArgumentError(
                f"{self.regions[0].file.path} was written anew while it was read.",
                remedy="Open it again with fw.Chunked.open.",
            )
        return one(arrays)[begin:end]

    def _is_known(self, begin: int, end: int) -> bool:
        return self._is_offsets and begin >= self.rows - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Leaf, (self.regions, self.column, self._array, self._is_offsets, self.span)


def in_chunks(pieces: Sequence[Sequence[Region]], column: str, kind: Lists) -> Chunked:
    """A column of lists, of the regions of each piece."""
    counts = _Counts(pieces, column, kind)
    found = []
    for number, array in enumerate(kind.arrays):
        leaves: list[Any] = [
            Leaf(regions, column, number, array is None, functools.partial(counts.span, number, k))
            for k, regions in enumerate(pieces)
        ]
        if array is None:
            found.append(Chunked.of([Held(np.zeros(1, np.int64)), *leaves], np.int64))
        else:
            found.append(Chunked.of(leaves, *array))
    rows: Chunked = unflatten(chunked_tree(kind.tree), found)
    return rows


class _Counts:
    """How many elements the arrays of a column have in each piece, found out once."""

    def __init__(self, pieces: Sequence[Sequence[Region]], column: str, kind: Lists) -> None:
        self._pieces = pieces
        self._column = column
        self._kind = kind

    def span(self, number: int, piece: int) -> Span:
        """Where an array's elements in a piece are among all. What offsets are those of comes
        before them, as in every Ragged."""
        ends = self._ends
        begin, end = (int(at[number - 1]) for at in ends[piece : piece + 2])
        return Span(int(ends[piece + 1][number] - ends[piece][number]), begin, end)

    @functools.cached_property
    def _ends(self) -> Values:
        """The elements of each array before each piece, and at last those of all."""
        try:
            found = self._counted()
        except UserError as error:  # it happens in threads, which know no line of the user
            error.where = error.where or user_location()
            raise
        return np.cumsum([[0] * len(self._kind.arrays), *found], axis=0)

    def _counted(self) -> list[list[int]]:
        are_offsets = [array is None for array in self._kind.arrays]
        count = functools.partial(_count, column=self._column, are_offsets=are_offsets)
        client = getattr(PLACE.get(), "client", None)
        if client is not None:
            found: list[list[int]] = client.gather(client.map(count, self._pieces, pure=False))
            return found
        with ThreadPoolExecutor(COUNTING, "flatweave-counter") as threads:
            return list(threads.map(count, self._pieces))


def _count(regions: Sequence[Region], column: str, are_offsets: Sequence[bool]) -> list[int]:
    """The elements of each array, of offsets without the first of all."""
    counts = np.zeros(len(are_offsets), np.int64)
    for file, begin, end in regions:
        (arrays,) = file.read((column,), begin, end)
        counts += [len(each) - one for each, one in zip(arrays, are_offsets, strict=True)]
    return counts.tolist()


# Columns of Arrow's tables: what Parquet and Arrow's own files have in common.
#
# [1, 2, 3]              an array
# [[1, 2], [], [3]]      the arrays of a Ragged, values [1, 2, 3] and offsets [0, 2, 2, 3]
# ["ab", ""]             its bytes: values [97, 98] and offsets [0, 2, 2]


def pyarrow(what: str) -> Any:
    """The library, with its Parquet part; raises Unsupported where it is not."""
    try:
        import pyarrow.parquet  # optional dependency
    except ImportError as failure:
        raise missing(what, "pyarrow", failure) from None
    return pyarrow


def bytes_of(name: str) -> Any:
    """A file as pyarrow reads it; the caller closes it."""
    pa = pyarrow(name)
    return pa.PythonFile(opened(name), mode="r") if "://" in name else pa.OSFile(name)


class Kinds(Mapping[str, Any]):
    """What each column of a file holds, found when somebody wants it: others may hold anything."""

    def __init__(self, schema: Any, path: str) -> None:
        self._fields = {field.name: field for field in schema}
        self._path = path

    def __getitem__(self, name: str) -> Any:
        empty = pyarrow(self._path).array([], self._fields[name].type)
        column = _Column(empty, name, self._path)
        if not column.is_lists:
            values = column.numbers(0)
            return values.dtype, values.shape[1:]
        arrays, tree = flatten(column.lists(0))
        offsets = offsets_in(tree)
        kinds = [
            None if number in offsets else (np.asarray(each).dtype, each.shape[1:])
            for number, each in enumerate(arrays)
        ]
        return Lists(tree, tuple(kinds))

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class _Column:
    """Rows of a column, of types that we know."""

    def __init__(self, column: Any, name: str, path: str) -> None:
        type_ = _plain(pyarrow(path), column.type)
        self._column = column if type_ == column.type else column.cast(type_)
        self._name = f"column {name!r} of {path}"
        types = pyarrow(path).types
        self.is_lists = types.is_list(type_) or types.is_large_list(type_) or _is_text(types, type_)

    def numbers(self, first: int) -> Values:
        """An array of a row's numbers each; raises ArgumentError for nulls, with the row of the
        file where the first one is, of which the column begins with `first`."""
        values, absent = numbers_of(self._column, self._name)
        if absent is not None:
            self._refuse(np.flatnonzero(absent), first)
        return values

    def lists(self, first: int) -> Ragged:
        """A row's numbers as a row; raises ArgumentError for nulls, as well."""
        if self._column.null_count:
            self._refuse(np.flatnonzero(self._column.is_null()), first)
        try:
            return of_arrow(self._column)
        except UserError as error:
            raise type(error)(f"{self._name}: {error.message}", remedy=error.remedy) from None

    def _refuse(self, places: Any, first: int) -> None:
        holds = "a null" if len(places) == 1 else f"{len(places)} nulls"
        raise ArgumentError(
            f"{self._name} holds {holds} among {len(self._column)} rows, the first in row"
            f" {first + int(places[0])}, which is not a number.",
            remedy="Fill them when the file is written, numbers for instance with NaN, or leave"
            " these rows out.",
        )


def _is_text(types: Any, type_: Any) -> bool:
    return any(
        test(type_)
        for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _plain(pa: Any, type_: Any) -> Any:
    """The type as which a column is read: times are counts of their unit, dictionaries and views
    what they stand for, inside of lists and structs, too."""
    types = pa.types
    if types.is_temporal(type_) and not types.is_interval(type_):
        return pa.int32() if type_.bit_width == 32 else pa.int64()
    if types.is_dictionary(type_):
        return _plain(pa, type_.value_type)
    if types.is_string_view(type_):
        return pa.large_string()
    if types.is_binary_view(type_):
        return pa.large_binary()
    if types.is_list_view(type_) or types.is_large_list_view(type_) or types.is_large_list(type_):
        return pa.large_list(_plain(pa, type_.value_type))
    if types.is_list(type_):
        return pa.list_(_plain(pa, type_.value_type))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain(pa, type_.value_type), type_.list_size)
    if types.is_struct(type_):
        return pa.struct([pa.field(each.name, _plain(pa, each.type)) for each in type_])
    return type_


def columns_of(table: Any, columns: Sequence[str], path: str, first: int) -> list[Any]:
    """Some columns of a table, which begins with row `first` of the file: an array of numbers, or
    the arrays of a Ragged."""
    found: list[Any] = []
    for name in columns:
        column = _Column(table.column(name), name, path)
        if column.is_lists:
            found.append([np.asarray(each) for each in flatten(column.lists(first))[0]])
        else:
            found.append(column.numbers(first))
    return found


def ends_of(lengths: Iterable[int]) -> tuple[int, ...]:
    """The ends of parts of these lengths."""
    return tuple(int(end) for end in np.cumsum([*lengths], dtype=np.int64))


def reached(ends: Sequence[int], begin: int, end: int) -> tuple[range, int]:
    """The parts that have some rows, and the first row of these parts."""
    first = int(np.searchsorted(ends, begin, "right"))
    last = int(np.searchsorted(ends, end, "left")) + 1 if begin < end else first
    return range(first, min(last, len(ends))), ends[first - 1] if first else 0
