"""Dtypes of mixed operands, as NumPy 2 has them (NEP 50).

    f32 array + 1.5      f32: a Python number takes the dtype of what it meets
    i32 array + 1.5      f64: but not its kind
    i32 array + f32      f64
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, bool_, f64, i64, u64
from flatweave.base.errors import DTypeError, Unsupported
from flatweave.frontend.values.array import Tracer
from flatweave.scalar import ops as scalar


class ScalarOverflowError(DTypeError, OverflowError):
    """A Python integer does not fit the dtype of the array it meets: `u8 array + 300`."""


def common(values: Sequence[Tracer]) -> tuple[DType, bool]:
    """The dtype that operands are brought to, and whether it is weak: all come from Python."""
    return _common(tuple((value.element, value.weak) for value in values))


@lru_cache(maxsize=4096)
def _common(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    weak = all(is_weak for _, is_weak in operands)
    if weak:
        wide = next((dtype for dtype, _ in operands if dtype.is_float), None)
        return wide or (u64 if any(dtype is u64 for dtype, _ in operands) else i64), True
    parts = [
        (0.0 if dtype.is_float else 0) if is_weak else dtype.numpy for dtype, is_weak in operands
    ]
    return as_dtype(np.result_type(*parts)), False


def bounds(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of integers or bools."""
    return int(dtype.low), int(dtype.high)


def fits(value: int | float | bool, dtype: DType) -> bool:
    """Whether a Python integer is a value of a dtype of integers, or 0 or 1 among bools."""
    if not isinstance(value, int) or dtype.is_float:
        return True
    low, high = bounds(dtype)
    return low <= value <= high


def operand_dtype(fn: str, values: Sequence[Tracer]) -> DType:
    """The dtype that a scalar function's operands are converted to."""
    dtype, weak = common(values)
    if weak or dtype.is_float or scalar.TABLE[fn].promotion != "float":
        return scalar.operand_dtype(fn, dtype)
    # each operand separately: an i8 and a u16 give f32, though an i32 holds both
    weaks = [v for v in values if v.weak]
    alone = [common((v, *weaks))[0] for v in values if not v.weak]
    return max((scalar.operand_dtype(fn, d) for d in alone), key=lambda d: d.bits)


COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
PYTHON = "the Python integer"


def misfit(value: object, dtype: DType, what: str = PYTHON) -> str:
    """What is said of an integer that does not fit."""
    return f"{what} {value} does not fit {dtype}, the dtype of the array it meets."


def wider(dtype: DType) -> str:
    """What to do about an integer that does not fit."""
    if dtype is i64:
        return "Convert the array first, for instance with xs.astype(fw.u64), or write a float."
    return "Convert the array first, for instance with xs.astype(fw.i64)."


def too_big(value: object, dtype: DType, what: str = PYTHON) -> ScalarOverflowError:
    """The error for an integer that does not fit."""
    message = misfit(value, dtype, what)
    return ScalarOverflowError.here(message, wider(dtype))


def literal_dtype(value: bool | int | float) -> DType:
    """The dtype of a Python scalar alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return f64
    if fits(value, i64):
        return i64
    if fits(value, u64):
        return u64
    raise ScalarOverflowError.here(
        f"the Python integer {value} does not fit an i64.",
        "Write it as a float, or split it into two integers.",
    )


def dtype_of(spelling: Any) -> DType:
    """A user's dtype; DTypeError at the user's line for other values, Unsupported for complex and
    for floats of 16 bits."""
    found = number_dtype(spelling)
    if found.is_short:
        raise Unsupported.here(
            f"elements of {found} here.",
            f"Compute in f32, and store the result: xs.astype(fw.{found}).",
        )
    return found


def number_dtype(spelling: Any) -> DType:
    """A user's dtype, also of floats of 16 bits; Unsupported for complex numbers."""
    found = any_dtype_of(spelling)
    if found.is_complex:
        raise Unsupported.here(
            f"elements of {found} here.",
            "Do it with the real and the imaginary part: fw.real(x), fw.imag(x).",
        )
    return found


def any_dtype_of(spelling: Any) -> DType:
    """A user's dtype, also of complex numbers; DTypeError at the user's line for other values."""
    try:
        return as_dtype(spelling)
    except DTypeError as failure:
        is_extent = isinstance(spelling, int)
        raise DTypeError.here(
            failure.message,
            "A shape of several axes is a tuple: (2, 3)." if is_extent else failure.remedy,
        ) from None  # fmt: skip


def wide_dtype(dtype: DType) -> DType:
    """The dtype in which NumPy sums: i64 for bools and signed integers, u64 for unsigned ones."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64
