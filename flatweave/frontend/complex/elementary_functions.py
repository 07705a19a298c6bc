"""Exponentials, logarithms, roots, circular and hyperbolic functions of complex numbers.

All are exact at infinities and NaN (C99, annex G); inverse functions are Kahan's. A choice for
such a value is made there only: on an axis the formula must stay, as it has the derivative. For the
same reason signs are factors there, not those of `abs` and `copysign`, whose slope at 0 is 0.
"""

from __future__ import annotations

import math
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.frontend.complex.rules import multiplied, number, rule, whole
from flatweave.frontend.elements.elementwise import (
    abs,
    asinh,
    atan2,
    copysign,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    maximum,
    minimum,
    sin,
    sinh,
    sqrt,
    tan,
)
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.values.arguments import common
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.number_formats import Complex

LOG_2 = math.log(2)
LOG_10 = math.log(10)


def turned(size: Any, half: Any, part: Any) -> Array:
    """size * part, where size = half * half may overflow though the product does not."""
    return where(isinf(size), half * part * half, size * part)


@rule("exp")
def exponential(z: Complex) -> Complex:
    """e^x (cos y + i sin y)"""
    x, y = z.real, z.imag
    size, half = exp(x), exp(x * 0.5)
    at_infinity = isinf(x) & ~isfinite(y)
    real = turned(size, half, cos(y))
    imag = where((y == 0) & ~isfinite(size), y, turned(size, half, sin(y)))
    # e^inf has a size and no direction, e^-inf has none of both
    return Complex(
        where(at_infinity, size, real), where(at_infinity, where(x > 0, y - y, 0), imag)
    )


@rule("exp2")
def power_of_two(z: Complex) -> Complex:
    """e^(z log 2)"""
    return exponential(Complex(z.real * LOG_2, z.imag * LOG_2))


@rule("expm1")
def exponential_less_one(z: Complex) -> Complex:
    """e^z - 1, exact near 0: expm1(x) cos y - 2 sin(y/2)^2 + i e^x sin y"""
    x, y = z.real, z.imag
    size, less, half = exp(x), expm1(x), sin(y * 0.5)
    at_infinity = isinf(x) & ~isfinite(y)
    real = less * cos(y) - 2 * half * half
    real = where(y == 0, 0 - (-real), real)  # the standard has no -0 there
    imag = where((y == 0) & ~isfinite(size), y, size * sin(y))
    return Complex(
        where(at_infinity, less, real), where(at_infinity, where(x > 0, y - y, 0), imag)
    )


def log_of_size(x: Any, y: Any) -> Array:
    """log |x + iy|, exact near 1, without overflow."""
    size = hypot(x, y)
    is_first = abs(x) >= abs(y)
    great, small = where(is_first, x, y), where(is_first, y, x)
    near_one = (size > 0.5) & (size < 2)
    far = (size > 1e30) & isfinite(great)
    scaled = log(hypot(x * 0.5, y * 0.5)) + LOG_2
    near = log1p((great - 1) * (great + 1) + small * small) * 0.5
    return where(near_one, near, where(far, scaled, log(size)))


@rule("log")
def logarithm(z: Complex) -> Complex:
    """log |z| + i atan2(y, x)"""
    return Complex(log_of_size(z.real, z.imag), atan2(z.imag, z.real))


@rule("log2")
def binary_logarithm(z: Complex) -> Complex:
    """log z / log 2"""
    found = logarithm(z)
    return Complex(found.real * (1 / LOG_2), found.imag * (1 / LOG_2))


@rule("log10")
def decimal_logarithm(z: Complex) -> Complex:
    """log z / log 10"""
    found = logarithm(z)
    return Complex(found.real * (1 / LOG_10), found.imag * (1 / LOG_10))


@rule("log1p")
def logarithm_of_one_more(z: Complex) -> Complex:
    """log(1 + z), exact near 0"""
    x, y = z.real, z.imag
    is_small = (abs(x) < 0.5) & (abs(y) < 0.5)
    near = log1p(x * (2 + x) + y * y) * 0.5
    return Complex(where(is_small, near, log_of_size(1 + x, y)), atan2(y, 1 + x))


