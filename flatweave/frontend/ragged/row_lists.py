"""fw.ragged of rows one by one: lists, nested as deep as wished, or arrays, or Ragged values.

    of_rows([[1, 2], [], [3]])          values [1, 2, 3], offsets [0, 2, 2, 3]
    of_rows([[(1, 0.5)], [(2, 1.5)]])   values ([1, 2], [0.5, 1.5]), offsets [0, 1, 2]
    of_rows([[[1], [2, 3]], []])        a Ragged of [[1], [2, 3]], offsets [0, 2, 2]
    of_rows([xs, ys])                   values concat([xs, ys])

Lists stand for arrays, and tuples, dicts, NamedTuples and dataclasses in them for elements that are
records, as everywhere; a row itself may be a tuple as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.frontend.ragged.offsets import Masked, joined, on_host, taken
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arguments import any_dtype_of, dtype_of
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, kind_of, shown
from flatweave.frontend.values.asarray import (
    asarray,
    contents,
    list_values,
    no_array,
    python_values,
    values_of,
)
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.foreign_arrays import check_nan
from flatweave.frontend.values.number_formats import Composed
from flatweave.frontend.values.tree import LEAF, Tree, flatten, map_leaves, unflatten

NUMBERS = frozenset({int, float, bool, complex})
ROWS = frozenset({"list", "array", "ragged"})
RECORDS = frozenset({"tuple", "record"})
BY_VALUE = frozenset({"array", "number"})  # kinds that a class does not determine
Kinds = dict[str, int]  # the first position of each kind


def kinds_of(items: Sequence[Any]) -> Kinds:
    """The kinds of the items, each with its first position."""
    types = set(map(type, items))
    if types and types <= NUMBERS:
        return {"number": 0}
    if len(types) == 1 and not isinstance(items[0], np.ndarray | Array):
        kind = _kind(items[0])
        if kind not in BY_VALUE:
            return {kind: 0}
    found: Kinds = {}
    for place, item in enumerate(items):
        found.setdefault(_kind(item), place)
    return found


def _kind(item: Any) -> str:
    cls = type(item)
    if cls in NUMBERS or isinstance(item, np.generic):
        return "number"
    if isinstance(item, Ragged):
        return "ragged"
    if isinstance(item, np.ndarray | Array):
        listed = isinstance(item, np.ndarray) and item.dtype == object and item.ndim == 1
        return "list" if listed else "array" if item.ndim else "number"
    if isinstance(item, list | range):
        return "list"
    if isinstance(item, str):
        return "text"
    if isinstance(item, Mapping) or hasattr(cls, "_fields") or hasattr(cls, "__dataclass_fields__"):
        return "record"
    if isinstance(item, tuple):
        return "tuple"
    if item is None:
        return "none"
    found = contents(item, "a row of ragged")
    return "array" if found is not None and found[0].ndim else "number"


def of_rows(rows: Sequence[Any], dtype: Any = None, nulls: str = "raise") -> Ragged:
    """A Ragged of these rows; rows in rows are rows of rows."""
    kinds = kinds_of(rows)
    for kind in ("number", "none", "text", "record"):
        if kind in kinds:
            raise _no_row(rows[kinds[kind]], kinds[kind], kind)
    if "ragged" in kinds:
        return retyped(_of_rows_of_rows(rows), dtype)
    if "array" in kinds:
        arrays = _of_arrays(rows, nulls)
        return arrays if isinstance(arrays.values, Masked) else retyped(arrays, dtype)
    items = list(chain.from_iterable(rows))
    lengths = np.array([len(row) for row in rows], np.int64)
    found = kinds_of(items)
    for kind in ("none", "text"):
        if kind in found:
            raise _no_element(lengths, found[kind], kind)
    if found.keys() & ROWS:
        if not found.keys() <= ROWS | {"tuple"}:
            raise ArgumentError.here(
                "ragged got rows of numbers and rows of rows.",
                "Nest all of them equally deep, [[[1]], [[2], [3]]].",
            )
        return cut(of_rows(items, dtype, nulls), lengths)
    if found.keys() & RECORDS:
        return cut(_columns(items, dtype), lengths)
    return cut(_values(items, dtype), lengths)


def cut(values: Any, lengths: Any) -> Ragged:
    """A Ragged of values that are ours, by the lengths of its rows."""
    leaves = [*flatten(values)[0], lengths]
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        rows: Ragged = METHODS["ragged"](values, lengths=lengths)
        return rows
    return on_host(values, lengths=lengths)


def _values(items: Sequence[Any], dtype: Any) -> object:
    """Numbers as an array; for none of them, empty arrays of these dtypes."""
    dtypes, tree = _dtypes_in(dtype)
    if not items:
        return unflatten(tree, [asarray([], found or np.float64) for found in dtypes])
    if tree != LEAF:
        raise _other_dtypes(dtype, "numbers")
    if not _are_plain(items):
        for item in items:
            if not _is_number(item):
                raise no_array(item, "an element of ragged")
        if any(isinstance(item, Tracer) for item in items):
            parts = [
                METHODS["reshape"](item, 1) if isinstance(item, Array) else np.array([item])
                for item in items
            ]
            joined = METHODS["concat"](parts)
            return joined if dtype is None else METHODS["astype"](joined, dtype)
    if dtype is None:
        return asarray(list_values(items))
    return asarray(python_values(items, dtypes[0], "an element of ragged"))


def _are_plain(items: Sequence[Any]) -> bool:
    """Whether all are Python's own numbers, found without a look at each."""
    return set(map(type, items)) <= NUMBERS


