"""Rows of arithmetic and of elementary functions, and floats of 16 bits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from flatweave.scalar import function as c
from flatweave.scalar.function import Meaning, ScalarFn, Values

# Rows of arithmetic: sums, products, quotients, order and rounding.
#
#     add minimum floordiv ..   operands and result of one dtype, e.g.  i8: 100 + 100 = -56
#
# Integers wrap. Division by an integer zero gives 0, quotients round down, remainders take the
# divisor's sign. minimum and maximum are those of IEEE 754: NaN where an operand is NaN, and -0.0
# is below 0.0. So they commute, and the order in which many operands meet changes no bit of a
# number.


def _floordiv(a: Values, b: Values) -> Values:
    """Quotients rounded down; 0 for an integer divided by 0."""
    return np.asarray(np.floor_divide(a, b))


def _mul_hi(a: Values, b: Values) -> Values:
    """The upper half of the whole product; of 64 bits from products of halves."""
    bits, kind = 8 * a.dtype.itemsize, a.dtype.kind
    if bits < 64:
        wide = f"{kind}{bits // 4}"
        return np.asarray(a.astype(wide) * b.astype(wide) >> bits, a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    low, half = np.uint64(2**32 - 1), np.uint64(32)
    one = (x >> half) * (y & low) + ((x & low) * (y & low) >> half)
    other = (x & low) * (y >> half) + (one & low)
    high = (x >> half) * (y >> half) + (one >> half) + (other >> half)
    if kind == "i":  # what the signs are worth is 2**64 times the other operand
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return np.asarray(high).astype(a.dtype)


def _power(a: Values, b: Values) -> Values:
    """Powers; integers by repeated squaring, with 0 for 1/a**-b unless a is 1 or -1."""
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    a, b = np.broadcast_arrays(a, b)
    bits = b.view(f"u{b.dtype.itemsize}")
    result = np.ones_like(a)
    base = a.copy()
    for i in range(8 * b.dtype.itemsize):
        result = np.where((bits >> np.asarray(i, bits.dtype)) & 1 != 0, result * base, result)
        base = base * base
    if b.dtype.kind == "u":
        return result
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b & 1 != 0, -1, 1), 0))
    return np.where(b < 0, inverse, result)


def _minimum(a: Values, b: Values) -> Values:
    """The smaller operand: NaN wins; -0.0 is below 0.0."""
    if a.dtype.kind != "f":
        return np.asarray(np.minimum(a, b))
    return np.where((a < b) | np.isnan(a) | ((a == b) & np.signbit(a)), a, b)


def _maximum(a: Values, b: Values) -> Values:
    """The greater operand: NaN wins; -0.0 is below 0.0."""
    if a.dtype.kind != "f":
        return np.asarray(np.maximum(a, b))
    return np.where((a > b) | np.isnan(a) | ((a == b) & ~np.signbit(a)), a, b)


def _exact_fma(a: float, b: float, c: float) -> float:
    """a * b + c with one rounding: integers divide exactly."""
    plain = a * b + c
    if not math.isfinite(a) or not math.isfinite(b):
        return plain
    if not math.isfinite(c):
        return c
    (a_top, a_below), (b_top, b_below) = a.as_integer_ratio(), b.as_integer_ratio()
    c_top, c_below = c.as_integer_ratio()
    top = a_top * b_top * c_below + c_top * a_below * b_below
    if top == 0:
        return plain
    try:
        return top / (a_below * b_below * c_below)
    except OverflowError:
        return float("inf") if top > 0 else float("-inf")


def _fma(a: Values, b: Values, c: Values) -> Values:
    """a * b + c with one rounding."""
    if a.dtype == np.float64:
        exact = np.frompyfunc(_exact_fma, 3, 1)
        return np.asarray(exact(a, b, c), dtype=np.float64)
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    # Rounding to odd in f64 makes the second rounding, to f32, the only one that counts.
    even = np.asarray(total).view(np.int64) & 1 == 0
    inexact = even & (error != 0) & np.isfinite(total) & np.isfinite(error)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, toward), total).astype(np.float32)


def _whole(name: str, function: np.ufunc, c_name: str) -> ScalarFn:
    """The row of a rounding to whole numbers; integers are whole already."""
    return ScalarFn(
        name, 1, "iuf", lambda x: function(x) if x.dtype.kind == "f" else x,
        c=c.by_kind(iu=c.plain("{0}"), f=c.call(c_name)),
    )


ROWS = (
    ScalarFn(
        "add", 2, "biuf", np.add, commutative=True, associative=True,
        c=c.by_kind(b=c.plain("({0} || {1})"), iuf=c.operator("+")),
    ),
    ScalarFn("sub", 2, "iuf", np.subtract, c=c.operator("-")),
    ScalarFn(
        "mul", 2, "biuf", np.multiply, commutative=True, associative=True,
        c=c.by_kind(b=c.plain("({0} && {1})"), iuf=c.operator("*")),
    ),
    ScalarFn("mul_hi", 2, "iu", _mul_hi, c=c.mul_hi, commutative=True, cost=3),
    ScalarFn("truediv", 2, "f", np.true_divide, c=c.operator("/"), promotion="truediv", cost=6),
    ScalarFn(
        "floordiv", 2, "iuf", _floordiv, cost=16, promotion="number",
        c=c.by_kind(
            i=c.helper(c.FLOORDIV_SIGNED),
            u=c.helper(c.FLOORDIV_UNSIGNED),
            f=c.helper(c.FLOORDIV_FLOAT),
        ),
    ),
    ScalarFn(
        "mod", 2, "iuf", np.remainder, cost=16, promotion="number",
        c=c.by_kind(
            i=c.helper(c.MOD_SIGNED), u=c.helper(c.MOD_UNSIGNED), f=c.helper(c.MOD_FLOAT)
        ),
    ),
    ScalarFn(
        "neg", 1, "iuf", np.negative,
        c=c.by_kind(iu=c.negated, f=c.plain("(-({0}))")),
    ),
    ScalarFn(
        "abs", 1, "biuf", np.abs,
        c=c.by_kind(bu=c.plain("{0}"), i=c.helper(c.ABS, 1), f=c.call("fabs")),
    ),
    ScalarFn(
        "sign", 1, "iuf", np.sign, cost=2,
        c=c.by_kind(u=c.helper(c.SIGN_UNSIGNED, 1), fi=c.helper(c.SIGN, 1)),
    ),
    ScalarFn(
        "pow", 2, "iuf", _power, ulps=4, cost=60, promotion="number",
        c=c.by_kind(
            i=c.helper(c.POW_SIGNED), u=c.helper(c.POW_UNSIGNED), f=c.call("pow", 2)
        ),
    ),
    ScalarFn(
        "minimum", 2, "biuf", _minimum, commutative=True, associative=True, cost=2,
        c=c.by_kind(
            b=c.plain("({0} && {1})"),
            iu=c.plain("({0} < {1} ? {0} : {1})"),
            f=c.plain(
                "({0} < {1} || {0} != {0} || ({0} == {1} && signbit({0})) ? {0} : {1})"
            ),
        ),
    ),
    ScalarFn(
        "maximum", 2, "biuf", _maximum, commutative=True, associative=True, cost=2,
        c=c.by_kind(
            b=c.plain("({0} || {1})"),
            iu=c.plain("({0} > {1} ? {0} : {1})"),
            f=c.plain(
                "({0} > {1} || {0} != {0} || ({0} == {1} && !signbit({0})) ? {0} : {1})"
            ),
        ),
    ),
    _whole("floor", np.floor, "floor"),
    _whole("ceil", np.ceil, "ceil"),
    _whole("round", np.rint, "rint"),
    _whole("trunc", np.trunc, "trunc"),
    ScalarFn("fma", 3, "f", _fma, c=c.call("fma", 3)),
    ScalarFn("copysign", 2, "f", np.copysign, c=c.call("copysign", 2), promotion="float"),
)


# Rows of elementary functions on floats; integers are promoted to floats first.
#
#     exp(f32) = f32, computed here through f64 and rounded once; targets stay within `ulps` of it
#
# sqrt and rsqrt are the same bits everywhere on CPUs: IEEE square root, then IEEE division.


def _rsqrt(x: Values) -> Values:
    """1 / sqrt(x)."""
    return np.asarray(np.divide(x.dtype.type(1), np.sqrt(x)))


def _in_double(function: Callable[..., Values]) -> Meaning:
    """A function of f64 that serves f32 with one rounding more."""
    return lambda *xs: function(*(x.astype(np.float64) for x in xs)).astype(xs[0].dtype)


def _each(function: Callable[[float], float]) -> Callable[[Values], Values]:
    """A function of Python floats, element by element."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(ufunc(x), dtype=np.float64)


