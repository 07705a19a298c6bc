"""Functions of numbers that are compositions, under the standard's names."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import bool_, i8
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import zipped
from flatweave.frontend.elements.elementwise import abs, copysign, exp, log1p, maximum
from flatweave.frontend.elements.scalars import apply, select, strong, where
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.promotion import operand_dtype
from flatweave.terms.syntax import constant

LOG_2 = 0.6931471805599453


@operation(elementwise=True)
def logaddexp(x: Any, y: Any) -> Array:
    """`log(exp(x) + exp(y))` without overflow; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`, t floats, which integers become
    as in `exp`. Raises ShapeError for
    shapes that do not fit. Source: `numpy.logaddexp`.

        >>> fw.logaddexp([0.0], [-fw.inf])
        Array([0.], dtype=float64)
    """
    a = as_tracer(x, "an operand of logaddexp")
    b = as_tracer(y, "an operand of logaddexp")
    if not (a.element.is_float and b.element.is_float):
        dtype = operand_dtype("atan2", (a, b))  # unsigned integers have no difference below 0
        a, b = (v if v.weak else v.astype(dtype) for v in (a, b))
    difference = a - b
    most = maximum(a, b)
    # of two infinities of one sign the difference is NaN; each of two equals has half of the slope
    return where(a == b, a * 0.5 + b * 0.5 + LOG_2, most + log1p(exp(-abs(difference))))


@operation(elementwise=True)
def signbit(x: Any) -> Array:
    """Whether the sign is minus, that of -0.0 and NaN, too; element by element.

    Types: `x: t[..] -> bool[..]`. Raises Unsupported for complex numbers. Source: `numpy.signbit`.

        >>> fw.signbit([1.0, -0.0])
        Array([False,  True], dtype=bool)
    """
    array = as_tracer(x, "x of signbit")
    return copysign(1, array) < 0 if array.element.is_float else array < 0


@operation(elementwise=True)
def real(x: Any) -> Array:
    """The real part: of real numbers they themselves.

    Types: `x: c128[..] -> f64[..]`, of c64 f32. Raises ArgumentError for what is no array.
    Source: `numpy.real`.

        >>> fw.real(np.array([1 + 2j]))
        Array([1.], dtype=float64)
    """
    return as_tracer(x, "x of real")


@operation(elementwise=True)
def imag(x: Any) -> Array:
    """The imaginary part: of real numbers 0.

    Types: `x: c128[..] -> f64[..]`, of c64 f32. Raises ArgumentError for what is no array.
    Source: `numpy.imag`.

        >>> fw.imag(np.array([1 + 2j]))
        Array([2.], dtype=float64)
    """
    array = as_tracer(x, "x of imag")
    zero = tracer_of(constant(array.element.numpy.type(0).item(), array.element))
    return zipped(lambda v: zero, [array], "imag")[0]


@operation(elementwise=True)
def complex(real: Any, imag: Any) -> Array:
    """The complex numbers with these real and imaginary parts, whatever these are; broadcast.

    Types: `real: f64[..], imag: f64[..] -> c128[..]`, of f32 c64; integers as in `atan2`. Raises
    ShapeError for shapes that do not fit. Source: `jax.lax.complex`, `torch.complex`.

        >>> fw.complex([1.0, 2.0], 0.5)
        Array([1.+0.5j, 2.+0.5j], dtype=complex128)
    """
    parts = [as_tracer(real, "real of complex"), as_tracer(imag, "imag of complex")]
    dtype = operand_dtype("atan2", parts)
    return Complex(*zipped(lambda *each: [strong(v, dtype) for v in each], parts, "complex"))


@operation(elementwise=True)
def nextafter(x1: Any, x2: Any) -> Array:
    """The float next to `x1` in the direction of `x2`.

    Types: `x1, x2: t[..] -> t[..]`, t floats, which integers become as in `exp`. Raises ShapeError
    for shapes that do not fit. Source: `numpy.nextafter`.

        >>> fw.nextafter(1.0, 2.0) > 1.0
        Array(True, dtype=bool)
    """
    a, b = as_tracer(x1, "an operand of nextafter"), as_tracer(x2, "an operand of nextafter")
    return zipped(_next, [a, b], "nextafter")[0]


def _next(x: Tracer, toward: Tracer) -> Tracer:
    """One up or down in the order of the bits, which is that of positive floats."""
    dtype = operand_dtype("atan2", [x, toward])
    a, b = strong(x, dtype), strong(toward, dtype)
    bits = apply("bits", a)
    one = tracer_of(constant(1, bits.element))
    sign = tracer_of(constant(1 << (dtype.bits - 1), bits.element))
    grows = apply("eq", apply("lt", a, b), apply("gt", a, as_tracer(0.0)))
    moved = select(grows, apply("add", bits, one), apply("sub", bits, one))
    least = apply("or", select(apply("lt", b, as_tracer(0.0)), sign, _zero(bits)), one)
    moved = select(apply("eq", a, as_tracer(0.0)), least, moved)
    found = select(apply("eq", a, b), b, apply("from_bits", moved))
    nan = apply("or", apply("isnan", a), apply("isnan", b))
    return select(nan, apply("add", a, b), found)


def _zero(bits: Tracer) -> Tracer:
    return tracer_of(constant(0, bits.element))


@operation(elementwise=True)
def conj(x: Any) -> Array:
    """The complex conjugate: of real numbers they themselves.

    Types: `x: t[..] -> t[..]`, bools in i8. Raises ArgumentError for what is no array.
    Source: `numpy.conj`.

        >>> fw.conj(np.array([1 + 2j]))
        Array([1.-2.j], dtype=complex128)
    """
    value = as_tracer(x, "x of conj")
    return value.astype(i8) if value.element is bool_ else value  # as NumPy has it