def _is_number(item: Any) -> bool:
    kinds = int | float | complex | np.generic | np.ndarray | Array
    return type(item) in NUMBERS or isinstance(item, kinds)


def _columns(items: Sequence[Any], dtype: Any) -> object:
    """Elements that are records as one array for each of their fields."""
    tree = flatten(items[0], _is_listed)[1]
    columns = _plain_columns(items, tree)
    if columns is None:
        columns = _columns_of(items, tree)
    dtypes, found = _dtypes_in(dtype)
    if found != LEAF and found != tree:
        raise _other_dtypes(dtype, f"elements {shown(items[0])}")
    wanted = dtypes * len(columns) if found == LEAF else dtypes
    return unflatten(tree, [_values(c, d) for c, d in zip(columns, wanted, strict=True)])


def _plain_columns(items: Sequence[Any], tree: Tree) -> list[list[Any]] | None:
    """The fields of records of one class that hold numbers alone; None for any others."""
    kinds = set(map(type, items))
    if len(kinds) > 1 or any(child != LEAF for child in tree.children):
        return None
    if tree.kind in ("tuple", "named") and len(set(map(len, items))) == 1:
        columns = [list(column) for column in zip(*items, strict=True)]
    elif kinds == {dict} and all(item.keys() == items[0].keys() for item in items):
        columns = [[item[name] for item in items] for name in tree.names]
    else:
        return None
    return columns if all(map(_are_plain, columns)) else None


def _columns_of(items: Sequence[Any], tree: Tree) -> list[list[Any]]:
    """The fields of any records, each decomposed."""
    columns: list[list[Any]] = [[] for _ in range(tree.size)]
    for item in items:
        leaves, own = flatten(item, _is_listed)
        if own != tree:
            raise ArgumentError.here(
                f"ragged got elements of different structures, {shown(items[0])} and"
                f" {shown(item)}.",
                "Give all of them the same fields, tuples of one length; rows of rows are"
                " lists of lists, not of tuples.",
            )
        for column, leaf in zip(columns, leaves, strict=True):
            column.append(leaf)
    for column in columns:
        if any(isinstance(item, list) for item in column):
            raise Unsupported.here(
                "the elements of ragged hold lists and numbers.",
                "Make one Ragged of each field, under the same offsets.",
            )
    return columns


def _is_listed(value: Any) -> bool:
    return isinstance(value, list) or value is None


def _of_rows_of_rows(rows: Sequence[Any]) -> Ragged:
    """Rows of which some are Ragged, the others lists of rows or matrices."""
    inner = [row if isinstance(row, Ragged) else None if not len(row) else
             of_matrix(row) if isinstance(row, np.ndarray | Array) else of_rows(row)
             for row in rows]  # fmt: skip
    counts = [0 if row is None else row.offsets.shape[0] - 1 for row in inner]
    return cut(METHODS["concat"]([row for row in inner if row is not None]), _lengths(counts))


def _of_arrays(rows: Sequence[Any], nulls: str) -> Ragged:
    """A Ragged of rows that are arrays, or lists of numbers; an empty list is an empty row."""
    arrays: list[Any] = []
    counts: list[Any] = []
    for place, row in enumerate(rows):
        if isinstance(row, list | tuple):
            found: Any = python_values(row, None, f"row {place} of ragged") if row else None
        else:
            found = taken(row, nulls)
            if not isinstance(found, Array | Masked):
                found = values_of(found, f"row {place} of ragged")
        own = found.values if isinstance(found, Masked) else found
        if own is not None and not own.ndim:
            raise _no_row(row, place, "number")
        arrays.append(found)
        counts.append(0 if own is None else own.shape[0])
    return cut(joined([a for a in arrays if a is not None]), _lengths(counts))


