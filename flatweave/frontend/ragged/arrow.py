"""A Ragged of an Arrow column of lists, and an Arrow array of a Ragged.

    of_arrow(pyarrow.array([[1, 2], [], [3]]))    values [1, 2, 3], offsets [0, 2, 2, 3]
    of_arrow(polars.Series([[1, 2], [], [3]]))    the same, as any column with Arrow's interface
    to_arrow(rows)                                a pyarrow.LargeListArray

Values of one chunk are not copied, but for bools, which Arrow keeps as bits, for dictionaries, and
for views, whose rows may be anywhere: polars keeps text so. Structs are dicts of arrays, lists of a
fixed size inside rows elements of a higher rank, texts rows of their bytes. pyarrow is imported
only to make an array of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.exchange import equal_rows, fields_of, null_error, record_of, vectors
from flatweave.frontend.ragged.host import on_host
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
from flatweave.frontend.values.foreign_arrays import checked
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.tree import flatten, map_leaves, unflatten

LISTS = {"+l": np.int32, "+L": np.int64}
TEXT = {"u": np.int32, "z": np.int32, "U": np.int64, "Z": np.int64}
LIST_VIEWS = {"+vl": np.int32, "+vL": np.int64}
TEXT_VIEWS = ("vu", "vz")
VIEW, INLINE = 16, 12  # the bytes of a view of text, and of a text that is inside its view
VALUES, FIELDS = "the elements of its rows", "the fields of its structs"


def of_arrow(column: Any) -> Ragged:
    """The rows of a column of lists; those of several chunks are copied together."""
    parts = [_rows(chunk) for chunk in chunks_of(column)]
    found: Ragged = parts[0] if len(parts) == 1 else _joined(parts)
    return found


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
        values = _values(chunk.children[0], chunk.offset * size, length * size, VALUES)
        return equal_rows(values, size, length)
    rows: Ragged = _values(chunk, 0, chunk.length, "its rows")
    return rows


def _values(chunk: Chunk, start: int, count: int, whose: str) -> Any:
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
        meant = _values(chunk.dictionary, 0, chunk.dictionary.length, whose)
        return _picked(meant, chunk.buffer(1, NUMBERS[form], first, count))
    if form in LISTS:
        offsets = chunk.buffer(1, LISTS[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        inner = _values(chunk.children[0], begin, end - begin, VALUES)
        return on_host(inner, offsets=offsets - offsets[0] if begin else offsets)
    if form in TEXT:
        offsets = chunk.buffer(1, TEXT[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        return on_host(chunk.buffer(2, np.uint8, begin, end - begin), offsets=offsets - begin)
    if form in LIST_VIEWS:
        begins, sizes = (chunk.buffer(k, LIST_VIEWS[form], first, count) for k in (1, 2))
        inner = _values(chunk.children[0], 0, chunk.children[0].length, VALUES)
        return _rows_at(inner, begins, sizes)
    if form in TEXT_VIEWS:
        return _viewed_text(chunk, first, count)
    if form.startswith(FIXED):
        size = int(form.removeprefix(FIXED))
        inner = _values(chunk.children[0], first * size, count * size, VALUES)
        return vectors(inner, size, count)
    if form == "+s":
        parts = [_values(child, first, count, FIELDS) for child in chunk.children]
        return record_of(parts, [child.name for child in chunk.children])
    if form == "n":  # nothing but nulls
        return np.zeros(0)
    return _numbers(chunk, start, count)


def _numbers(chunk: Chunk, start: int, count: int) -> Any:
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
