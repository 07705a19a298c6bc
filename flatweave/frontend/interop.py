"""NumPy arrays, DLPack and other people's arrays as values that a program can be given.

    values_of(np.arange(3)[::-1])      a C-contiguous copy
    values_of(torch_tensor)            a view through DLPack
    values_of("text")                  None: not an array
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError, UserError
from flatweave.base.source import user_location
from flatweave.frontend.array import HostArray, Tracer, host_array

Values = np.ndarray[Any, np.dtype[Any]]
NATIVE = frozenset(dtype.numpy for dtype in DTYPES)


def values_of(value: Any, name: str = "") -> Values | None:
    """The value as a C-contiguous NumPy array of a dtype of ours; None for what is no array.

    Raises DTypeError for arrays whose elements are not scalars of ours; `name` says in the message
    which array it is.
    """
    if isinstance(value, HostArray):
        return value.to_numpy()
    if isinstance(value, np.ndarray):
        if _is_masked(value):
            raise ArgumentError(
                f"{name or 'a value'} is a masked array; Flatweave has no masked elements.",
                where=user_location(), remedy="Fill them first: xs.filled(0).",
            )  # fmt: skip
        return checked(np.asarray(value), name)
    if isinstance(value, np.generic):
        return checked(np.asarray(value), name)
    if isinstance(value, Tracer | bool | int | float | str | bytes):
        return None
    return _foreign(value, name)


def _is_masked(value: Values) -> bool:
    """Whether an array is masked; numpy.ma is slow to load, and without it there is none."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def _foreign(value: Any, name: str) -> Values | None:
    """An array of another library, through DLPack if it is on the CPU, else `__array__`."""
    found: Any = None
    if hasattr(value, "__dlpack__"):
        try:
            found = np.from_dlpack(value)
        except (BufferError, TypeError, RuntimeError, AttributeError):
            found = None
    if found is None and hasattr(value, "__array__"):
        try:
            found = np.asarray(value)
        except UserError:
            raise
        except (TypeError, ValueError, RuntimeError) as failure:
            raise ArgumentError(
                f"{name or 'a value'} of type {type(value).__name__} cannot be read as an array:"
                f" {failure}",
                where=user_location(), remedy="Bring it to the CPU and to NumPy first.",
            ) from None  # fmt: skip
    return None if found is None else checked(found, name)


def checked(values: Values, name: str) -> Values:
    """The array itself if a program can be given it, a contiguous copy if that is all it lacks."""
    if values.dtype not in NATIVE:
        raise _refused(values, name or "an array")
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)


def _refused(values: Values, name: str) -> DTypeError | ArgumentError:
    """What is wrong with an array's dtype."""
    dtype, where = values.dtype, user_location()
    shown = f"{name} has dtype {dtype}"
    if dtype.newbyteorder("=") in NATIVE:
        return DTypeError(
            f"{shown}, which is not in this machine's byte order.",
            where=where, remedy="Swap the bytes: xs.astype(xs.dtype.newbyteorder('=')).",
        )  # fmt: skip
    if dtype.names:
        return DTypeError(
            f"{shown}, whose elements are records.",
            where=where,
            remedy="Pass a tuple of arrays, one for each field: "
            + "(" + ", ".join(f"xs[{field!r}]" for field in dtype.names) + ").",
        )  # fmt: skip
    if dtype.kind == "O":
        return ArgumentError(
            f"{name} holds Python objects (dtype object).",
            where=where,
            remedy="Give its elements a number's dtype: np.array(xs, dtype=np.float64).",
        )
    remedy = {
        "c": "Pass the real and the imaginary part as a tuple of two arrays.",
        "U": "Convert text to numbers first, or to bytes: np.frombuffer(text.encode(), np.uint8).",
        "S": "Read it as bytes: np.frombuffer(xs, np.uint8).",
        "M": "Convert times to integers: xs.astype(np.int64).",
        "m": "Convert times to integers: xs.astype(np.int64).",
        "f": "Convert it: xs.astype(np.float32) or xs.astype(np.float64).",
    }.get(dtype.kind, "Convert it with xs.astype.")
    return DTypeError(
        f"{shown}, which is not an element type of Flatweave.", where=where, remedy=remedy
    )


def asarray(value: Any, dtype: Any = None) -> HostArray:
    """A copy of a NumPy array, list, scalar or DLPack object as an array of ours."""
    found = values_of(value)
    if found is None:
        found = checked(np.asarray(value), "")
    return host_array(np.array(found, dtype=dtype, copy=True, order="C"))


def list_values(value: Any) -> Values:
    """A list of numbers as an array; ShapeError when its rows differ in length."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ShapeError(
            "a list of lists stands for an array only when all of them have one length.",
            where=user_location(), remedy="Pad the shorter ones, or pass one list for each row.",
        ) from None  # fmt: skip


def is_number_list(value: Any) -> bool:
    """Whether a value is a list of numbers, perhaps nested, which stands for an array."""
    if type(value) is not list or not value:
        return False
    return all(
        isinstance(item, bool | int | float | np.generic) or is_number_list(item) for item in value
    )