def _lengths(counts: Sequence[Any]) -> Values | Array:
    """Lengths of which some may be traced, as an array."""
    if not any(isinstance(count, Tracer) for count in counts):
        return np.array(counts, np.int64)
    return METHODS["concat"]([
        METHODS["reshape"](n, 1) if isinstance(n, Tracer) else np.array([n]) for n in counts
    ])  # fmt: skip


def of_matrix(array: Any, nulls: str = "raise") -> Ragged:
    """The rows of a matrix, or of an array of higher rank, all of one length."""
    count, length, *rest = array.shape
    shape = (count * length, *rest)
    if not isinstance(array, Tracer):
        found = np.asarray(array) if isinstance(array, Array) else taken(array, nulls)
        flat = map_leaves(lambda x: x.reshape(shape), found)
        return on_host(flat, lengths=np.full(count, length, np.int64))
    lengths = METHODS["full"](count, METHODS["astype"](length, np.int64))
    return cut(METHODS["reshape"](array, shape), lengths)


def retyped(rows: Ragged, dtype: Any, nulls: str = "raise") -> Ragged:
    """The same rows with values of another dtype, or a tree of them."""
    if dtype is None:
        return rows
    if isinstance(rows.values, Ragged):
        return Ragged.made(retyped(rows.values, dtype, nulls), rows.offsets)
    leaves, tree = flatten(rows.values, lambda found: isinstance(found, Array))
    dtypes, found = _dtypes_in(dtype)
    if found != LEAF and found != tree:
        raise _other_dtypes(dtype, f"elements of dtype {rows.dtype}")
    wanted = dtypes * len(leaves) if found == LEAF else dtypes
    for x, d in zip(leaves, wanted, strict=True):
        if nulls == "nan" and isinstance(x, HostArray):
            check_nan(x.to_numpy(), d, "the values of ragged")
    values = [
        x if x.dtype == d
        else METHODS["astype"](x, d) if isinstance(x, Tracer | Composed) else asarray(x, d)
        for x, d in zip(leaves, wanted, strict=True)
    ]
    return Ragged.made(unflatten(tree, values), rows.offsets)


def _dtypes_in(dtype: Any) -> tuple[list[Any], Tree]:
    """The dtypes in a tree of them, or one for all."""
    if dtype is None:
        return [None], LEAF
    leaves, tree = flatten(dtype, lambda found: isinstance(found, DType | np.dtype | type | str))
    asked = [any_dtype_of(leaf) for leaf in leaves]
    return [(each if each.is_complex else dtype_of(each)).numpy for each in asked], tree


def _other_dtypes(dtype: Any, what: str) -> UserError:
    return ArgumentError.here(
        f"the dtype of ragged, {shown(dtype)}, does not fit {what}.",
        "Give one dtype, or a tuple or dict of them like an element.",
    )


NO_ROW = {
    "number": "Write a row with one element as [x]; cut flat values into rows with offsets=,"
    " lengths= or flags=.",
    "none": "Write [] for an empty row, or leave it out.",
    "text": "Rows may be bytes: row.encode().",
    "record": "Rows are lists of such records; arrays, one for each field, are cut by lengths=.",
}


def _no_row(row: Any, place: int, kind: str) -> UserError:
    if kind == "number" and row != row:  # how pandas writes what is missing
        kind = "none"
    what = "None" if row is None else "nan" if kind == "none" else kind_of(row)
    return ArgumentError.here(
        f"row {place} of ragged is {what}, where a list or an array is needed.", NO_ROW[kind]
    )


def _no_element(lengths: Any, place: int, kind: str) -> UserError:
    """None or text among the elements, by row and index in it."""
    ends = np.cumsum(lengths)
    row = int(np.searchsorted(ends, place, side="right"))
    at = place - int(ends[row] - lengths[row])
    what, remedy = "None, which is not a number", "Leave it out, or write fw.nan instead."
    if kind == "text":
        what, remedy = "text", "Convert it to a number first, or to bytes, which are rows of u8."
    return ArgumentError.here(f"element {at} of row {row} of ragged is {what}.", remedy)
