"""Conversions between floats and integers of 64 bits, where only single numbers have instructions.

    i64 -> f64    x and the bits of 1.5 * 2**52, added as integers, less that number, as floats
    f64 -> i64    trunc x and 1.5 * 2**52, added as floats, less the bits of that number
    i64 -> f32    i64 -> f64 -> f32, exact as far as the mantissa of an f64 goes

What does not fit the mantissa is seen in the exponent of the sum, and goes another way: to floats
by the halves of x, each the mantissa of a number, one sum of which is rounded; from floats lane by
lane. In the first case that costs as many instructions again, where most integers are large.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import DType, f32, f64, u64
from flatweave.codegen.llvm.text.values import Value, rarely
from flatweave.terms.bounds import Bounds

_ONES = 2.0**52
"""A number whose mantissa counts ones: from here to its double for integers without a sign."""
_MIDDLE = 1.5 * 2.0**52
"""The middle of these, for integers with one."""
_ONES_BITS, _MIDDLE_BITS = 0x4330 << 48, 0x4338 << 48
_HIGH_BITS = 0x4530 << 48  # of 2**84, whose mantissa counts 2**32
_LOW = (1 << 32) - 1
_EXACT = 1 << 53
"""Integers up to here, and down to its opposite, are f64."""
_TAIL = (1 << 11) - 1
"""Bits of an integer that are behind the mantissa of an f64, at most."""


def to_float(x: Value, target: DType, bounds: Bounds | None = None) -> Value:
    """An i64 or u64, rounded to the nearest float; it is within bounds, where these are known."""
    is_signed = x.dtype.kind == "i"
    moved = _bits(x) + _MIDDLE_BITS if is_signed else _bits(x) | _ONES_BITS
    usual = moved.as_float() - (_MIDDLE if is_signed else _ONES)
    usual = usual if target == f64 else usual.convert("fptrunc", f32)
    if bounds is not None and bounds.low >= -(2**51) * is_signed and bounds.high < 2**51:
        return usual
    leaves = _leaves(moved) if is_signed else (_bits(x) >> 52).ne(0)
    return rarely(leaves, usual, lambda: _rounded(x, target))


def to_integer(x: Value, target: DType, rare: Callable[[], Value]) -> Value:
    """A float toward zero; what may not fit is `rare`."""
    whole = (x if x.dtype == f64 else x.convert("fpext", f64)).intrinsic("trunc")
    if target.kind == "i":
        moved = _bits(whole + _MIDDLE)
        usual = moved - _MIDDLE_BITS
    else:
        moved = _bits(whole + _ONES)
        usual = moved ^ _ONES_BITS
    return rarely(_leaves(moved), Value(x.body, target, x.width, usual.text), rare)


def of_whole(x: Value, target: DType) -> Value:
    """A whole f64 between -2**51 and 2**51."""
    moved = _bits(x + _MIDDLE) - _MIDDLE_BITS
    return Value(x.body, target, x.width, moved.text)


def _bits(x: Value) -> Value:
    """Bits without a sign."""
    return x.convert("bitcast", u64) if x.dtype == f64 else Value(x.body, u64, x.width, x.text)


def _leaves(moved: Value) -> Value:
    """Whether a sum has left the numbers from 2**52 to 2**53, as NaN does, too."""
    return ((moved ^ _ONES_BITS) >> 52).ne(0)


def _rounded(x: Value, target: DType) -> Value:
    """Any integer as a float."""
    if target == f64:
        return _from_halves(x)
    return _from_halves(_odd(x)).convert("fptrunc", f32)


def _from_halves(x: Value) -> Value:
    """2**84 + 2**32 * (high + 2**31), less the numbers too many, exactly, and then 2**52 + low."""
    low = ((_bits(x) & _LOW) | _ONES_BITS).as_float()
    if x.dtype.kind == "i":
        high, offset = _bits(x) >> 32 ^ (_HIGH_BITS | 1 << 31), 2.0**84 + 2.0**63 + _ONES
    else:
        high, offset = _bits(x) >> 32 | _HIGH_BITS, 2.0**84 + _ONES
    return (high.as_float() - offset) + low


def _odd(x: Value) -> Value:
    """The integer that f64 holds and that is rounded to f32 as this one is.

    Where f64 would round, the bits behind its mantissa become one bit: set if one of them was.
    """
    short = (x | ((x & _TAIL) + _TAIL)) & ~_TAIL
    fits = (x >= -_EXACT) & (x <= _EXACT) if x.dtype.kind == "i" else x <= _EXACT
    return fits.where(x, short)
