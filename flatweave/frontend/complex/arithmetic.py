"""Products, quotients, sizes and comparisons of complex numbers."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import PARTS
from flatweave.frontend.complex.rules import rule, whole
from flatweave.frontend.elements.elementwise import abs, hypot, isfinite, isinf, isnan
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.values.array import Array, describe
from flatweave.frontend.values.number_formats import Complex, complex_dtype, not_real
from flatweave.frontend.values.promotion import any_dtype_of, common


@rule("mul")
def multiplied(x: Any, y: Any) -> Complex:
    """(ac - bd) + i(ad + bc); with a real number each part separately."""
    if not isinstance(x, Complex):
        x, y = y, x
    if not isinstance(y, Complex):
        return Complex(x.real * y, x.imag * y)
    return Complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


@rule("truediv")
def divided(x: Any, y: Any) -> Complex:
    """The quotient by Smith's method, whose squares do not overflow."""
    z = whole(x)
    if not isinstance(y, Complex):
        return Complex(z.real / y, z.imag / y)
    part = common((z.real, z.imag, y.real, y.imag))[0]
    c, d = (v if v.weak or v.element is part else v.astype(part) for v in (y.real, y.imag))
    is_flat = abs(c) >= abs(d)
    most, least = where(is_flat, c, d), where(is_flat, d, c)
    is_zero = most == 0  # then the parts are divided by 0
    ratio = least / where(is_zero, 1, most)
    size = where(is_zero, most, most + least * ratio)
    real = where(is_flat, z.real + z.imag * ratio, z.real * ratio + z.imag)
    imag = where(is_flat, z.imag - z.real * ratio, z.imag * ratio - z.real)
    return Complex(real / size, imag / size)


@rule("reciprocal")
def inverted(x: Any) -> Complex:
    """1 / x"""
    return divided(1.0, x)


@rule("square")
def squared(x: Complex) -> Complex:
    """x * x"""
    return multiplied(x, x)


@rule("conj")
def conjugated(x: Complex) -> Complex:
    """a - ib"""
    return Complex(x.real, -x.imag)


@rule("abs")
def size(x: Complex) -> Array:
    """The distance from 0, without overflow."""
    return hypot(x.real, x.imag)


@rule("sign")
def direction(x: Complex) -> Complex:
    """x / |x|; 0 for 0."""
    length = size(x)
    none = length == 0
    by = where(none, 1, length)
    return Complex(where(none, 0, x.real / by), where(none, 0, x.imag / by))


@rule("equal")
def equals(x: Any, y: Any) -> Array:
    """Whether both parts are equal."""
    z, w = whole(x), whole(y)
    return (z.real == w.real) & (z.imag == w.imag)


@rule("not_equal")
def differs(x: Any, y: Any) -> Array:
    """Whether one of the parts differs."""
    z, w = whole(x), whole(y)
    return (z.real != w.real) | (z.imag != w.imag)


@rule("isnan")
def is_nan(x: Complex) -> Array:
    """Whether a part is NaN."""
    return isnan(x.real) | isnan(x.imag)


@rule("isinf")
def is_infinite(x: Complex) -> Array:
    """Whether a part is infinite."""
    return isinf(x.real) | isinf(x.imag)


@rule("isfinite")
def is_finite(x: Complex) -> Array:
    """Whether both parts are finite."""
    return isfinite(x.real) & isfinite(x.imag)


@rule("astype")
def converted(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Array:
    """The values in another dtype; DTypeError for a real one, which has no imaginary part."""
    wanted = complex_dtype(dtype)
    if wanted is not None:
        z = whole(x)
        return Complex(astype(z.real, PARTS[wanted]), astype(z.imag, PARTS[wanted]))
    if any_dtype_of(dtype).kind == "b":
        z = whole(x)
        return (z.real != 0) | (z.imag != 0)
    raise not_real(describe(x), any_dtype_of(dtype))
