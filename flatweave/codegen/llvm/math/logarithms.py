"""Logarithms in LLVM at any width: log, log2, log10, log1p, asinh, acosh, atanh.

    log x = k * ln 2 + log(1 + f)        x = 2**k * (1 + f), 1 + f between sqrt(1/2) and sqrt(2)

f64 goes through s = f / (2 + f) and log(1 + f) = 2s + s**3 * P(s**2); f32 takes a polynomial in f,
which needs no division. Subnormal numbers, 0, negative ones, inf and NaN are seen to in a branch
that is taken only when some lane holds one.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import BY_NAME
from flatweave.base.records import record, replace
from flatweave.codegen.llvm.math.exponentials import LOG2E, format_of, power_of_two
from flatweave.codegen.llvm.text.values import Value, call_function, rarely

INF = float("inf")
NAN = float("nan")
LOG10E = 0.4342944819032518
_LOG10_2_F32 = (0.3010300099849701, -1.4320988897559699e-08)
_LOG10_2_F64 = (0.3010299956639812, -2.8037281277851704e-18)
_LOG_F32 = (0.333333105, -0.249999851, 0.200022668, -0.166693777, 0.142178237, -0.123815171,
            0.118769698, -0.118091188, 0.0692921281)  # fmt: skip
_LOG_F64 = (
    0.666666666666674, 0.39999999999377966, 0.2857142875130498, 0.22222197587210263,
    0.18183618992601913, 0.1531256981637059, 0.14811540452217867,
)  # fmt: skip


@record(eq=True)
class Split:
    """x = 2**k * (1 + f), k as a float and as an integer."""

    k: Value
    f: Value
    exponent: Value


def split(x: Value) -> Split:
    """The exponent and the mantissa of a positive normal number."""
    f = format_of(x)
    root = 0x3F3504F3 if x.dtype.bits == 32 else 0x3FE6A09E667F3BCD  # sqrt(1/2)
    bits = x.bits()
    k = (bits - root) >> f.mantissa
    mantissa = (bits - (k << f.mantissa)).as_float()
    return Split(k.convert("sitofp", x.dtype), mantissa - 1.0, k)


def split_any(x: Value) -> Split:
    """The exponent and the mantissa of a positive number, subnormal ones included."""
    f = format_of(x)
    tiny = x < 2.0 ** (1 - f.bias)
    lift = 2.0 ** (f.mantissa + 2)
    parts = split(tiny.where(x * lift, x))
    k = tiny.where(parts.k - float(f.mantissa + 2), parts.k)
    return replace(parts, k=k)


def _of_mantissa(f: Value, addend: Value | None = None) -> Value:
    """log(1 + f) - f, plus an addend smaller than the whole."""
    square = f * f
    if f.dtype.bits == 32:
        factor = f.polynomial(-0.5, *_LOG_F32)
        return square * factor if addend is None else square.fma(factor, addend)
    s = f / (f + 2.0)
    z = s * s
    half = square * 0.5
    shift = z.fma(z.polynomial(*_LOG_F64), half)
    rest = s * shift if addend is None else s.fma(shift, addend)
    return rest - half


def _natural(parts: Split) -> Value:
    """log of a positive finite number."""
    high, low = format_of(parts.f).ln2
    rest = _of_mantissa(parts.f, parts.k * low)
    return parts.k.fma(high, parts.f + rest)


def _binary(parts: Split) -> Value:
    """log2 of a positive finite number."""
    return (parts.f + _of_mantissa(parts.f)).fma(LOG2E, parts.k)


def _decimal(parts: Split) -> Value:
    """log10 of a positive finite number."""
    high, low = _LOG10_2_F32 if parts.f.dtype.bits == 32 else _LOG10_2_F64
    fraction = (parts.f + _of_mantissa(parts.f)) * LOG10E
    return parts.k.fma(high, parts.k.fma(low, fraction))


def _logarithm(name: str, x: Value, formula: Callable[[Split], Value]) -> Value:
    """The formula, and a branch for lanes that are subnormal, 0, negative, inf or NaN."""
    f = format_of(x)
    least = 1 << f.mantissa  # the bits of the least normal number
    infinite = (2 * f.bias + 1) << f.mantissa
    offset = x.bits() - least
    above = Value(x.body, BY_NAME[f"u{x.dtype.bits}"], x.width, offset.text)
    special = above >= infinite - least
    return rarely(special, formula(split(x)), lambda: _at_ends(name, x, formula))


def _at_ends(name: str, x: Value, formula: Callable[[Split], Value]) -> Value:
    """A call of the formula with every special value seen to."""

    def build(v: Value) -> Value:
        result = (v < INF).where(formula(split_any(v)), v)
        below = v.eq(0.0).where(v.number(-INF), NAN)
        return (v <= 0.0).where(below, result)

    return call_function(f"{name}.ends", build, [x], "noinline nounwind")


def log(x: Value) -> Value:
    """The natural logarithm."""
    return _logarithm("log", x, _natural)


def log2(x: Value) -> Value:
    """The logarithm to base 2; exact for powers of 2."""
    return _logarithm("log2", x, _binary)


def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    return _logarithm("log10", x, _decimal)


def log1p(x: Value) -> Value:
    """log(1 + x), accurate near 0."""
    total = x + 1.0
    grown = total - 1.0
    lost = (x - grown) + (1.0 - (total - grown))  # 1 + x = total + lost, exactly
    parts = split(total)
    exponent = parts.exponent.intrinsic("smin", format_of(x).bias - 1)
    shift = lost * power_of_two(-exponent)  # what f lacks
    near = _natural(parts) + (-shift).fma(parts.f, shift)
    result = (x < INF).where(near, x)
    below = x.eq(-1.0).where(x.number(-INF), NAN)
    return (x <= -1.0).where(below, result).copysign(x)


def asinh(x: Value) -> Value:
    """log(x + sqrt(x**2 + 1)), odd."""
    size = x.abs()
    huge = size > _huge(x)
    near = huge.where(x.number(1.0), size)
    square = near * near
    usual = near + square / ((square + 1.0).sqrt() + 1.0)
    return _log1p_doubled(huge, size, usual).copysign(x)


def acosh(x: Value) -> Value:
    """log(x + sqrt(x**2 - 1)); NaN below 1."""
    huge = x > _huge(x)
    above = huge.where(x.number(1.0), x) - 1.0
    usual = above + above.fma(above, above + above).sqrt()
    return (x < 1.0).where(x.number(NAN), _log1p_doubled(huge, x, usual))


def _huge(x: Value) -> float:
    """Beyond it x**2 may be inf, and 1 is nothing beside x."""
    return 2.0**60 if x.dtype.bits == 32 else 2.0**500


def _log1p_doubled(huge: Value, x: Value, usual: Value) -> Value:
    """log(2 * x) where x is huge, else log(1 + usual)."""
    added = huge.where(x.number(format_of(x).ln2[0]), 0.0)
    return log1p(huge.where(x, usual)) + added


def atanh(x: Value) -> Value:
    """log((1 + x) / (1 - x)) / 2."""
    size = x.abs()
    return (log1p((size + size) / (1.0 - size)) * 0.5).copysign(x)
