"""Functions of single values: how a program writes them, and what they are in plain NumPy.

    SCALARS["shl"]      source "({0} << {1})", meaning NumPy's shift, 0 once every bit has left

Where NumPy leaves a result open, or Flatweave documents another, the meaning is written out here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Meaning = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A function: its Python text, its meaning, and the kinds of dtypes that it takes."""

    source: str
    meaning: Meaning
    kinds: str
    arity: int = 2
    rounded: bool = False


def least(a: Any, b: Any) -> Any:
    """The smaller operand: NaN wins; -0.0 is below 0.0."""
    return np.where((a < b) | (a != a) | ((a == b) & np.signbit(a)), a, b)


def greatest(a: Any, b: Any) -> Any:
    """The greater operand: NaN wins; -0.0 is below 0.0."""
    return np.where((a > b) | (a != a) | ((a == b) & ~np.signbit(a)), a, b)


def with_sign(x: Any, sign: Any) -> Any:
    """The sign of a number; which one a NaN of arithmetic has is unspecified (IEEE 754, 6.3)."""
    if isinstance(sign, float):  # a literal, which leaves the dtype as it is
        return np.copysign(x, sign)
    return np.copysign(x, np.where(np.isnan(sign), np.ones_like(sign), sign))


def clip(x: Any, low: Any, high: Any) -> Any:
    """Values below `low` become `low`, those above `high` become `high`."""
    return least(greatest(x, low), high)


def amounts(b: Any) -> np.ndarray:
    """Shift amounts as unsigned numbers, which makes negative ones too great."""
    array = np.asarray(b)
    return array.view(f"u{array.dtype.itemsize}")


def shift_left(a: Any, b: Any) -> Any:
    """a << b; by the width or more, or by a negative amount: 0."""
    a, b = common(a, b)
    width = 8 * a.dtype.itemsize
    inside = amounts(b) < width
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0).astype(a.dtype)), a ^ a)


def shift_right(a: Any, b: Any) -> Any:
    """a >> b; by the width or more, or by a negative amount: 0, of negative numbers -1."""
    a, b = common(a, b)
    width = 8 * a.dtype.itemsize
    inside = amounts(b) < width
    most = a.dtype.type(width - 1)
    return np.right_shift(a, np.where(inside, b, most).astype(a.dtype)) * (
        np.where(inside | (a < 0), 1, 0).astype(a.dtype)
    )


