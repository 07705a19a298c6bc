"""Circular and hyperbolic functions of complex numbers and their inverses, exact at infinities and
NaN (C99, annex G); the inverses are Kahan's."""

from __future__ import annotations

import math
from typing import Any

from flatweave.frontend.complex.exponential import root
from flatweave.frontend.complex.rules import rule
from flatweave.frontend.elements.elementwise import (
    abs,
    asinh,
    atan2,
    copysign,
    cos,
    cosh,
    exp,
    hypot,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    minimum,
    sin,
    sinh,
    sqrt,
    tan,
)
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.values.number_formats import Complex

HALF_PI = math.pi / 2


def far(z: Complex) -> Any:
    """Whether 1 is nothing beside the square."""
    most = 1e9 if z.dtype.itemsize == 8 else 1e17
    return (abs(z.real) > most) | (abs(z.imag) > most)


def log_twice(x: Any, y: Any) -> Any:
    """log |2 (x + iy)| without overflow."""
    return log(hypot(x * 0.5, y * 0.5)) + 2 * math.log(2)


def times_i(z: Complex) -> Complex:
    """iz"""
    return Complex(-z.imag, z.real)


def over_i(z: Complex) -> Complex:
    """z / i"""
    return Complex(z.imag, -z.real)


def scaled(part: Any, x: Any, angle: Any) -> Any:
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
    imag = scaled(cosh(x), x, sin(y))
    real = where((y == 0) | (lost & ((x == 0) | isinf(x))), sinh(x), real)
    return Complex(real, where(y == 0, y, imag))


@rule("cosh")
def hyperbolic_cosine(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y"""
    x, y = z.real, z.imag
    lost = ~isfinite(y)
    real = scaled(cosh(x), x, cos(y))
    imag = scaled(sinh(x), x, sin(y))
    real = where((y == 0) | (lost & isinf(x)), cosh(x), real)
    imag = where(y == 0, copysign(1, x) * y, imag)
    return Complex(real, where(lost & (x == 0), 0, imag))


@rule("tanh")
def hyperbolic_tangent(z: Complex) -> Complex:
    """sinh z / cosh z, without overflow"""
    x, y = z.real, z.imag
    lost = ~isfinite(y)
    near = copysign(minimum(abs(x), 20.0), x)
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
    return Complex(real, where(flat | (y == 0), y, imag))


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
    a = abs(x)
    real = log1p(4 * a / ((1 - a) * (1 - a) + y * y)) * 0.25
    imag = atan2(2 * y, (1 - a) * (1 + a) - y * y) * 0.5
    half = hypot(x * 0.5, y * 0.5)
    real = where(is_far, where(isinf(half), 0, a * 0.25 / half / half), real)
    unknown = isnan(y) | (isnan(x) & isfinite(y))
    imag = where(is_far, where(unknown, x + y, copysign(HALF_PI, y)), imag)
    lost = isnan(y) & ((x == 0) | isinf(x))
    real = where(lost, 0, real)
    return Complex(copysign(real, x), imag)


@rule("atan")
def inverse_tangent(z: Complex) -> Complex:
    """atanh(iz) / i"""
    return over_i(inverse_hyperbolic_tangent(times_i(z)))