def _row(name: str, function: Callable[..., Values], cost: int, arity: int = 1) -> ScalarFn:
    """The row of a function whose C name is our name."""
    return ScalarFn(
        name, arity, "f", _in_double(function), c=c.call(name, arity), promotion="float",
        ulps=4, cost=cost, commutative=name == "hypot",
    )


ELEMENTARY = (
    ScalarFn("sqrt", 1, "f", np.sqrt, c=c.call("sqrt"), promotion="float", cost=8),
    ScalarFn("rsqrt", 1, "f", _rsqrt, c=c.plain("(1 / sqrt({0}))"), promotion="float", cost=14),
    _row("cbrt", np.cbrt, 20),
    _row("exp", np.exp, 14),
    _row("exp2", np.exp2, 12),
    _row("expm1", np.expm1, 18),
    _row("log", np.log, 16),
    _row("log2", np.log2, 16),
    _row("log10", np.log10, 16),
    _row("log1p", np.log1p, 20),
    _row("sin", np.sin, 18),
    _row("cos", np.cos, 18),
    _row("tan", np.tan, 24),
    _row("asin", np.arcsin, 20),
    _row("acos", np.arccos, 20),
    _row("atan", np.arctan, 20),
    _row("atan2", np.arctan2, 28, arity=2),
    _row("sinh", np.sinh, 24),
    _row("cosh", np.cosh, 20),
    _row("tanh", np.tanh, 20),
    _row("asinh", np.arcsinh, 30),
    _row("acosh", np.arccosh, 30),
    _row("atanh", np.arctanh, 30),
    _row("erf", _each(math.erf), 20),
    _row("erfc", _each(math.erfc), 34),
    _row("hypot", np.hypot, 14, arity=2),
)


# Rows between floats and the two storage types of 16 bits, which a program holds as u16.
#
#     of_f16  of_bf16      the f32 with the value of these bits, exact
#     to_f16  to_bf16      the bits of the nearest such float, the even one of two
#
#                 sign  exponent  fraction     greatest   least
#     f16           1       5        10        65504      2**-24
#     bf16          1       8         7        3.39e38    2**-133
#
# What is too great becomes infinite and what is too small 0, rounded once, from f64 too. NaN
# stays NaN, quiet, with its sign and as much of its fraction as there is room for.


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


SHORT_FLOATS = (
    ScalarFn("of_f16", 1, "u", _of_f16, result="f32", c=c.helper(c.OF_F16, 1), cost=2),
    ScalarFn("of_bf16", 1, "u", _of_bf16, result="f32", c=c.helper(c.OF_BF16, 1), cost=2),
    ScalarFn("to_f16", 1, "f", _to_f16, result="u16", c=c.short_float(c.TO_F16), cost=3),
    ScalarFn("to_bf16", 1, "f", _to_bf16, result="u16", c=c.short_float(c.TO_BF16), cost=3),
)
