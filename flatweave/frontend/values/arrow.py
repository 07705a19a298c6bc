"""Arrow columns of numbers as arrays: the values, and where nothing is.

    numbers_of(pyarrow.array([1, None, 3]))     [1, ?, 3], [False, True, False]
    numbers_of(polars.Series([True, False]))    [True, False], None

The values of one chunk are not copied, but for bools, which Arrow keeps as bits. Lists of a fixed
size are an axis more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, UserError
from flatweave.base.source import user_location
from flatweave.frontend.values.capsules import NUMBERS, Chunk, chunks_of

Values = np.ndarray[Any, np.dtype[Any]]
FIXED = "+w:"
FUNCTIONS = "fill_null and drop_nulls"
TIMES = ("tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn", "ts")


def is_arrow(value: Any) -> bool:
    """Whether a value offers Arrow's C interface."""
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def column_behind(value: Any) -> Any:
    """The Arrow column that a Series of pandas keeps its values in; None for other values."""
    if not hasattr(getattr(value, "dtype", None), "pyarrow_dtype"):
        return None
    column = getattr(value, "array", value)
    return column.__arrow_array__() if hasattr(column, "__arrow_array__") else None


def numbers_of(column: Any, name: str) -> tuple[Values, Values | None]:
    """The numbers of a column, and where they are missing; None where none is."""
    parts = [(_values(chunk, chunk.offset, chunk.length, name), missing_in(chunk, 0, chunk.length))
             for chunk in chunks_of(column)]  # fmt: skip
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([found for found, _ in parts])
    if all(missing is None for _, missing in parts):
        return values, None
    holes = [np.zeros(len(found), np.bool_) if missing is None else missing
             for found, missing in parts]  # fmt: skip
    return values, np.concatenate(holes)


def missing_in(chunk: Chunk, start: int, count: int) -> Values | None:
    """Where elements of a chunk are missing among those from `start`; None where none is."""
    if chunk.format == "n" and count:
        return np.ones(count, np.bool_)
    if not chunk.null_count or not chunk.addresses or not chunk.addresses[0]:
        return None
    found: Values = ~chunk.bits(0, chunk.offset + start, count)
    return found if found.any() else None


def _values(chunk: Chunk, first: int, count: int, name: str) -> Values:
    """`count` numbers from the place `first` of a buffer."""
    form = chunk.format
    if form in NUMBERS and not chunk.is_dictionary:
        return chunk.buffer(1, NUMBERS[form], first, count)
    if form == "b":
        return chunk.bits(1, first, count)
    if form == "n":
        return np.zeros(count)
    if form.startswith(FIXED):
        size, inner = int(form.removeprefix(FIXED)), chunk.children[0]
        if missing_in(inner, first * size, count * size) is not None:
            raise ArgumentError(
                f"{name} holds nulls inside of its lists, which no number stands for.",
                where=user_location(), remedy=f"Fill or drop them first, with {FUNCTIONS}.",
            )  # fmt: skip
        found = _values(inner, inner.offset + first * size, count * size, name)
        return found.reshape(count, size, *found.shape[1:])
    raise _no_numbers(chunk, name)


def _no_numbers(chunk: Chunk, name: str) -> UserError:
    """What to do about a column of something else."""
    form = chunk.format
    if form.startswith(("+l", "+L", "+vl", "+vL")):
        return ArgumentError(
            f"{name} is an Arrow column of lists.",
            where=user_location(),
            remedy="Make a Ragged of its rows first, which may differ in length: fw.ragged(xs).",
        )
    if form.startswith("+"):
        return ArgumentError(
            f"{name} is an Arrow table or a column of structs, unions or runs.",
            where=user_location(), remedy="Take its columns of numbers one by one.",
        )  # fmt: skip
    remedy = "Cast it first: text to numbers, decimals to floats."
    if chunk.is_dictionary:
        remedy = "Take its codes: xs.indices in pyarrow, xs.to_physical() in polars."
    elif form.startswith(TIMES):
        remedy = "Cast it to integers first: xs.cast(pyarrow.int64()), or to_physical() in polars."
    return DTypeError(
        f"{name} is an Arrow column without numbers (format {form!r}).",
        where=user_location(), remedy=remedy,
    )  # fmt: skip
