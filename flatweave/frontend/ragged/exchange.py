"""A Ragged of a column of Awkward or Arrow, and the way back; the values are not copied.

    of_awkward(ak.Array([[1, 2], [], [3]]))       values [1, 2, 3], offsets [0, 2, 2, 3]
    to_awkward(rows)                              ak.Array([[1, 2], [], [3]])
    of_arrow(pyarrow.array([[1, 2], [], [3]]))    values [1, 2, 3], offsets [0, 2, 2, 3]
    of_arrow(polars.Series([[1, 2], [], [3]]))    the same, as any column with Arrow's interface
    to_arrow(rows)                                a pyarrow.LargeListArray

Records and structs are dicts of arrays, tuples are tuples. Of Arrow, lists of a fixed size inside
rows are elements of a higher rank, texts rows of their bytes; copied are several chunks, bools,
which Arrow keeps as bits, dictionaries, and views, whose rows may be anywhere: polars keeps text
so. Awkward and pyarrow are imported only to make an array of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.offsets import on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arrow_columns import (
    FIXED,
    FUNCTIONS,
    NoNumbers,
    missing_in,
    numbers_in,
)
from flatweave.frontend.values.arrow_interface import (
    NUMBERS,
    Chunk,
    Column,
    chunks_of,
    lists,
    numbers,
    structs,
)
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.foreign_arrays import checked
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.tree import flatten, map_leaves, unflatten


def record_of(parts: Sequence[Any], fields: Sequence[str] | None) -> Any:
    """Arrays as the dict of their fields, as a tuple where these have no names."""
    if any(isinstance(part, Ragged) for part in parts):
        raise Unsupported(
            "ragged got rows whose elements are records that hold lists.",
            where=user_location(),
            remedy="Make one Ragged of each field, fw.ragged(xs.field), with the same lengths.",
        )
    return tuple(parts) if fields is None else dict(zip(fields, parts, strict=True))


def vectors(values: Any, size: int, count: int) -> Any:
    """`count` elements of `size` values each, as elements of a higher rank."""
    if isinstance(values, Ragged):
        return equal_rows(values, size, count)
    return map_leaves(lambda x: x[: count * size].reshape(count, size, *x.shape[1:]), values)


def equal_rows(values: Any, size: int, count: int) -> Ragged:
    """`count` rows of `size` values each."""
    return on_host(values, lengths=np.full(count, size, np.int64))


def null_error(what: str, whose: str, place: int, count: int, functions: str) -> UserError:
    """What is missing in another library's array."""
    holds = "a null" if count == 1 else f"{count} nulls"
    return ArgumentError(
        f"ragged got {what} with {holds} among {whose}, the first at {place}; no number stands for"
        " that.",
        where=user_location(),
        remedy=f"Fill them with a value or drop them first, for instance with {functions}.",
    )


def fields_of(values: Any) -> tuple[list[Any] | None, list[str] | None]:
    """The parts of a record and their names, None for those of a tuple; None, None for an array."""
    if hasattr(values, "_fields"):
        return list(values), list(values._fields)
    if isinstance(values, tuple | list):
        return list(values), None
    if isinstance(values, dict):
        return list(values.values()), [str(name) for name in values]
    if hasattr(type(values), "__dataclass_fields__"):
        names = list(type(values).__dataclass_fields__)
        return [getattr(values, name) for name in names], names
    return None, None


VALUES, FIELDS = "the elements of its rows", "the fields of its records"
TEXTS = ("string", "bytestring", "char", "byte")


def is_awkward(value: Any) -> bool:
    """Whether a value is an array of Awkward."""
    return hasattr(value, "layout") and hasattr(value, "behavior")


