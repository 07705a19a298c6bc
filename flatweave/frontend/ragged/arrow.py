"""A Ragged of an Arrow column of lists, and an Arrow array of a Ragged.

    of_arrow(pyarrow.array([[1, 2], [], [3]]))    values [1, 2, 3], offsets [0, 2, 2, 3]
    of_arrow(polars.Series([[1, 2], [], [3]]))    the same, as any column with Arrow's interface
    to_arrow(rows)                                a pyarrow.LargeListArray

Values of one chunk are not copied, but for bools, which Arrow keeps as bits. Structs are dicts of
arrays, lists of a fixed size inside rows elements of a higher rank, texts rows of their bytes.
pyarrow is imported only to make an array of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.exchange import equal_rows, fields_of, null_error, record_of, vectors
from flatweave.frontend.ragged.host import on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.arrow import FIXED, FUNCTIONS, missing_in
from flatweave.frontend.values.capsules import NUMBERS, Chunk, chunks_of
from flatweave.frontend.values.exports import Column, lists, numbers, structs
from flatweave.frontend.values.interop import checked
from flatweave.frontend.values.sugar import METHODS
from flatweave.frontend.values.tree import flatten, unflatten

LISTS = {"+l": np.int32, "+L": np.int64}
TEXT = {"u": np.int32, "z": np.int32, "U": np.int64, "Z": np.int64}
VIEWS = ("+vl", "+vL", "vu", "vz")
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
    if form not in LISTS | TEXT and not form.startswith(FIXED) and form not in VIEWS:
        raise ArgumentError(
            "ragged got an Arrow column whose elements are no lists.",
            where=user_location(),
            remedy="Cut its values into rows with offsets=, lengths= or flags=.",
        )
    if form.startswith(FIXED):
        size, length = int(form.removeprefix(FIXED)), chunk.length
        _refuse_nulls(chunk, "its rows", 0, length)
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
    if chunk.is_dictionary or form in VIEWS:
        kind = "dictionaries" if chunk.is_dictionary else "views of lists or text"
        raise Unsupported(
            f"ragged got an Arrow column with {kind}.",
            where=user_location(), remedy="Cast it to a list of numbers, or to text, first.",
        )  # fmt: skip
    if form in LISTS:
        offsets = chunk.buffer(1, LISTS[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        inner = _values(chunk.children[0], begin, end - begin, VALUES)
        return on_host(inner, offsets=offsets - offsets[0] if begin else offsets)
    if form in TEXT:
        offsets = chunk.buffer(1, TEXT[form], first, count + 1)
        begin, end = int(offsets[0]), int(offsets[-1])
        return on_host(chunk.buffer(2, np.uint8, begin, end - begin), offsets=offsets - begin)
    if form.startswith(FIXED):
        size = int(form.removeprefix(FIXED))
        inner = _values(chunk.children[0], first * size, count * size, VALUES)
        return vectors(inner, size, count)
    if form == "+s":
        parts = [_values(child, first, count, FIELDS) for child in chunk.children]
        return record_of(parts, [child.name for child in chunk.children])
    if form == "b":
        return chunk.bits(1, first, count)
    if form == "n":  # nothing but nulls
        return np.zeros(0)
    if form not in NUMBERS:
        raise DTypeError(
            f"ragged got an Arrow column whose rows hold no numbers (format {form!r}).",
            where=user_location(),
            remedy="Cast them first: dates and decimals to integers.",
        )
    return checked(chunk.buffer(1, NUMBERS[form], first, count), "the values of ragged")


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
