"""A Ragged as a column of Arrow or of Awkward, over the same memory.

    to_arrow(rows)          a pyarrow.LargeListArray; dicts are structs, tuples have numbered fields
    to_awkward(rows)        ak.Array([[1, 2], [], [3]])

Values of which some are missing become nulls, Strings become text. Awkward and pyarrow are imported
only to make an array of theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import DTypeError, Unsupported, UserError
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import METHODS
from flatweave.frontend.values.arrow_interface import Column, lists, numbers, structs, with_missing
from flatweave.frontend.values.datetimes import Times, is_times, times_of

TICKS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
"""How Arrow writes the units of times."""


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


def _is_text(values: Any) -> bool:
    """Whether values are Strings, whose dtype is no number's."""
    return not isinstance(values, Ragged) and isinstance(getattr(values, "dtype", None), str)


def to_awkward(rows: Ragged) -> object:
    """An Awkward array of a Ragged on the host, over the same memory."""
    try:
        import awkward  # optional dependency
    except ImportError as failure:
        raise Unsupported.here(
            f"to_awkward needs Awkward Array: {failure}.", "Install it with pip install awkward."
        ) from None  # fmt: skip

    def content(values: Any) -> object:
        kinds = awkward.contents
        valid = getattr(values, "valid", None)
        if valid is not None:
            mask = awkward.index.Index8(valid.to_numpy().view(np.int8))
            return kinds.ByteMaskedArray(mask, content(values.values), valid_when=True)
        if _is_text(values):
            offsets = awkward.index.Index64(values.bytes.offsets.to_numpy())
            letters = kinds.NumpyArray(
                values.bytes.values.to_numpy(), parameters={"__array__": "char"}
            )
            return kinds.ListOffsetArray(offsets, letters, parameters={"__array__": "string"})
        if isinstance(values, Ragged):
            offsets = awkward.index.Index64(values.offsets.to_numpy())
            return kinds.ListOffsetArray(offsets, content(values.values))
        parts, fields = fields_of(values)
        if parts is None:
            return kinds.NumpyArray(values.to_numpy())
        return kinds.RecordArray([content(part) for part in parts], fields)

    return awkward.Array(content(rows))


def to_arrow(rows: Any) -> object:
    """A pyarrow array of a value on the host, over the same memory but for bools."""
    try:
        import pyarrow  # optional dependency
    except ImportError as failure:
        raise _missing(failure) from None
    return pyarrow.array(rows)


def column_of(values: Any) -> Column:
    """Rows, records or an array as Arrow sees them; the parts of a tuple are numbered."""
    valid = getattr(values, "valid", None)
    if valid is not None:
        return with_missing(column_of(values.values), np.asarray(valid))
    if _is_text(values):
        offsets, data = values.bytes.offsets.to_numpy(), values.bytes.values.to_numpy()
        return Column("U", len(offsets) - 1, (None, offsets, data))
    if isinstance(values, Ragged):
        return lists(values.offsets.to_numpy(), column_of(values.values))
    if isinstance(values, Times):
        return ticks(np.atleast_1d(np.asarray(values.ticks)), values.dtype)
    if is_times(values):
        return column_of(times_of(values))
    parts, fields = fields_of(values)
    if parts is None:
        return numbers(values.to_numpy())
    names = fields or [str(number) for number in range(len(parts))]
    return structs([column_of(part) for part in parts], names)


def ticks(values: np.ndarray[Any, np.dtype[Any]], dtype: np.dtype[Any]) -> Column:
    """Integers as times of a dtype of NumPy: its unit, and points or spans; days have 32 bits.

    Raises DTypeError for units that Arrow does not have.
    """
    unit, count = np.datetime_data(dtype)
    if dtype.kind == "M" and (unit, count) == ("D", 1):
        return numbers(values.astype(np.int32))._replace(format="tdD")
    if count != 1 or unit not in TICKS:
        raise DTypeError.here(
            f"Arrow has no times of {dtype}.", 'Convert them first: xs.astype("datetime64[s]").'
        )
    kind = f"ts{TICKS[unit]}:" if dtype.kind == "M" else f"tD{TICKS[unit]}"
    return numbers(values)._replace(format=kind)


def _missing(failure: ImportError) -> UserError:
    return Unsupported.here(
        f"to_arrow needs pyarrow: {failure}.", "Install it with pip install pyarrow."
    )


METHODS["to_arrow"] = to_arrow
METHODS["column_of"] = column_of
METHODS["to_awkward"] = to_awkward