def of_awkward(array: Any) -> Ragged:
    """The rows of an Awkward array of lists."""
    found = _layout_values(array.layout, "its rows", is_outermost=True)
    if isinstance(found, Ragged):
        return found
    if isinstance(found, np.ndarray) and found.ndim > 1:
        count, size = found.shape[:2]
        return equal_rows(found.reshape(count * size, *found.shape[2:]), size, count)
    raise ArgumentError(
        f"ragged got an Awkward array of type {array.type}, whose elements are no lists.",
        where=user_location(),
        remedy="Cut its values into rows with lengths=: fw.ragged(ak.to_numpy(xs), lengths=..).",
    )


def _layout_values(layout: Any, whose: str, is_outermost: bool = False) -> Any:
    """An array, a tree of arrays, or a Ragged, that stands for a part of a layout."""
    if layout.parameter("__array__") in TEXTS:
        raise DTypeError(
            f"ragged got an Awkward array with text: {whose} are strings.",
            where=user_location(), remedy="Take a field of numbers, or numbers that stand for it.",
        )  # fmt: skip
    if layout.is_option:
        return _layout_values(_without_nulls(layout, whose), whose, is_outermost)
    if layout.is_indexed:
        return _layout_values(layout.project(), whose, is_outermost)
    if layout.is_union:
        raise Unsupported(
            "ragged got an Awkward array whose elements are of several types (a union).",
            where=user_location(), remedy="Bring them to one type: ak.values_astype, ak.zip.",
        )  # fmt: skip
    if layout.is_record:
        parts = [_layout_values(content[: layout.length], FIELDS) for content in layout.contents]
        return record_of(parts, None if layout.is_tuple else layout.fields)
    if layout.is_regular and not is_outermost:
        return vectors(_layout_values(layout.content, VALUES), layout.size, layout.length)
    if layout.is_list:
        even = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(even.offsets.data)
        inner = _layout_values(even.content[: int(offsets[-1])], VALUES)
        return on_host(inner, offsets=offsets)
    if layout.is_numpy:
        return checked(np.asarray(layout.data), "the values of ragged")
    return np.zeros(0)  # of no known type: an array without elements


def _without_nulls(layout: Any, whose: str) -> Any:
    """The content of elements that may be missing, of which none is."""
    missing = np.flatnonzero(np.asarray(layout.mask_as_bool(valid_when=False)))
    if len(missing):
        raise null_error("an Awkward array", whose, int(missing[0]), len(missing),
                         "ak.fill_none(xs, 0, axis=None) or ak.drop_none(xs)")  # fmt: skip
    return layout.content if not hasattr(layout, "project") else layout.project()


def to_awkward(rows: Ragged) -> Any:
    """An Awkward array of a Ragged on the host, over the same memory."""
    try:
        import awkward  # optional dependency
    except ImportError as failure:
        raise Unsupported(
            f"to_awkward needs Awkward Array: {failure}.",
            where=user_location(), remedy="Install it with pip install awkward.",
        ) from None  # fmt: skip

    def content(values: Any) -> Any:
        kinds = awkward.contents
        if isinstance(values, Ragged):
            offsets = awkward.index.Index64(values.offsets.to_numpy())
            return kinds.ListOffsetArray(offsets, content(values.values))
        parts, fields = fields_of(values)
        if parts is None:
            return kinds.NumpyArray(values.to_numpy())
        return kinds.RecordArray([content(part) for part in parts], fields)

    return awkward.Array(content(rows))


METHODS["to_awkward"] = to_awkward


LISTS = {"+l": np.int32, "+L": np.int64}
TEXT = {"u": np.int32, "z": np.int32, "U": np.int64, "Z": np.int64}
LIST_VIEWS = {"+vl": np.int32, "+vL": np.int64}
TEXT_VIEWS = ("vu", "vz")
VIEW, INLINE = 16, 12  # the bytes of a view of text, and of a text that is inside its view
STRUCT_FIELDS = "the fields of its structs"


def of_arrow(column: Any) -> Ragged:
    """The rows of a column of lists; those of several chunks are copied together."""
    parts = [_rows(chunk) for chunk in chunks_of(column)]
    return parts[0] if len(parts) == 1 else _joined(parts)


