"""Division by a literal: a product with its reciprocal, for vectors of 64 bits, too.

    floordiv x 7        s = x >> 63                      -1 where x is negative
                        u = x ^ s                        x or -x - 1: from 0 to 2**63 - 1
                        (high half of u * m) >> 1 ^ s    m = 2**65 / 7, rounded up

The dividend u has no sign, so one product rounds down whatever the sign of x. Up to 32 bits, LLVM
turns a `udiv` into a multiplication. LLVM would divide 64-bit lanes one by one, so here the high
half of a product is the sum of products of 32-bit halves, which every CPU has. A dividend known to
fit in 32 bits takes one such product. In registers of two lanes this gains nothing: LLVM divides.
"""

from __future__ import annotations

from typing import NamedTuple

from flatweave.base.dtypes import BY_NAME
from flatweave.codegen.llvm.values import Value
from flatweave.terms.bounds import Bounds

LOW = (1 << 32) - 1
"""The bits of the low half of 64."""
PAIR = 128
"""Bits of registers whose two lanes are as well multiplied one by one: quotients by 7 take 1.6 to
1.8 ns either way as SSE4 code, but 0.75 instead of 1.15 as AVX2 code and 0.57 instead of 1.36 as
AVX-512 code (an element of 64 bits in the L2 cache, Xeon)."""


class _Whole(NamedTuple):
    """What is divided, without its sign: `bits ^ mask`, at most `most`; no mask, no sign."""

    bits: Value
    mask: Value | None
    most: int


def floordiv(a: Value, divisor: int, bounds: Bounds) -> Value:
    """Quotient rounded down by a literal that is not 0."""
    whole = _without_sign(a, divisor, bounds)
    return _signed(a, _quotient(whole, abs(divisor)), whole.mask)


def mod(a: Value, divisor: int, bounds: Bounds) -> Value:
    """Remainder with the sign of the divisor, a literal that is not 0.

    What is left of -x - 1 is by how much x is below the next multiple, less one.
    """
    whole, size = _without_sign(a, divisor, bounds), abs(divisor)
    rest = _rest(whole, size)
    if whole.mask is not None:
        rest = (rest ^ whole.mask) + (whole.mask & size)
    rest = _as(rest, a)
    return -rest if divisor < 0 else rest


def _without_sign(a: Value, divisor: int, bounds: Bounds) -> _Whole:
    """x, or -x - 1 for negative x; by a negative divisor -x is divided instead of x."""
    if a.dtype.kind == "u":
        return _Whole(a, None, bounds.high)
    low, high = bounds if divisor > 0 else (-bounds.high, -bounds.low)
    x = a if divisor > 0 else -a  # wraps for the least integer, which is right without a sign
    if low >= 0:
        return _Whole(_unsigned(x), None, high)
    negative = x >> a.dtype.bits - 1 if divisor > 0 else (a > 0).convert("sext", a.dtype)
    mask, most = _unsigned(negative), max(high, -low - 1)
    bits = _unsigned(x) ^ mask
    if a.dtype.bits < 64 and divisor > 0:
        bits = bits & int(a.dtype.high)  # says to LLVM that there is no sign
    return _Whole(bits, mask, most)


def _unsigned(a: Value) -> Value:
    """The same bits without a sign."""
    return Value(a.body, BY_NAME[f"u{a.dtype.bits}"], a.width, a.text)


def _as(x: Value, like: Value) -> Value:
    """The same bits as another value has them."""
    return Value(x.body, like.dtype, x.width, x.text)


def _signed(a: Value, quotient: Value, mask: Value | None) -> Value:
    return _as(quotient if mask is None else quotient ^ mask, a)


def _quotient(whole: _Whole, divisor: int) -> Value:
    """Quotient of what has no sign."""
    u = whole.bits
    if divisor & (divisor - 1) == 0:
        return u if divisor == 1 else u >> divisor.bit_length() - 1
    if u.dtype.bits < 64 or u.width == 1:
        return u.binary("udiv", divisor)
    found = _reciprocal(divisor, whole.most, 32) if whole.most <= LOW else None
    if found is not None:
        return (u & LOW) * found[0] >> found[1]
    if u.body.module.isa.register_bits <= PAIR:
        return u.binary("udiv", divisor)
    found = _reciprocal(divisor, whole.most, 64)
    if found is not None:
        return _high(u, found[0]) >> found[1] - 64
    if divisor % 2 == 0:
        return _quotient(_Whole(u >> 1, None, whole.most >> 1), divisor // 2)
    return _long_quotient(u, divisor)


def _rest(whole: _Whole, divisor: int) -> Value:
    """Remainder of what has no sign."""
    u = whole.bits
    if divisor & (divisor - 1) == 0:
        return u & (divisor - 1)
    quotient = _quotient(whole, divisor)
    if u.dtype.bits < 64 or u.width == 1 or divisor > LOW:
        return u - quotient * divisor
    return (u - (quotient & LOW) * divisor) & LOW  # a rest of 32 bits needs no higher ones


def _reciprocal(divisor: int, most: int, bits: int) -> tuple[int, int] | None:
    """(m, k) with m of `bits` bits and x // divisor == x * m >> k for 0 <= x <= most.

    m is 2**k / divisor + e / divisor with e < divisor: exact while e * most < 2**k.
    """
    for k in range(bits, 2 * bits):
        m = -(-(1 << k) // divisor)
        if m >> bits:
            return None
        if (m * divisor - (1 << k)) * most < 1 << k:
            return m, k
    return None


def _long_quotient(u: Value, divisor: int) -> Value:
    """By a reciprocal of 65 bits: its highest one is 1, and adds u itself."""
    k = 64 + divisor.bit_length()
    m = -(-(1 << k) // divisor) - (1 << 64)
    high = _high(u, m)
    return ((u - high >> 1) + high) >> k - 65


def _high(u: Value, m: int) -> Value:
    """The high half of the product of 64-bit numbers, from four products of their halves."""
    low, high, m_low, m_high = u & LOW, u >> 32, m & LOW, m >> 32
    middle = low * m_high
    if m_low:
        middle = middle + (low * m_low >> 32)
        other = high * m_low + (middle & LOW)
        return high * m_high + (middle >> 32) + (other >> 32)
    return high * m_high + (middle >> 32)
