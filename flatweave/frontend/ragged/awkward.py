"""A Ragged of an Awkward array, and an Awkward array of a Ragged; the values are not copied.

    of_awkward(ak.Array([[1, 2], [], [3]]))       values [1, 2, 3], offsets [0, 2, 2, 3]
    to_awkward(rows)                              ak.Array([[1, 2], [], [3]])

Records are dicts of arrays, tuples are tuples. A layout is read by what it says of itself, so that
Awkward is imported only to make an array of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, Unsupported
from flatweave.base.source import user_location
from flatweave.frontend.ragged.exchange import equal_rows, fields_of, null_error, record_of, vectors
from flatweave.frontend.ragged.host import on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.foreign_arrays import checked
from flatweave.frontend.values.operators import METHODS

VALUES, FIELDS = "the elements of its rows", "the fields of its records"
TEXTS = ("string", "bytestring", "char", "byte")


def is_awkward(value: Any) -> bool:
    """Whether a value is an array of Awkward."""
    return hasattr(value, "layout") and hasattr(value, "behavior")


def of_awkward(array: Any) -> Ragged:
    """The rows of an Awkward array of lists."""
    found = _values(array.layout, "its rows", is_outermost=True)
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


def _values(layout: Any, whose: str, is_outermost: bool = False) -> Any:
    """An array, a tree of arrays, or a Ragged, that stands for a part of a layout."""
    if layout.parameter("__array__") in TEXTS:
        raise DTypeError(
            f"ragged got an Awkward array with text: {whose} are strings.",
            where=user_location(), remedy="Take a field of numbers, or numbers that stand for it.",
        )  # fmt: skip
    if layout.is_option:
        return _values(_without_nulls(layout, whose), whose, is_outermost)
    if layout.is_indexed:
        return _values(layout.project(), whose, is_outermost)
    if layout.is_union:
        raise Unsupported(
            "ragged got an Awkward array whose elements are of several types (a union).",
            where=user_location(), remedy="Bring them to one type: ak.values_astype, ak.zip.",
        )  # fmt: skip
    if layout.is_record:
        parts = [_values(content[: layout.length], FIELDS) for content in layout.contents]
        return record_of(parts, None if layout.is_tuple else layout.fields)
    if layout.is_regular and not is_outermost:
        return vectors(_values(layout.content, VALUES), layout.size, layout.length)
    if layout.is_list:
        even = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(even.offsets.data)
        inner = _values(even.content[: int(offsets[-1])], VALUES)
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
