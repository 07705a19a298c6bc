"""What a row of the scalar table states, and conversions between dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from flatweave.base.dtypes import DType, bool_
from flatweave.base.records import record
from flatweave.scalar.c_text import CText

# What one row of the scalar table states: types, meaning, C spelling, laws and cost.
#
# A row is applied to operands of ONE dtype; bringing them there is the caller's part, and the
# row's `promotion` says how.


Values = np.ndarray[Any, np.dtype[Any]]
Meaning = Callable[..., Any]
# bits: the unsigned integer of the operand's width; float: the float of it, at least an f32;
# a dtype's name: that dtype
Result = Literal["same", "bool", "bits", "float", "f32", "u16"]

# common:  the NumPy common type of the operands (NEP 50)
# float:   as common, then bool, i8, u8, i16, u16 become f32 and wider integers f64
# number:  as common, then bools become i8
# truediv: as common, then bools and integers become f64
# none:    the last two operands are brought to their common type, the first stays (select)
Promotion = Literal["common", "float", "number", "truediv", "none"]


@record(eq=True)
class ScalarFn:
    """A scalar function: one row of the table."""

    name: str
    arity: int
    kinds: str  # the operand kinds accepted, out of "biuf"
    numpy: Meaning  # the meaning on NumPy arrays of one accepted dtype
    c: Callable[[DType], CText]
    result: Result = "same"
    promotion: Promotion = "common"
    commutative: bool = False
    associative: bool = False  # as in mathematics: rounding of floats aside
    ulps: int = 0  # how far targets may be from the exact value; 0: every target, the same bits
    cost: int = 1  # in additions, for one float or integer in a vector loop


# Conversions between dtypes: their meaning in NumPy and their C spelling.
#
#     f32 -> i8     toward zero; what does not fit becomes the nearest end, NaN becomes 0
#     f64 -> bool   x != 0, so NaN is True
#     i32 -> i8     the low bits
#     i64 -> f32    rounded to nearest
#
# NumPy leaves the first case to the C compiler; this one is the same on every target.


def evaluate_cast(x: Any, target: DType) -> Values:
    """The meaning of a conversion, as an array of the target dtype."""
    array = np.asarray(x)
    with np.errstate(all="ignore"):
        if target.is_integer and array.dtype.kind == "f":
            return _saturated(array, target)
        if target == bool_:
            return np.asarray(array != 0)
        return array.astype(target.numpy)


def _saturated(array: Values, target: DType) -> Values:
    """Floats to integers: toward zero, ends for what is too great, 0 for NaN."""
    low, high = int(target.low), int(target.high)
    fits = (array > float(low) - 1) & (array < float(high) + 1)
    if target.bits == 64:
        fits = (array >= float(low)) & (array < float(high))
    inside = np.where(fits, array, 0).astype(target.numpy)
    ends = np.where(array > 0, np.asarray(high, target.numpy), np.asarray(low, target.numpy))
    return np.where(fits | np.isnan(array), inside, ends)


def c_cast(source: DType, target: DType) -> CText:
    """The C spelling of a conversion."""
    if source == target:
        return CText("{0}")
    if target == bool_:
        return CText("({0} != 0)")
    if not (source.is_float and target.is_integer):
        return CText(f"(({target.c}){{0}})")
    name = f"fw_cast_{source.name}_{target.name}"
    below, above = int(target.low) - 1, int(target.high) + 1
    if target.bits == 64 or (target.bits == 32 and source.bits == 32):
        below = int(target.low)  # the number below it is not a float of this width
    text = (
        f"FW_FN {target.c} {name}({source.c} x) {{\n"
        f"    if (x != x) return 0;\n"
        f"    if (x <= ({source.c}){below}.0) return {_c_integer(target, int(target.low))};\n"
        f"    if (x >= ({source.c}){above}.0) return {_c_integer(target, int(target.high))};\n"
        f"    return ({target.c})x;\n"
        f"}}\n"
    )
    return CText(f"{name}({{0}})", (text,))


def _c_integer(dtype: DType, value: int) -> str:
    """An integer as a C expression; the minima have no literal."""
    if value == -(2**63) or value == -(2**31):
        return f"({dtype.c})({value + 1}{'L' if dtype.bits == 64 else ''} - 1)"
    suffix = "UL" if value > 2**63 - 1 else "L" if dtype.bits == 64 else "U" * (value > 2**31 - 1)
    return f"({dtype.c}){value}{suffix}"
