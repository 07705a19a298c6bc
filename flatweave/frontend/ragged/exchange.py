"""A Ragged of a column of Awkward or Arrow; the values are not copied.

    of_awkward(ak.Array([[1, 2], [], [3]]))       values [1, 2, 3], offsets [0, 2, 2, 3]
    of_arrow(pyarrow.array([[1, 2], [], [3]]))    values [1, 2, 3], offsets [0, 2, 2, 3]
    of_arrow(polars.Series([[1, 2], [], [3]]))    the same, as any column with Arrow's interface

Records and structs are dicts of arrays, tuples are tuples. Of Arrow, lists of a fixed size inside
rows are elements of a higher rank, texts rows of their bytes; copied are several chunks, bools,
which Arrow keeps as bits, dictionaries, and views, whose rows may be anywhere: polars keeps text
so. The way back is in `to_columns.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, Unsupported
from flatweave.frontend.ragged.offsets import Masked, may_miss, null_error, on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arrow_columns import (
    FIXED,
    FUNCTIONS,
    NoNumbers,
    missing_in,
    numbers_in,
)
from flatweave.frontend.values.arrow_interface import NUMBERS, Chunk, chunks_of
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.foreign_arrays import checked
from flatweave.frontend.values.tree import flatten, map_leaves, unflatten


def record_of(parts: Sequence[Any], fields: Sequence[str] | None) -> object:
    """Arrays as the dict of their fields, as a tuple where these have no names."""
    if any(isinstance(part, Ragged) for part in parts):
        raise Unsupported.here(
            "ragged got rows whose elements are records that hold lists.",
            "Make one Ragged of each field, fw.ragged(xs.field), with the same lengths.",
        )
    return tuple(parts) if fields is None else dict(zip(fields, parts, strict=True))


def vectors(values: Any, size: int, count: int) -> object:
    """`count` elements of `size` values each, as elements of a higher rank."""
    if isinstance(values, Ragged):
        return equal_rows(values, size, count)
    return map_leaves(lambda x: x[: count * size].reshape(count, size, *x.shape[1:]), values)


def equal_rows(values: Any, size: int, count: int) -> Ragged:
    """`count` rows of `size` values each."""
    return on_host(values, lengths=np.full(count, size, np.int64))


ROWS, VALUES = "its rows", "the elements of its rows"
FIELDS = "the fields of its records"
OF_AWKWARD = "ak.fill_none(xs, 0, axis=None) or ak.drop_none(xs)"
TEXTS = ("string", "bytestring", "char", "byte")


def is_awkward(value: Any) -> bool:
    """Whether a value is an array of Awkward."""
    return hasattr(value, "layout") and hasattr(value, "behavior")


def of_awkward(array: Any, nulls: str = "raise") -> Ragged:
    """The rows of an Awkward array of lists; with Masked elements unless nulls raise."""
    found = _layout_values(array.layout, ROWS, nulls, is_outermost=True)
    if isinstance(found, Ragged):
        return found
    leaf = found.values if isinstance(found, Masked) else found
    if isinstance(leaf, np.ndarray) and leaf.ndim > 1:
        count, size = leaf.shape[:2]
        flat = map_leaves(lambda x: x.reshape(count * size, *x.shape[2:]), found)
        return equal_rows(flat, size, count)
    raise ArgumentError.here(
        f"ragged got an Awkward array of type {array.type}, whose elements are no lists.",
        "Cut its values into rows with lengths=: fw.ragged(ak.to_numpy(xs), lengths=..).",
    )


def _layout_values(layout: Any, whose: str, nulls: str, is_outermost: bool = False) -> object:
    """An array, a tree of arrays, or a Ragged, that stands for a part of a layout."""
    if layout.parameter("__array__") in TEXTS:
        raise DTypeError.here(
            f"ragged got an Awkward array with text: {whose} are strings.",
            "Take a field of numbers, or numbers that stand for it.",
        )
    if layout.is_option:
        return _option_values(layout, whose, nulls, is_outermost)
    if layout.is_indexed:
        return _layout_values(layout.project(), whose, nulls, is_outermost)
    if layout.is_union:
        raise Unsupported.here(
            "ragged got an Awkward array whose elements are of several types (a union).",
            "Bring them to one type: ak.values_astype, ak.zip.",
        )
    if layout.is_record:
        parts = [_layout_values(x[: layout.length], FIELDS, nulls) for x in layout.contents]
        return record_of(parts, None if layout.is_tuple else layout.fields)
    if layout.is_regular and not is_outermost:
        return vectors(_layout_values(layout.content, VALUES, nulls), layout.size, layout.length)
    if layout.is_list:
        even = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(even.offsets.data)
        inner = _layout_values(even.content[: int(offsets[-1])], VALUES, nulls)
        return on_host(inner, offsets=offsets)
    values = np.zeros(0)  # of no known type: an array without elements
    if layout.is_numpy:
        values = checked(np.asarray(layout.data), "the values of ragged")
    return values if nulls == "raise" else may_miss(values)


def _option_values(layout: Any, whose: str, nulls: str, is_outermost: bool) -> object:
    """Elements that may be missing."""
    missing = np.asarray(layout.mask_as_bool(valid_when=False))
    if not missing.any():
        found = layout.content if not hasattr(layout, "project") else layout.project()
        return _layout_values(found, whose, nulls, is_outermost)
    index = getattr(layout, "index", None)
    content = layout.content[: layout.length] if index is None else layout.content
    found = _layout_values(content, whose, nulls, is_outermost)
    if isinstance(found, Ragged) or nulls == "raise":
        raise null_error("an Awkward array", whose, missing, OF_AWKWARD, isinstance(found, Ragged))
    if index is not None:
        found = _picked(found, np.asarray(index.data), missing)
    return may_miss(found, missing)


LISTS = {"+l": np.int32, "+L": np.int64}
TEXT = {"u": np.int32, "z": np.int32, "U": np.int64, "Z": np.int64}
LIST_VIEWS = {"+vl": np.int32, "+vL": np.int64}
TEXT_VIEWS = ("vu", "vz")
VIEW, INLINE = 16, 12  # the bytes of a view of text, and of a text that is inside its view
STRUCT_FIELDS = "the fields of its structs"


def of_arrow(column: Any, nulls: str = "raise") -> Ragged:
    """The rows of a column of lists; those of several chunks are copied together. With Masked
    elements unless nulls raise."""
    parts = [_rows(chunk, nulls) for chunk in chunks_of(column)]
    return parts[0] if len(parts) == 1 else _joined_rows(parts)


def _rows(chunk: Chunk, nulls: str) -> Ragged:
    """The rows of a chunk that must hold lists."""
    form = chunk.format
    if form.startswith("+s"):
        raise ArgumentError.here(
            "ragged got a table or a column of structs, not a column of lists.",
            "Pass one column of lists: fw.ragged(table['name']).",
        )
    if not form.startswith(FIXED) and not _is_row(chunk):
        raise ArgumentError.here(
            "ragged got an Arrow column whose elements are no lists.",
            "Cut its values into rows with offsets=, lengths= or flags=.",
        )
    if form.startswith(FIXED):
        size, length = int(form.removeprefix(FIXED)), chunk.length
        missing = missing_in(chunk, 0, length)
        if missing is not None:
            raise null_error("an Arrow column", ROWS, missing, FUNCTIONS, are_rows=True)
        if chunk.extension:
            lists: Any = _numbers(chunk, 0, length, ROWS, nulls)
            size = (lists.values if isinstance(lists, Masked) else lists).shape[1]
            flat = map_leaves(lambda x: x.reshape(-1, *x.shape[2:]), lists)
            return equal_rows(flat, size, length)
        first = chunk.offset * size
        return equal_rows(
            _chunk_values(chunk.children[0], first, length * size, VALUES, nulls), size, length
        )
    rows = _chunk_values(chunk, 0, chunk.length, ROWS, nulls)
    assert isinstance(rows, Ragged)
    return rows


def _chunk_values(chunk: Chunk, start: int, count: int, whose: str, nulls: str) -> object:
    """`count` elements of a chunk: an array, a tree of arrays or a Ragged."""
    must_be_inside(chunk, start, count)
    missing = missing_in(chunk, start, count)
    if missing is not None and (nulls == "raise" or _is_row(chunk)):
        raise null_error("an Arrow column", whose, missing, FUNCTIONS, _is_row(chunk))
    found = _held(chunk, start, count, whose, nulls, missing)
    return found if missing is None else may_miss(found, missing)


def must_be_inside(chunk: Chunk, start: int, count: int) -> None:
    """Raise an error where rows have elements that their chunk has not."""
    if start < 0 or count < 0 or start + count > chunk.length:
        raise ArgumentError.here(
            f"ragged got an Arrow column that is damaged: elements from {start} to {start + count}"
            f" of {chunk.length} belong to its rows.",
            "Let its library check it: column.validate(full=True).",
        )


def row_places(
    chunk: Chunk, first: int, count: int, missing: Values | None
) -> tuple[Values, Values]:
    """Where each of `count` rows begins, from the row `first` of the buffers on, and how many
    elements it has; none where it is missing."""
    form = chunk.format
    if form in LIST_VIEWS:
        begins, lengths = (chunk.buffer(k, LIST_VIEWS[form], first, count) for k in (1, 2))
    else:
        offsets = chunk.buffer(1, {**LISTS, **TEXT}.get(form, np.int32), first, count + 1)
        begins, lengths = offsets[:-1], np.diff(offsets)
    return begins, lengths if missing is None else np.where(missing, 0, lengths)


def text_rows(chunk: Chunk, first: int, count: int, missing: Values | None) -> Ragged:
    """The bytes of texts, over the memory of the chunk unless it has views, or bytes in texts that
    are missing."""
    if chunk.format in TEXT_VIEWS:
        return _viewed_text(chunk, first, count, missing)
    begins, lengths = row_places(chunk, first, count, missing)
    offsets = chunk.buffer(1, TEXT[chunk.format], first, count + 1)
    begin, end = int(offsets[0]), int(offsets[-1])
    letters = chunk.buffer(2, np.uint8, begin, end - begin)
    if int(lengths.sum()) == end - begin:
        return on_host(letters, offsets=offsets - begin)
    return _rows_at(letters, begins - begin, lengths)


def _is_row(chunk: Chunk) -> bool:
    """Whether each element of a chunk is a row, or holds some."""
    if chunk.dictionary is not None:
        return _is_row(chunk.dictionary)
    if chunk.format.startswith(FIXED):
        return _is_row(chunk.children[0])
    return chunk.format in (*LISTS, *TEXT, *LIST_VIEWS, *TEXT_VIEWS)


def _held(
    chunk: Chunk, start: int, count: int, whose: str, nulls: str, missing: Values | None
) -> object:
    """The same, with anything for elements that are missing themselves."""
    form, first = chunk.format, chunk.offset + start
    if chunk.dictionary is not None and not chunk.extension:
        meant = _chunk_values(chunk.dictionary, 0, chunk.dictionary.length, whose, nulls)
        return _picked(meant, chunk.buffer(1, NUMBERS[form], first, count), missing)
    if form in LISTS:
        offsets = chunk.buffer(1, LISTS[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        inner = _chunk_values(chunk.children[0], begin, end - begin, VALUES, nulls)
        return on_host(inner, offsets=offsets - offsets[0] if begin else offsets)
    if form in TEXT or form in TEXT_VIEWS:
        return text_rows(chunk, first, count, missing)
    if form in LIST_VIEWS:
        inner = _chunk_values(chunk.children[0], 0, chunk.children[0].length, VALUES, nulls)
        return _rows_at(inner, *row_places(chunk, first, count, missing))
    if form.startswith(FIXED) and not chunk.extension:
        size = int(form.removeprefix(FIXED))
        inner = _chunk_values(chunk.children[0], first * size, count * size, VALUES, nulls)
        return vectors(inner, size, count)
    if form == "+s":
        parts = [_chunk_values(child, first, count, STRUCT_FIELDS, nulls)
                 for child in chunk.children]  # fmt: skip
        return record_of(parts, [child.name for child in chunk.children])
    return _numbers(chunk, start, count, whose, nulls)


def _numbers(chunk: Chunk, start: int, count: int, whose: str, nulls: str) -> object:
    """Elements that are numbers."""
    try:
        found, missing = numbers_in(chunk, start, count, "the values of ragged")
    except NoNumbers as failure:
        raise failure.user_error_of(None) from None
    values = checked(found, "the values of ragged")
    if nulls != "raise":
        return may_miss(values if missing is None else Masked(values, missing))
    if missing is not None:
        elements: Values = missing.reshape(len(missing), -1).max(axis=1)
        raise null_error("an Arrow column", whose, elements, FUNCTIONS)
    return values


def _picked(values: Any, places: Any, missing: Values | None = None) -> object:
    """Elements, or rows, at these places; anything for those that are missing."""
    if isinstance(values, Ragged):
        offsets = values.offsets.to_numpy()
        return _rows_at(values.values, offsets[places], np.diff(offsets)[places])
    if missing is not None:
        places = np.where(missing, 0, places)

    def leaf(x: Any) -> object:
        held = np.asarray(x)
        if missing is not None and not len(held):
            held = np.zeros((1, *held.shape[1:]), held.dtype)
        return held[places]

    return map_leaves(leaf, values)


def _rows_at(values: Any, begins: Any, lengths: Any) -> Ragged:
    """Rows that begin anywhere in some values, put one after the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    moved = np.repeat(begins - (ends - lengths), lengths)
    places = moved + np.arange(len(moved))
    return on_host(_picked(values, places), lengths=np.asarray(lengths, np.int64))


def _viewed_text(chunk: Chunk, first: int, count: int, missing: Values | None) -> Ragged:
    """Texts, each in a view of 16 bytes: its length, and either all of it, or which buffer has it
    and where."""
    views = chunk.buffer(1, np.uint8, first * VIEW, count * VIEW)
    words = views.view(np.int32).reshape(count, VIEW // 4)
    lengths = words[:, 0].astype(np.int64)
    if missing is not None:
        lengths[missing] = 0
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


def _joined(parts: Sequence[Any]) -> object:
    """Chunks one after the other: arrays, trees of arrays or Ragged values of one structure."""
    if isinstance(parts[0], Ragged):
        return _joined_rows(parts)
    columns = zip(*(flatten(part)[0] for part in parts), strict=True)
    return unflatten(flatten(parts[0])[1], [np.concatenate(column) for column in columns])


def _joined_rows(parts: Sequence[Ragged]) -> Ragged:
    """The rows of several Ragged values, in order."""
    lengths = [np.diff(part.offsets.to_numpy()) for part in parts]
    values = _joined([part.values for part in parts])
    return on_host(values, lengths=np.concatenate(lengths))