def _rows(chunk: Chunk) -> Ragged:
    """The rows of a chunk that must hold lists."""
    form = chunk.format
    if form.startswith("+s"):
        raise ArgumentError(
            "ragged got a table or a column of structs, not a column of lists.",
            where=user_location(),
            remedy="Pass one column of lists: fw.ragged(table['name']).",
        )
    meant = form if chunk.dictionary is None else chunk.dictionary.format
    if meant not in (*LISTS, *TEXT, *LIST_VIEWS, *TEXT_VIEWS) and not form.startswith(FIXED):
        raise ArgumentError(
            "ragged got an Arrow column whose elements are no lists.",
            where=user_location(),
            remedy="Cut its values into rows with offsets=, lengths= or flags=.",
        )
    if form.startswith(FIXED):
        size, length = int(form.removeprefix(FIXED)), chunk.length
        _refuse_nulls(chunk, "its rows", 0, length)
        if chunk.extension:
            lists = _numbers(chunk, 0, length)
            return equal_rows(lists.reshape(-1, *lists.shape[2:]), lists.shape[1], length)
        values = _chunk_values(chunk.children[0], chunk.offset * size, length * size, VALUES)
        return equal_rows(values, size, length)
    return _chunk_values(chunk, 0, chunk.length, "its rows")


