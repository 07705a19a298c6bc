"""Powers and roots in LLVM at any width: pow, cbrt, hypot.

    x**y = e**(y * log |x|)        f32: in f64; f64: log as a sum of two floats, 65 bits good

pow follows C: 1**y = x**0 = 1 even for NaN, a negative x needs a whole y, 0**-1 = inf.
"""

from __future__ import annotations

from flatweave.base.dtypes import f32, f64
from flatweave.codegen.llvm.math.exponentials import (
    LOG2E,
    at_least,
    at_most,
    exp_of_sum,
    nearest,
    power_of_two,
)
from flatweave.codegen.llvm.math.logarithms import split, split_any
from flatweave.codegen.llvm.text.values import Value

INF = float("inf")
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


def power(x: Value, y: Value) -> Value:
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