def common(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two operands in the dtype that NumPy gives their combination."""
    dtype = np.result_type(a, b)
    return np.asarray(a, dtype), np.asarray(b, dtype)


def unsigned(a: Any) -> np.ndarray:
    """The two's complement bits."""
    array = np.asarray(a)
    return array.view(f"u{array.dtype.itemsize}")


def upper_half(a: Any, b: Any) -> Any:
    """The upper half of the product, by Python's integers."""
    dtype = np.result_type(a, b)
    x, y = (np.asarray(each, dtype).astype(object) for each in (a, b))
    return np.asarray(x * y >> 8 * dtype.itemsize).astype(dtype)


def popcount(a: Any) -> Any:
    """The number of one bits."""
    return np.bitwise_count(unsigned(a)).astype(a.dtype)


def leading_zeros(a: Any) -> Any:
    """The number of zero bits above the highest one bit."""
    bits, width = unsigned(a), 8 * a.dtype.itemsize
    found = np.zeros(bits.shape, np.int64)
    for k in range(width):
        found += (bits >> bits.dtype.type(k)) == 0
    return found.astype(a.dtype)


def trailing_zeros(a: Any) -> Any:
    """The number of zero bits below the lowest one bit."""
    bits, width = unsigned(a), 8 * a.dtype.itemsize
    found = np.zeros(bits.shape, np.int64)
    for k in range(width):
        found += (bits << bits.dtype.type(k)) == 0
    return found.astype(a.dtype)


def as_f16(a: Any) -> Any:
    """The nearest float of 16 bits, as an f32."""
    return np.asarray(a).astype(np.float16).astype(np.float32)


def as_bf16(a: Any) -> Any:
    """The nearest f32 whose lower half is 0, the one with an even upper half of two."""
    x = np.asarray(a)
    step = np.exp2(np.maximum(np.frexp(x)[1], -125).astype(np.float64) - 8)
    found = np.rint(x.astype(np.float64) / step) * step
    return np.where(np.isfinite(x), found, x).astype(np.float32)


def cast(x: Any, dtype: np.dtype) -> Any:
    """The value in another dtype; floats to integers toward zero, ends for what is too great."""
    array = np.asarray(x)
    if dtype.kind == "b":
        return array != 0
    if array.dtype.kind != "f" or dtype.kind == "f":
        return array.astype(dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    whole = np.where(np.isnan(array), 0, np.trunc(array)).astype(np.float64)
    too_low, too_high = whole < float(low), whole >= float(high) + (dtype.itemsize < 8)
    inside = np.where(too_low | too_high, 0, whole).astype(dtype)
    return np.where(too_low, dtype.type(low), np.where(too_high, dtype.type(high), inside))


def in_long_double(function: Meaning) -> Meaning:
    """A function with more digits than the result has, rounded once."""

    def rounded(*xs: Any) -> Any:
        return np.asarray(function(*(np.asarray(x, np.longdouble) for x in xs))).astype(
            np.result_type(*xs)
        )

    return rounded


SCALARS = {
    "add": Scalar("({0} + {1})", np.add, "biuf"),
    "sub": Scalar("({0} - {1})", np.subtract, "iuf"),
    "mul": Scalar("({0} * {1})", np.multiply, "biuf"),
    "mul_hi": Scalar("fw.mul_hi({0}, {1})", upper_half, "iu"),
    "truediv": Scalar("({0} / {1})", np.true_divide, "f"),
    "floordiv": Scalar("({0} // {1})", np.floor_divide, "iuf"),
    "mod": Scalar("({0} % {1})", np.remainder, "iuf"),
    "neg": Scalar("(-{0})", np.negative, "iuf", 1),
    "abs": Scalar("fw.abs({0})", np.abs, "iuf", 1),
    "sign": Scalar("fw.sign({0})", np.sign, "iuf", 1),
    "square": Scalar("fw.square({0})", np.square, "iuf", 1),
    "minimum": Scalar("fw.minimum({0}, {1})", least, "biuf"),
    "maximum": Scalar("fw.maximum({0}, {1})", greatest, "biuf"),
    "and": Scalar("({0} & {1})", np.bitwise_and, "biu"),
    "or": Scalar("({0} | {1})", np.bitwise_or, "biu"),
    "xor": Scalar("({0} ^ {1})", np.bitwise_xor, "biu"),
    "not": Scalar("(~{0})", np.invert, "biu", 1),
    "shl": Scalar("({0} << {1})", shift_left, "iu"),
    "shr": Scalar("({0} >> {1})", shift_right, "iu"),
    "popcount": Scalar("fw.popcount({0})", popcount, "iu", 1),
    "clz": Scalar("fw.clz({0})", leading_zeros, "iu", 1),
    "ctz": Scalar("fw.ctz({0})", trailing_zeros, "iu", 1),
    "floor": Scalar("fw.floor({0})", np.floor, "f", 1),
    "ceil": Scalar("fw.ceil({0})", np.ceil, "f", 1),
    "trunc": Scalar("fw.trunc({0})", np.trunc, "f", 1),
    "rint": Scalar("fw.rint({0})", np.rint, "f", 1),
    "sqrt": Scalar("fw.sqrt({0})", np.sqrt, "f", 1),
    "reciprocal": Scalar("fw.reciprocal({0})", np.reciprocal, "f", 1),
    "copysign": Scalar(
        "fw.copysign({0}, fw.where(fw.isnan({1}), 1.0, {1}))", with_sign, "f"
    ),
    "as_f16": Scalar("fw.astype(fw.astype({0}, fw.f16), fw.f32)", as_f16, "f", 1),
    "as_bf16": Scalar("fw.astype(fw.astype({0}, fw.bf16), fw.f32)", as_bf16, "f", 1),
    "isnan": Scalar("fw.isnan({0})", np.isnan, "f", 1),
    "isinf": Scalar("fw.isinf({0})", np.isinf, "f", 1),
    "isfinite": Scalar("fw.isfinite({0})", np.isfinite, "f", 1),
    "eq": Scalar("({0} == {1})", np.equal, "biuf"),
    "ne": Scalar("({0} != {1})", np.not_equal, "biuf"),
    "lt": Scalar("({0} < {1})", np.less, "biuf"),
    "le": Scalar("({0} <= {1})", np.less_equal, "biuf"),
    "gt": Scalar("({0} > {1})", np.greater, "biuf"),
    "ge": Scalar("({0} >= {1})", np.greater_equal, "biuf"),
    "logical_and": Scalar("fw.logical_and({0}, {1})", np.logical_and, "biuf"),
    "logical_xor": Scalar("fw.logical_xor({0}, {1})", np.logical_xor, "biuf"),
    "logical_not": Scalar("fw.logical_not({0})", np.logical_not, "biuf", 1),
    "where": Scalar("fw.where({0}, {1}, {2})", np.where, "biuf", 3),
    "clip": Scalar("fw.clip({0}, {1}, {2})", clip, "iuf", 3),
    "exp": Scalar("fw.exp({0})", in_long_double(np.exp), "f", 1, rounded=True),
    "log": Scalar("fw.log({0})", in_long_double(np.log), "f", 1, rounded=True),
    "log1p": Scalar("fw.log1p({0})", in_long_double(np.log1p), "f", 1, rounded=True),
    "sin": Scalar("fw.sin({0})", in_long_double(np.sin), "f", 1, rounded=True),
    "cos": Scalar("fw.cos({0})", in_long_double(np.cos), "f", 1, rounded=True),
    "tanh": Scalar("fw.tanh({0})", in_long_double(np.tanh), "f", 1, rounded=True),
    "atan2": Scalar("fw.arctan2({0}, {1})", in_long_double(np.arctan2), "f", rounded=True),
    "hypot": Scalar("fw.hypot({0}, {1})", in_long_double(np.hypot), "f", rounded=True),
    "cbrt": Scalar("fw.cbrt({0})", in_long_double(np.cbrt), "f", 1, rounded=True),
}  # fmt: skip