def _chunk_values(chunk: Chunk, start: int, count: int, whose: str) -> Any:
    """`count` elements of a chunk: an array, a tree of arrays or a Ragged."""
    form = chunk.format
    if start < 0 or count < 0 or start + count > chunk.length:
        raise ArgumentError(
            f"ragged got an Arrow column that is damaged: elements from {start} to {start + count}"
            f" of {chunk.length} belong to its rows.",
            where=user_location(), remedy="Let its library check it: column.validate(full=True).",
        )  # fmt: skip
    _refuse_nulls(chunk, whose, start, count)
    first = chunk.offset + start
    if chunk.extension:
        return _numbers(chunk, start, count)
    if chunk.dictionary is not None:
        meant = _chunk_values(chunk.dictionary, 0, chunk.dictionary.length, whose)
        return _picked(meant, chunk.buffer(1, NUMBERS[form], first, count))
    if form in LISTS:
        offsets = chunk.buffer(1, LISTS[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        inner = _chunk_values(chunk.children[0], begin, end - begin, VALUES)
        return on_host(inner, offsets=offsets - offsets[0] if begin else offsets)
    if form in TEXT:
        offsets = chunk.buffer(1, TEXT[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        return on_host(chunk.buffer(2, np.uint8, begin, end - begin), offsets=offsets - begin)
    if form in LIST_VIEWS:
        begins, sizes = (chunk.buffer(k, LIST_VIEWS[form], first, count) for k in (1, 2))
        inner = _chunk_values(chunk.children[0], 0, chunk.children[0].length, VALUES)
        return _rows_at(inner, begins, sizes)
    if form in TEXT_VIEWS:
        return _viewed_text(chunk, first, count)
    if form.startswith(FIXED):
        size = int(form.removeprefix(FIXED))
        inner = _chunk_values(chunk.children[0], first * size, count * size, VALUES)
        return vectors(inner, size, count)
    if form == "+s":
        parts = [_chunk_values(child, first, count, STRUCT_FIELDS) for child in chunk.children]
        return record_of(parts, [child.name for child in chunk.children])
    if form == "n":  # nothing but nulls
        return np.zeros(0)
    return _numbers(chunk, start, count)


def _numbers(chunk: Chunk, start: int, count: int) -> Values:
    """Elements that are numbers."""
    try:
        found, missing = numbers_in(chunk, start, count, "the values of ragged")
    except NoNumbers as failure:
        raise failure.told(None) from None
    if missing is not None:
        places = np.flatnonzero(missing)
        raise null_error("an Arrow column", VALUES, int(places[0]), len(places), FUNCTIONS)
    return checked(found, "the values of ragged")


def _picked(values: Any, places: Any) -> Any:
    """Elements, or rows, at these places."""
    if isinstance(values, Ragged):
        offsets = values.offsets.to_numpy()
        return _rows_at(values.values, offsets[places], np.diff(offsets)[places])
    return map_leaves(lambda leaf: np.asarray(leaf)[places], values)


def _rows_at(values: Any, begins: Any, lengths: Any) -> Ragged:
    """Rows that begin anywhere in some values, put one after the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    moved = np.repeat(begins - (ends - lengths), lengths)
    places = moved + np.arange(len(moved))
    return on_host(_picked(values, places), lengths=np.asarray(lengths, np.int64))


def _viewed_text(chunk: Chunk, first: int, count: int) -> Ragged:
    """Texts, each in a view of 16 bytes: its length, and either all of it, or which buffer has it
    and where."""
    views = chunk.buffer(1, np.uint8, first * VIEW, count * VIEW)
    words = views.view(np.int32).reshape(count, VIEW // 4)
    lengths = words[:, 0].astype(np.int64)
    is_inline = lengths <= INLINE
    buffers = np.where(is_inline, -1, words[:, 2])
    begins = np.where(is_inline, np.arange(count) * VIEW + 4, words[:, 3])
    ends = np.cumsum(lengths)
    found = np.empty(int(lengths.sum()), np.uint8)
    for number in np.unique(buffers).tolist():
        mine = np.flatnonzero(buffers == number)
        last = int((begins + lengths)[mine].max())
        source = views if number < 0 else chunk.buffer(2 + number, np.uint8, 0, last)
        into = np.repeat((ends - lengths)[mine] - begins[mine], lengths[mine])
        rows = _rows_at(np.arange(last), begins[mine], lengths[mine]).values.to_numpy()
        found[rows + into] = source[rows]
    return on_host(found, lengths=lengths)


def _refuse_nulls(chunk: Chunk, whose: str, start: int, count: int) -> None:
    """Raise an error for elements that are missing among those read."""
    missing = missing_in(chunk, start, count)
    if missing is not None:
        places = np.flatnonzero(missing)
        raise null_error("an Arrow column", whose, int(places[0]), len(places), FUNCTIONS)


def _joined(parts: Sequence[Any]) -> Any:
    """Chunks one after the other: arrays, trees of arrays or Ragged values of one structure."""
    if isinstance(parts[0], Ragged):
        lengths = [np.diff(part.offsets.to_numpy()) for part in parts]
        values = _joined([part.values for part in parts])
        return on_host(values, lengths=np.concatenate(lengths))
    columns = zip(*(flatten(part)[0] for part in parts), strict=True)
    return unflatten(flatten(parts[0])[1], [np.concatenate(column) for column in columns])


def to_arrow(rows: Ragged) -> Any:
    """A pyarrow array of a Ragged on the host, over the same memory but for bools."""
    try:
        import pyarrow  # optional dependency
    except ImportError as failure:
        raise _missing(failure) from None
    return pyarrow.array(rows)


def column_of(values: Any) -> Column:
    """Rows, records or an array as Arrow sees them; the parts of a tuple are numbered."""
    if isinstance(values, Ragged):
        return lists(values.offsets.to_numpy(), column_of(values.values))
    parts, fields = fields_of(values)
    if parts is None:
        return numbers(values.to_numpy())
    names = fields or [str(number) for number in range(len(parts))]
    return structs([column_of(part) for part in parts], names)


def _missing(failure: ImportError) -> UserError:
    return Unsupported(
        f"to_arrow needs pyarrow: {failure}.",
        where=user_location(), remedy="Install it with pip install pyarrow.",
    )  # fmt: skip


METHODS["to_arrow"] = to_arrow
METHODS["column_of"] = column_of
