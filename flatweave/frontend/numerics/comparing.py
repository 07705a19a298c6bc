"""Numbers that are compared, chosen and bounded element by element, under NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import (
    abs,
    copysign,
    isfinite,
    isnan,
    maximum,
    minimum,
    sin,
)
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.functions.reductions import all
from flatweave.frontend.numerics.lines import row_of, strong, together
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.promotion import common, operand_dtype


@for_complex
@operation(static="equal_nan")
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether `|a - b| <= atol + rtol * |b|`, and infinities are the same; broadcast.

    Types: `a: t[..], b: t[..] -> bool[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.isclose`.

        >>> fw.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
        Array([ True, False], dtype=bool)
    """
    x, y = either(a, "a of isclose"), either(b, "b of isclose")
    if isinstance(y, Tracer) and not y.element.is_float:
        y = y.astype(f64)  # differences of integers may not fit, and bools have none
    near = isfinite(y) & (abs(x - y) <= atol + rtol * abs(y))
    found: Array = near | (x == y)
    return found | (isnan(x) & isnan(y)) if equal_nan else found


@for_complex
@operation(static="equal_nan")
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether all elements are close to each other (`isclose`).

    Types: `a: t[..], b: t[..] -> bool`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.allclose`.

        >>> fw.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
        Array(True, dtype=bool)
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def _numbers(x: Any, y: Any, who: str) -> tuple[Tracer, Tracer]:
    return as_tracer(x, f"an operand of {who}"), as_tracer(y, f"an operand of {who}")


@operation(elementwise=True)
def fmin(x: Any, y: Any) -> Array:
    """The smaller of two; where one is NaN the other one; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmin`.

        >>> fw.fmin([1.0, fw.nan], [2.0, 3.0])
        Array([1., 3.], dtype=float64)
    """
    a, b = _numbers(x, y, "fmin")
    return where(isnan(a), b, where(isnan(b), a, minimum(a, b)))


@operation(elementwise=True)
def fmax(x: Any, y: Any) -> Array:
    """The greater of two; where one is NaN the other one; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmax`.

        >>> fw.fmax([1.0, fw.nan], [2.0, 3.0])
        Array([2., 3.], dtype=float64)
    """
    a, b = _numbers(x, y, "fmax")
    return where(isnan(a), b, where(isnan(b), a, maximum(a, b)))


@operation(elementwise=True)
def degrees(x: Any) -> Array:
    """An angle in radians in degrees; element by element.

    Types: `x: t[..] -> t[..]`, integers as in `sin`. Raises ArgumentError for what is no array.
    Source: `numpy.degrees`.

        >>> fw.degrees([0.0, fw.pi])
        Array([  0., 180.], dtype=float64)
    """
    return _angle(x, "degrees") * (180 / pi)


@operation(elementwise=True)
def radians(x: Any) -> Array:
    """An angle in degrees in radians; element by element.

    Types: `x: t[..] -> t[..]`, integers as in `sin`. Raises ArgumentError for what is no array.
    Source: `numpy.radians`.

        >>> fw.radians([0.0, 90.0]) * 2 == [0.0, fw.pi]
        Array([ True,  True], dtype=bool)
    """
    return _angle(x, "radians") * (pi / 180)


def _angle(x: Any, who: str) -> Tracer:
    """A number as a float, of the dtype that the functions of angles take it for."""
    array = as_tracer(x, f"x of {who}")
    return array if array.weak else array.astype(operand_dtype("sin", (array,)))


@for_complex
@operation(elementwise=True)
def sinc(x: Any) -> Array:
    """`sin(pi * x) / (pi * x)`, 1 at 0; element by element.

    Types: `x: t[..] -> t[..]`, integers in f64. Raises ArgumentError for what is no array.
    Source: `numpy.sinc`.

        >>> fw.sinc([0.0, 0.5]) * fw.pi / 2
        Array([1.57079633, 1.        ], dtype=float64)
    """
    array = either(x, "x of sinc")
    angle = where(array == 0, 1.0e-20, array) * pi
    return sin(angle) / angle


@operation(elementwise=True)
def heaviside(x: Any, y: Any) -> Array:
    """0 below 0, `y` at 0, 1 above; NaN stays NaN; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`, integers as in `atan2`. Raises ShapeError for shapes that
    do not fit. Source: `numpy.heaviside`.

        >>> fw.heaviside([-3.0, 0.0, 2.0], 0.5)
        Array([0. , 0.5, 1. ], dtype=float64)
    """
    a, b = _numbers(x, y, "heaviside")
    dtype = operand_dtype("atan2", (a, b))
    a, b = a.astype(dtype), b.astype(dtype)
    return where(isnan(a), a, where(a == 0, b, where(a < 0, 0.0, 1.0).astype(dtype)))


@operation(elementwise=True)
def fmod(x: Any, y: Any) -> Array:
    """The remainder of a division that is rounded towards 0, with the sign of x; broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmod`.

        >>> fw.fmod([-7, 7], [3, -3])
        Array([-1,  1], dtype=int64)
    """
    a, b = _numbers(x, y, "fmod")
    dtype = common((a, b))[0]
    if dtype.is_float:
        a, b = a.astype(dtype), b.astype(dtype)
        return copysign(abs(a) % abs(b), a)
    rest = a % b
    return where((rest != 0) & ((rest < 0) != (a < 0)), rest - b, rest)


@for_complex
@operation(lists="condlist choicelist")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Each element comes from the first choice whose condition holds there; else `default`.

    Types: lists of `bool[..]` and `t[..] -> t[..]`. Raises ArgumentError for lists of different
    lengths, DTypeError for a condition that is not bool, ShapeError for shapes that do not fit.
    Source: `numpy.select`.

        >>> fw.select([np.array([True, False, False]), np.array([True, True, False])], [1, 2], 3)
        Array([1, 2, 3], dtype=int64)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ArgumentError(
            f"select has {len(condlist)} conditions and {len(choicelist)} choices.",
            where=user_location(), remedy="Give a choice for each condition.",
        )  # fmt: skip
    conditions = [either(x, "a condition of select") for x in condlist]
    for condition in conditions:
        if condition.dtype.kind != "b":
            raise DTypeError(
                f"a condition of select must be bool, got {describe(condition)}.",
                where=user_location(), remedy="Compare first, for instance with xs != 0.",
            )  # fmt: skip
    parts = [either(x, "a choice of select") for x in (*choicelist, default)]
    dtype = together(*parts)
    *choices, last = (part.astype(dtype) for part in parts)
    found: Array = last
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = where(condition, choice, found)
    return found


@for_complex
@operation()
def polyval(p: Any, x: Any) -> Array:
    """The value at `x` of the polynomial with the coefficients `p`, the highest first.

    Types: `p: t[n], x: t[..] -> t[..]`. Raises ShapeError unless p has one axis.
    Source: `numpy.polyval`.

        >>> fw.polyval([1, 0, 2], [0, 1, 2])
        Array([2, 3, 6], dtype=int64)
    """
    factors = row_of(p, "p of polyval")
    array = strong(x, "x of polyval")
    dtype = together(factors, array)

    def value(v: Array) -> Array:
        own, zero = v.astype(dtype), astype(0, dtype)
        return fori_loop(0, factors.shape[0], lambda i, y: y * own + factors[i].astype(dtype), zero)

    return generate(array.shape, lambda *at: value(array[at])) if array.ndim else value(array)