@rule("sqrt")
def root(z: Complex) -> Complex:
    """The square root with a real part of 0 or more."""
    x, y = z.real, z.imag
    great = maximum(abs(x), abs(y))
    one = number(1.0, x)  # two Python numbers would make a choice an f64
    scale = where(great > 1e30, 0.25, where(great < 1e-30, 2.0**60, one))
    back = where(great > 1e30, 2.0, where(great < 1e-30, 2.0**-30, one))
    sign = copysign(one, y)
    a, b = where(x >= 0, x, -x) * scale, y * sign * scale
    side = sqrt((a + hypot(a, b)) * 0.5)
    other = b / where(side == 0, 1, side) * 0.5
    real = where(x >= 0, side, other) * back
    imag = where(x >= 0, other, side) * back * sign
    is_zero = (x == 0) & (y == 0)
    real, imag = where(is_zero, 0, real), where(is_zero, y, imag)
    nan = y - y  # where y is one: neither part has a value, but for that of infinity
    right = (x > 0) & isinf(x)
    left = (x < 0) & isinf(x)
    real = where(right, x, where(left, where(isnan(y), y, 0), real))
    imag = where(right, where(isnan(y), y, copysign(nan, y)), imag)
    imag = where(left, copysign(-x, y), imag)
    real = where(isnan(x) | (isnan(y) & ~isinf(x)), x + y, real)
    imag = where(isnan(x) | (isnan(y) & ~isinf(x)), x + y, imag)
    return Complex(where(isinf(y), abs(y), real), where(isinf(y), y, imag))


@rule("power")
def raised(x: Any, y: Any) -> Complex:
    """e^(y log x); 1 to the power of 0; 0 to a power of positive real part is 0, to others NaN."""
    if type(y) is int and y == 2:
        return multiplied(x, x)
    z, w = whole(x), whole(y)
    part = common((z.real, z.imag, w.real, w.imag))[0]
    if z.real.element is not part or not part.is_float:  # the logarithm must be as exact as that
        part = part if part.is_float else f64
        z = Complex(z.real.astype(part), z.imag.astype(part))
    is_zero = (z.real == 0) & (z.imag == 0)
    is_one = (w.real == 0) & (w.imag == 0)
    safe = Complex(where(is_zero, 1, z.real), where(is_zero, 0, z.imag))
    found = exponential(multiplied(w, logarithm(safe)))
    is_positive = w.real > 0
    real, imag = (
        where(is_zero & is_positive, 0, where(is_zero, math.nan, part))
        for part in (found.real, found.imag)
    )
    is_lost = is_one & ~(isfinite(real) & isfinite(imag))
    imag = where(is_one, 0 - (-imag), imag)  # not -0
    return Complex(where(is_lost, 1, real), where(is_lost, 0, imag))


HALF_PI = math.pi / 2


def far(z: Complex) -> Array:
    """Whether 1 is negligible next to the square."""
    most = 1e9 if z.dtype.itemsize == 8 else 1e17
    return (abs(z.real) > most) | (abs(z.imag) > most)


def log_twice(x: Any, y: Any) -> Array:
    """log |2 (x + iy)| without overflow."""
    return log(hypot(x * 0.5, y * 0.5)) + 2 * math.log(2)


def times_i(z: Complex) -> Complex:
    """iz"""
    return Complex(-z.imag, z.real)


def over_i(z: Complex) -> Complex:
    """z / i"""
    return Complex(z.imag, -z.real)


def scaled(part: Any, x: Any, angle: Any) -> Array:
    """sinh(x) or cosh(x), `part`, times the sine or cosine `angle`, also where `part` overflows."""
    half = exp(minimum(abs(x), 1e5) * 0.5)
    sign = copysign(1, part)
    return where(isinf(part) & isfinite(x), sign * (half * (0.5 * angle)) * half, part * angle)


