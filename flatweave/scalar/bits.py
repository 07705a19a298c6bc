"""Rows of logic: bits, shifts, comparisons, choice and bit counts.

    and or xor not      bit by bit on integers, logical on bools
    shl shr             by the width or more, or by a negative amount: 0 (shr of a negative: -1)
    eq .. ge            to bool; NaN is unequal to everything
    bits                a float's as an unsigned integer of its width, those of NaN too
    from_bits           the float that has these bits; an f32 for up to 32 of them
    ones_complement     of a sign and a magnitude, as floats have them: negative ones with all other
                        bits inverted, so that they are in order; twice is the operand
    popcount clz ctz    of the two's complement bits, in the operand's dtype; 0 has `width` zeros
"""

from __future__ import annotations

import numpy as np

from flatweave.scalar import c_text as c
from flatweave.scalar.function import ScalarFn, Values


def _amounts(b: Values) -> Values:
    """Shift amounts as unsigned numbers, which makes negative ones too great."""
    return b.view(f"u{b.dtype.itemsize}")


def _shl(a: Values, b: Values) -> Values:
    """a << b, 0 once every bit has left."""
    a, b = np.broadcast_arrays(a, b)
    width = 8 * a.dtype.itemsize
    amounts = _amounts(b)
    inside = amounts < width
    return np.where(inside, a << np.where(inside, amounts, 0).astype(a.dtype), 0)


def _shr(a: Values, b: Values) -> Values:
    """a >> b, keeping the sign; 0 or -1 once every bit has left."""
    a, b = np.broadcast_arrays(a, b)
    width = 8 * a.dtype.itemsize
    amounts = _amounts(b)
    inside = amounts < width
    gone = a >> np.asarray(width - 1, a.dtype) if a.dtype.kind == "i" else np.zeros_like(a)
    return np.where(inside, a >> np.where(inside, amounts, 0).astype(a.dtype), gone)


def _unsigned(a: Values) -> Values:
    """The same bits, unsigned, with room to count to the width."""
    return a.view(f"u{a.dtype.itemsize}")


def _popcount(a: Values) -> Values:
    """The number of one bits of the two's complement form."""
    return np.asarray(np.bitwise_count(_unsigned(a)))


def _clz(a: Values) -> Values:
    """The number of zero bits above the highest one bit."""
    bits = _unsigned(a).copy()
    width = 8 * a.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            bits |= bits >> np.asarray(shift, bits.dtype)
    return np.asarray(width - np.bitwise_count(bits).astype(np.int64))


def _ctz(a: Values) -> Values:
    """The number of zero bits below the lowest one bit."""
    bits = _unsigned(a)
    return np.asarray(np.bitwise_count(~bits & (bits - np.asarray(1, bits.dtype))))


def _from_bits(a: Values) -> Values:
    """The float with these bits, those of narrow integers widened by zeros."""
    wide = a.astype(f"u{max(4, a.dtype.itemsize)}")
    return wide.view(f"f{wide.dtype.itemsize}")


def _ones_complement(a: Values) -> Values:
    """The bits below the sign inverted where it is set."""
    return np.where(a < 0, a ^ np.iinfo(a.dtype).max, a)


def _select(p: Values, a: Values, b: Values) -> Values:
    """a where p holds, else b."""
    return np.where(p, a, b)


def _comparison(name: str, function: np.ufunc, symbol: str, commutative: bool = False) -> ScalarFn:
    """The row of one comparison."""
    return ScalarFn(
        name, 2, "biuf", function, result="bool", commutative=commutative,
        c=c.plain(f"({{0}} {symbol} {{1}})"),
    )


def _bitwise(name: str, function: np.ufunc, symbol: str) -> ScalarFn:
    """The row of one bitwise operator."""
    return ScalarFn(
        name, 2, "biu", function, commutative=True, associative=True,
        c=c.narrowed(f"({{0}} {symbol} {{1}})"),
    )


ROWS = (
    _bitwise("and", np.bitwise_and, "&"),
    _bitwise("or", np.bitwise_or, "|"),
    _bitwise("xor", np.bitwise_xor, "^"),
    ScalarFn(
        "not", 1, "biu", np.invert, c=c.by_kind(b=c.plain("(!{0})"), iu=c.narrowed("(~({0}))"))
    ),
    ScalarFn("shl", 2, "iu", _shl, c=c.helper(c.SHL), promotion="number"),
    ScalarFn(
        "shr", 2, "iu", _shr, c=c.by_kind(i=c.helper(c.SHR), u=c.helper(c.SHR_UNSIGNED)),
        promotion="number",
    ),
    _comparison("eq", np.equal, "==", commutative=True),
    _comparison("ne", np.not_equal, "!=", commutative=True),
    _comparison("lt", np.less, "<"),
    _comparison("le", np.less_equal, "<="),
    _comparison("gt", np.greater, ">"),
    _comparison("ge", np.greater_equal, ">="),
    ScalarFn("select", 3, "biuf", _select, c=c.plain("({0} ? {1} : {2})"), promotion="none"),
    ScalarFn("isnan", 1, "f", np.isnan, c=c.plain("({0} != {0})"), result="bool",
             promotion="float"),
    ScalarFn("isinf", 1, "f", np.isinf, c=c.plain("(isinf({0}) != 0)"), result="bool",
             promotion="float"),
    ScalarFn("isfinite", 1, "f", np.isfinite, c=c.plain("(isfinite({0}) != 0)"), result="bool",
             promotion="float"),
    ScalarFn(
        "bits", 1, "f", lambda x: x.view(f"u{x.dtype.itemsize}"), result="bits",
        c=lambda dtype: c.CText(f"FW_BITS{dtype.bits}({{0}})"),
    ),
    ScalarFn(
        "from_bits", 1, "u", _from_bits, result="float",
        c=lambda dtype: c.CText(f"FW_F{max(32, dtype.bits)}({{0}})"),
    ),
    ScalarFn("ones_complement", 1, "i", _ones_complement, c=c.helper(c.ONES_COMPLEMENT, 1), cost=2),
    ScalarFn("popcount", 1, "iu", _popcount, c=c.helper(c.POPCOUNT, 1), cost=2),
    ScalarFn("clz", 1, "iu", _clz, c=c.helper(c.CLZ, 1), cost=2),
    ScalarFn("ctz", 1, "iu", _ctz, c=c.helper(c.CTZ, 1), cost=2),
)
