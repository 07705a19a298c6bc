"""Columns of Arrow's tables: what Parquet and Arrow's own files have in common.

    [1, 2, 3]              an array
    [[1, 2], [], [3]]      the arrays of a Ragged, values [1, 2, 3] and offsets [0, 2, 2, 3]
    ["ab", ""]             its bytes: values [97, 98] and offsets [0, 2, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, UserError
from flatweave.cluster.sources.lists import Lists
from flatweave.cluster.sources.paths import missing, opened
from flatweave.frontend.ragged.arrow import of_arrow
from flatweave.frontend.ragged.chunked import offsets_in
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arrow_columns import numbers_of
from flatweave.frontend.values.chunked import Values
from flatweave.frontend.values.tree import flatten


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
            f" {first + int(places[0])}, for which no number stands.",
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
    """Where parts of so many rows end."""
    return tuple(int(end) for end in np.cumsum([*lengths], dtype=np.int64))


def reached(ends: Sequence[int], begin: int, end: int) -> tuple[range, int]:
    """The parts that have some rows, and the first row of these parts."""
    first = int(np.searchsorted(ends, begin, "right"))
    last = int(np.searchsorted(ends, end, "left")) + 1 if begin < end else first
    return range(first, min(last, len(ends))), ends[first - 1] if first else 0