@rule("sinh")
def hyperbolic_sine(z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y"""
    x, y = z.real, z.imag
    lost = ~isfinite(y)
    real = scaled(sinh(x), x, cos(y))
    length = cosh(x)
    imag = scaled(length, x, sin(y))
    real = where(lost & ((x == 0) | isinf(x)), sinh(x), real)
    return Complex(real, where((y == 0) & ~isfinite(length), y, imag))


@rule("cosh")
def hyperbolic_cosine(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y"""
    x, y = z.real, z.imag
    lost = ~isfinite(y)
    length = cosh(x)
    real = scaled(length, x, cos(y))
    imag = scaled(sinh(x), x, sin(y))
    real = where(lost & isinf(x), length, real)
    imag = where((y == 0) & ~isfinite(length), copysign(1, x) * y, imag)
    return Complex(real, where(lost & (x == 0), 0, imag))


@rule("tanh")
def hyperbolic_tangent(z: Complex) -> Complex:
    """sinh z / cosh z, without overflow"""
    x, y = z.real, z.imag
    lost = ~isfinite(y)
    near = where(abs(x) > 20, copysign(20.0, x), x)
    t, s = tan(y), sinh(near)
    beta = 1 + t * t  # NaN where y is infinite
    below = 1 + beta * s * s
    real = beta * sqrt(1 + s * s) * s / below
    imag = t / below
    is_far = abs(x) > 20
    real = where(is_far, copysign(1, x), where(lost & (x == 0), x, real))
    imag = where(is_far, 4 * sin(y) * cos(y) * exp(-2 * abs(x)), imag)
    imag = where(isinf(x), copysign(0.0, y), imag)
    real = where(is_far & lost & isfinite(x), y - y, real)
    flat = isnan(x) & (y == 0)
    real, imag = where(isnan(x), x, real), where(isnan(x) & ~flat, x, imag)
    return Complex(real, where(flat, y, imag))


@rule("sin")
def sine(z: Complex) -> Complex:
    """sinh(iz) / i"""
    return over_i(hyperbolic_sine(times_i(z)))


@rule("cos")
def cosine(z: Complex) -> Complex:
    """cosh(iz)"""
    return hyperbolic_cosine(times_i(z))


@rule("tan")
def tangent(z: Complex) -> Complex:
    """tanh(iz) / i"""
    return over_i(hyperbolic_tangent(times_i(z)))


@rule("asinh")
def inverse_hyperbolic_sine(z: Complex) -> Complex:
    """The inverse of sinh, cut along the imaginary axis beyond i and -i."""
    x, y = z.real, z.imag
    one, other = root(Complex(1 + y, -x)), root(Complex(1 - y, x))
    is_far = far(z)
    real = asinh(one.real * other.imag - other.real * one.imag)
    imag = atan2(y, one.real * other.real - one.imag * other.imag)
    real = where(is_far, copysign(log_twice(x, y), x), real)
    imag = where(is_far, atan2(y, abs(x)), imag)
    return Complex(real, where(isnan(x) & (y == 0), y, imag))


@rule("acosh")
def inverse_hyperbolic_cosine(z: Complex) -> Complex:
    """The inverse of cosh, cut along the real axis below 1."""
    x, y = z.real, z.imag
    one, other = root(Complex(x - 1, y)), root(Complex(x + 1, y))
    is_far = far(z)
    real = asinh(one.real * other.real + one.imag * other.imag)
    imag = 2 * atan2(one.imag, other.real)
    real, imag = where(is_far, log_twice(x, y), real), where(is_far, atan2(y, x), imag)
    return Complex(real, where((x == 0) & isnan(y), HALF_PI, imag))


@rule("acos")
def inverse_cosine(z: Complex) -> Complex:
    """The inverse of cos, cut along the real axis beyond 1 and -1."""
    x, y = z.real, z.imag
    one, other = root(Complex(1 - x, -y)), root(Complex(1 + x, y))
    is_far = far(z)
    real = 2 * atan2(one.real, other.real)
    imag = asinh(other.real * one.imag - other.imag * one.real)
    real = where(is_far, atan2(abs(y), x), real)
    imag = where(is_far, copysign(log_twice(x, y), -y), imag)
    return Complex(where((x == 0) & isnan(y), HALF_PI, real), imag)


@rule("asin")
def inverse_sine(z: Complex) -> Complex:
    """asinh(iz) / i"""
    return over_i(inverse_hyperbolic_sine(times_i(z)))


@rule("atanh")
def inverse_hyperbolic_tangent(z: Complex) -> Complex:
    """The inverse of tanh, cut along the real axis beyond 1 and -1."""
    x, y = z.real, z.imag
    is_far = far(z)
    sign = copysign(1, x)
    a = x * sign
    real = log1p(4 * a / ((1 - a) * (1 - a) + y * y)) * 0.25
    imag = atan2(2 * y, (1 - a) * (1 + a) - y * y) * 0.5
    half = hypot(x * 0.5, y * 0.5)
    real = where(is_far, where(isinf(half), 0, a * 0.25 / half / half), real)
    unknown = isnan(y) | (isnan(x) & isfinite(y))
    imag = where(is_far, where(unknown, x + y, copysign(HALF_PI, y)), imag)
    lost = isnan(y) & ((x == 0) | isinf(x))
    real = where(lost, 0, real)
    return Complex(real * sign, imag)


@rule("atan")
def inverse_tangent(z: Complex) -> Complex:
    """atanh(iz) / i"""
    return over_i(inverse_hyperbolic_tangent(times_i(z)))
