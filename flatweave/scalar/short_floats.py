"""Rows between floats and the two storage types of 16 bits, which a program holds as u16.

    of_f16  of_bf16      the f32 with the value of these bits, exact
    to_f16  to_bf16      the bits of the nearest such float, the even one of two

                sign  exponent  fraction     greatest   least
    f16           1       5        10        65504      2**-24
    bf16          1       8         7        3.39e38    2**-133

What is too great becomes infinite and what is too small 0, rounded once, from f64 too. NaN stays
NaN, quiet, with its sign and as much of its fraction as there is room for.
"""

from __future__ import annotations

import numpy as np

from flatweave.scalar import c_text as c
from flatweave.scalar.function import ScalarFn, Values

QUIET = np.uint32(1 << 22)


def _bits_of(a: Values) -> Values:
    """The low 16 bits."""
    return a.astype(np.uint16)


def _of_f16(a: Values) -> Values:
    """The f32 with the value of these bits, read as an f16."""
    return _quiet(_bits_of(a).view(np.float16).astype(np.float32))


def _of_bf16(a: Values) -> Values:
    """The f32 with the value of these bits: its upper half."""
    return _quiet((_bits_of(a).astype(np.uint32) << np.uint32(16)).view(np.float32))


def _quiet(x: Values) -> Values:
    """NaN as operations give it."""
    return np.where(np.isnan(x), x.view(np.uint32) | QUIET, x.view(np.uint32)).view(np.float32)


def odd(x: Values) -> Values:
    """An f64 as one of the two f32 around it, the one whose last bit is set: rounding that to
    fewer bits is rounding the f64 itself."""
    near = np.asarray(x.astype(np.float32))
    if x.dtype == near.dtype:
        return near
    bits = near.view(np.uint32)
    inner = bits - (np.abs(near.astype(np.float64)) > np.abs(x))
    lost = (near != x) & ~np.isnan(x)
    return np.where(lost, inner | np.uint32(1), bits).astype(np.uint32).view(np.float32)


def _nan_bits(bits: Values, fraction: int, exponent: int) -> Values:
    """The bits of a NaN with the sign and the first bits of the fraction of that of an f32."""
    head = (bits >> np.uint32(23 - fraction)) & np.uint32((1 << fraction) - 1)
    quiet = np.uint32(exponent << fraction | 1 << (fraction - 1))
    return (bits >> np.uint32(16) & np.uint32(1 << 15) | quiet | head).astype(np.uint16)


def _to_f16(x: Values) -> Values:
    """The bits of the nearest f16."""
    short = odd(x)
    found = np.asarray(short.astype(np.float16)).view(np.uint16)
    return np.where(np.isnan(short), _nan_bits(short.view(np.uint32), 10, 31), found)


def _to_bf16(x: Values) -> Values:
    """The bits of the nearest bf16: the upper half of an f32 and what the lower one rounds to."""
    short = odd(x)
    bits = short.view(np.uint32)
    last = bits >> np.uint32(16) & np.uint32(1)
    found = (bits + np.uint32(0x7FFF) + last >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(short), _nan_bits(bits, 7, 255), found)


ROWS = (
    ScalarFn("of_f16", 1, "u", _of_f16, result="f32", c=c.helper(c.OF_F16, 1), cost=2),
    ScalarFn("of_bf16", 1, "u", _of_bf16, result="f32", c=c.helper(c.OF_BF16, 1), cost=2),
    ScalarFn("to_f16", 1, "f", _to_f16, result="u16", c=c.short_float(c.TO_F16), cost=3),
    ScalarFn("to_bf16", 1, "f", _to_bf16, result="u16", c=c.short_float(c.TO_BF16), cost=3),
)
