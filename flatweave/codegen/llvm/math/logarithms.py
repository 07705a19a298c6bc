"""Logarithms, powers and roots in LLVM at any width."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import BY_NAME, f32, f64
from flatweave.base.records import record, replace
from flatweave.codegen.llvm.math.exponentials import (
    LOG2E,
    at_least,
    at_most,
    exp_of_sum,
    format_of,
    nearest,
    power_of_two,
)
from flatweave.codegen.llvm.values import Value, call_function, rarely

# Logarithms in LLVM at any width: log, log2, log10, log1p, asinh, acosh, atanh.
#
#     log x = k * ln 2 + log(1 + f)        x = 2**k * (1 + f), 1 + f between sqrt(1/2) and sqrt(2)
#
# f64 goes through s = f / (2 + f) and log(1 + f) = 2s + s**3 * P(s**2); f32 takes a polynomial in
# f, which needs no division. Subnormal numbers, 0, negative ones, inf and NaN are seen to in a
# branch that is taken only when some lane holds one.


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
    """Above it x**2 may be inf, and 1 is negligible next to x."""
    return 2.0**60 if x.dtype.bits == 32 else 2.0**500


def _log1p_doubled(huge: Value, x: Value, usual: Value) -> Value:
    """log(2 * x) where x is huge, else log(1 + usual)."""
    added = huge.where(x.number(format_of(x).ln2[0]), 0.0)
    return log1p(huge.where(x, usual)) + added


def atanh(x: Value) -> Value:
    """log((1 + x) / (1 - x)) / 2."""
    size = x.abs()
    return (log1p((size + size) / (1.0 - size)) * 0.5).copysign(x)


# Powers and roots in LLVM at any width: pow, cbrt, hypot.
#
#     x**y = e**(y * log |x|)        f32: in f64; f64: log as a sum of two floats, 65 bits good
#
# pow follows C: 1**y = x**0 = 1 even for NaN, a negative x needs a whole y, 0**-1 = inf.


_LN2 = (0.6931471805599453, 2.3190468138462996e-17)
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
# (log(1 + f) - 2s) / s**3 = 2/3 + z * P(z), z = s**2, s = f / (2 + f)
_LOG = (
    0.39999999999999974, 0.28571428571446317, 0.22222222217244547, 0.18181818906009387,
    0.1538455444395532, 0.13336410489402695, 0.11672935278787391, 0.12004647840637199,
)  # fmt: skip
# the same with 44 bits, 2/3 included; and (e**r - 1 - r) / r**2 with 34
_LOG_SHORT = (0.666666666762627, 0.3999999544428087, 0.2857212994534242, 0.22175245450036835,
              0.19598711920138834)  # fmt: skip
_EXP_SHORT = (0.5000000078774184, 0.16666666863393834, 0.04166626692861196,
              0.008333263743323957, 0.0013946291783752747, 0.0001991871745321009)  # fmt: skip
# cbrt m to 9 bits for m in [sqrt(1/2), 8 * sqrt(1/2)]
_CBRT = (0.5588562633153029, 0.5659481103292429, -0.14926986788847263, 0.024149623313051042,
         -0.0015398251654409473)  # fmt: skip


def power_by_literal(x: Value, y: Value) -> Value | None:
    """x**y for the exponents that programs write: 0, 1, 2, 3, 4, -1, 0.5; None for others."""
    square = x * x if y.text in {y.number(k).text for k in (2.0, 3.0, 4.0)} else x
    if y.text == y.number(0.0).text:
        return x.number(1.0)
    if y.text == y.number(1.0).text:
        return x
    if y.text == y.number(2.0).text:
        return square
    if y.text == y.number(3.0).text:
        return square * x
    if y.text == y.number(4.0).text:
        return square * square
    if y.text == y.number(-1.0).text:
        return 1.0 / x
    if y.text == y.number(0.5).text:  # unlike sqrt, pow gives 0.0 for -0.0 and inf for -inf
        return x.eq(-INF).where(x.number(INF), (x + 0.0).sqrt())
    return None


def pow(x: Value, y: Value) -> Value:
    """x**y."""
    size = x.abs()
    positive = _power_of_f32(size, y) if x.dtype == f32 else _power_of_positive(size, y)
    whole = y.intrinsic("trunc").eq(y)
    half = y * 0.5
    odd = whole & half.intrinsic("trunc").ne(half) & (y.abs() < INF)
    negative = x.bits() < 0
    signed = (negative & odd).where(-positive, positive)
    finite_base = negative & (x > -INF) & x.ne(0.0)
    signed = (finite_base & ~whole & y.eq(y)).where(x.number(float("nan")), signed)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & y.abs().eq(INF))
    return one.where(x.number(1.0), signed)


def _power_of_f32(x: Value, y: Value) -> Value:
    """x**y for f32 x >= 0, in f64, with as many digits as f32 needs."""
    parts = split(x.convert("fpext", f64))
    s = parts.f / (parts.f + 2.0)
    z = s * s
    log = parts.k.fma(_LN2[0], s * z.polynomial(2.0, *_LOG_SHORT))
    product = at_least(at_most(y.convert("fpext", f64) * log, 200.0), -200.0)
    n, k = nearest(product, LOG2E)
    r = n.fma(-_LN2[0], product)
    usual = (r.polynomial(1.0, 1.0, *_EXP_SHORT) * power_of_two(k)).convert("fptrunc", f32)
    return _ends_of_power(x, y, usual)


def _ends_of_power(x: Value, y: Value, usual: Value) -> Value:
    """x**y where x is 0, inf or NaN, else the usual."""
    end = (x.eq(0.0) ^ (y < 0.0)).where(x.number(0.0), INF)
    at_end = (x.eq(0.0) | x.eq(INF)) & y.eq(y)
    return at_end.where(end, x.eq(x).where(usual, x))


def _power_of_positive(x: Value, y: Value) -> Value:
    """x**y for f64 x >= 0."""
    high, low = _log_as_sum(x)
    product = y * high
    lost = y.fma(low, y.fma(high, -product))
    sane = product.abs() < 2000.0
    usual = exp_of_sum(product, sane.where(lost, 0.0), x.number(1.0), x.number(0.0))
    return _ends_of_power(x, y, usual)


def _log_as_sum(x: Value) -> tuple[Value, Value]:
    """log x of a positive finite f64 as high + low."""
    parts = split_any(x)
    f = parts.f
    total = f + 2.0
    total_low = f - (total - 2.0)
    s = f / total
    s_low = (-s).fma(total_low, (-s).fma(total, f)) / total
    z = s * s
    z_low = s.fma(s, -z) + 2.0 * s * s_low
    high, low = _two_sum(z.number(_TWO_THIRDS[0]), z * z.polynomial(*_LOG))
    low = low + _TWO_THIRDS[1]
    factor = z * high  # log(1 + f) = s * (2 + z * (2/3 + ..))
    factor_low = z.fma(high, -factor) + z * low + z_low * high
    sum_high, sum_low = _two_sum(z.number(2.0), factor)
    sum_low = sum_low + factor_low
    main = s * sum_high
    rest = s.fma(sum_high, -main) + s * sum_low + s_low * sum_high
    scaled = parts.k * _LN2[0]
    scaled_low = parts.k.fma(_LN2[0], -scaled) + parts.k * _LN2[1]
    result, lost = _two_sum(scaled, main)
    return _two_sum(result, lost + (scaled_low + rest))


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """a + b and what rounding took from it, for any a and b."""
    total = a + b
    grown = total - a
    return total, (a - (total - grown)) + (b - grown)


def cbrt(x: Value) -> Value:
    """The cube root: a polynomial to 9 bits, then Halley's steps, each to three times as many."""
    size = x.abs()
    parts = split_any(size)
    third = ((parts.k + 0.5) * (1.0 / 3.0)).intrinsic("floor")
    rest = third.fma(-3.0, parts.k)
    mantissa = (parts.f + 1.0) * _power_of_float(rest)
    root = mantissa.polynomial(*_CBRT)
    for _ in range(1 if x.dtype == f32 else 2):
        square = root * root
        square_low = root.fma(root, -square)
        error = square_low.fma(root, square.fma(root, -mantissa))
        root = root - root * error / (square * root * 2.0 + mantissa)
    result = (root * _power_of_float(third)).copysign(x)
    return (x.eq(0.0) | ~(size < INF)).where(x, result)


def _power_of_float(k: Value) -> Value:
    """2**k for a small whole float."""
    return power_of_two(nearest(k, 1.0)[1])


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) without overflow on the way; inf wins over NaN."""
    high, low, by = (62, -40, 80) if x.dtype == f32 else (510, -450, 600)
    up, along = x.abs(), y.abs()
    huge = (up > 2.0**high) | (along > 2.0**high)
    tiny = (up < 2.0**low) & (along < 2.0**low)
    factor = huge.where(x.number(2.0**-by), tiny.where(x.number(2.0**by), 1.0))
    back = huge.where(x.number(2.0**by), tiny.where(x.number(2.0**-by), 1.0))
    up_scaled, along_scaled = up * factor, along * factor
    usual = up_scaled.fma(up_scaled, along_scaled * along_scaled).sqrt() * back
    return (up.eq(INF) | along.eq(INF)).where(x.number(INF), usual)
