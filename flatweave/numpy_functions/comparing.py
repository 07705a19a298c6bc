"""Numbers that are compared, chosen and bounded element by element, under NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import flatweave as fw
from flatweave.numpy_functions import each, operand, row_of, strong


@fw.operation(static="equal_nan", elementwise=True)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> fw.Array:
    """Whether `|a - b| <= atol + rtol * |b|`, and infinities are the same; broadcast.

    Types: `a: t[..], b: t[..] -> bool[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.isclose`.

        >>> fw.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
        Array([ True, False], dtype=bool)
    """
    x, y = operand(a), operand(b)
    if fw.isdtype(fw.result_type(y), ("bool", "integral")):
        y = fw.astype(y, fw.f64)  # differences of integers may not fit, and bools have none
    found = (fw.isfinite(y) & (fw.abs(x - y) <= atol + rtol * fw.abs(y))) | (x == y)
    return found | (fw.isnan(x) & fw.isnan(y)) if equal_nan else found


@fw.operation(static="equal_nan")
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> fw.Array:
    """Whether all elements are close to each other (`isclose`).

    Types: `a: t[..], b: t[..] -> bool`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.allclose`.

        >>> fw.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
        Array(True, dtype=bool)
    """
    return fw.all(isclose(a, b, rtol, atol, equal_nan))


@fw.operation(elementwise=True)
def fmin(x: Any, y: Any) -> fw.Array:
    """The smaller of two; where one is NaN the other one; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmin`.

        >>> fw.fmin([1.0, fw.nan], [2.0, 3.0])
        Array([1., 3.], dtype=float64)
    """
    return fw.where(fw.isnan(x), y, fw.where(fw.isnan(y), x, fw.minimum(x, y)))


@fw.operation(elementwise=True)
def fmax(x: Any, y: Any) -> fw.Array:
    """The greater of two; where one is NaN the other one; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmax`.

        >>> fw.fmax([1.0, fw.nan], [2.0, 3.0])
        Array([2., 3.], dtype=float64)
    """
    return fw.where(fw.isnan(x), y, fw.where(fw.isnan(y), x, fw.maximum(x, y)))


@fw.operation(elementwise=True)
def degrees(x: Any) -> fw.Array:
    """An angle in radians in degrees; element by element.

    Types: `x: t[..] -> t[..]`, integers as in `sin`. Raises ArgumentError for what is no array.
    Source: `numpy.degrees`.

        >>> fw.degrees([0.0, fw.pi])
        Array([  0., 180.], dtype=float64)
    """
    return _angle(x) * (180 / pi)


@fw.operation(elementwise=True)
def radians(x: Any) -> fw.Array:
    """An angle in degrees in radians; element by element.

    Types: `x: t[..] -> t[..]`, integers as in `sin`. Raises ArgumentError for what is no array.
    Source: `numpy.radians`.

        >>> fw.radians([0.0, 90.0]) * 2 == [0.0, fw.pi]
        Array([ True,  True], dtype=bool)
    """
    return _angle(x) * (pi / 180)


def _angle(x: Any) -> Any:
    """A number as a float, of the dtype that functions of floats take it for."""
    x = operand(x)
    return x if fw.isdtype(fw.result_type(x), "real floating") else fw.copysign(x, x)


@fw.operation(elementwise=True)
def sinc(x: Any) -> fw.Array:
    """`sin(pi * x) / (pi * x)`, 1 at 0; element by element.

    Types: `x: t[..] -> t[..]`, integers in f64. Raises ArgumentError for what is no array.
    Source: `numpy.sinc`.

        >>> fw.sinc([0.0, 0.5]) * fw.pi / 2
        Array([1.57079633, 1.        ], dtype=float64)
    """
    angle, series = operand(x) * pi, 1.0
    # near 0, where derivatives of the quotient would cancel, the series of sin, by Horner's rule
    for k in range(20, 0, -2):
        series = 1 - angle * angle * series * (1 / (k * (k + 1)))
    return fw.where(fw.abs(angle) < 1, series, fw.sin(angle) / angle)


@fw.operation(elementwise=True)
def heaviside(x: Any, y: Any) -> fw.Array:
    """0 below 0, `y` at 0, 1 above; NaN stays NaN; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`, integers as in `atan2`. Raises ShapeError for shapes that
    do not fit. Source: `numpy.heaviside`.

        >>> fw.heaviside([-3.0, 0.0, 2.0], 0.5)
        Array([0. , 0.5, 1. ], dtype=float64)
    """
    dtype = fw.copysign(x, y).dtype
    a, b = fw.astype(x, dtype), fw.astype(y, dtype)
    return fw.where(fw.isnan(a), a, fw.where(a == 0, b, fw.where(a < 0, 0.0, 1.0).astype(dtype)))


@fw.operation(elementwise=True)
def fmod(x: Any, y: Any) -> fw.Array:
    """The remainder of a division that is rounded towards 0, with the sign of x; broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.fmod`.

        >>> fw.fmod([-7, 7], [3, -3])
        Array([-1,  1], dtype=int64)
    """
    x, y = operand(x), operand(y)
    dtype = fw.result_type(x, y)
    if fw.isdtype(dtype, "real floating"):
        a, b = fw.astype(x, dtype), fw.astype(y, dtype)
        sign = fw.copysign(1.0, a)
        return sign * (sign * a % fw.abs(b))  # unlike abs(a), it has a derivative at 0
    rest = fw.mod(x, y)
    return fw.where((rest != 0) & ((rest < 0) != fw.less(x, 0)), rest - y, rest)


@fw.operation(lists="condlist choicelist", any_dtype=True)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> fw.Array:
    """Each element comes from the first choice whose condition holds there; else `default`.

    Types: lists of `bool[..]` and `t[..] -> t[..]`. Raises ArgumentError for lists of different
    lengths, DTypeError for a condition that is not bool, ShapeError for shapes that do not fit.
    Source: `numpy.select`.

        >>> fw.select([np.array([True, False, False]), np.array([True, True, False])], [1, 2], 3)
        Array([1, 2, 3], dtype=int64)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise fw.ArgumentError.here(
            f"select has {len(condlist)} conditions and {len(choicelist)} choices.",
            "Give a choice for each condition.",
        )
    conditions = [fw.asarray(x) for x in condlist]
    for condition in conditions:
        if condition.dtype != fw.bool_:
            raise fw.DTypeError.here(
                f"a condition of select must be bool, got {condition.dtype}.",
                "Compare first, for instance with xs != 0.",
            )
    parts = [operand(x) for x in (*choicelist, default)]
    *choices, found = (fw.astype(part, fw.result_type(*parts)) for part in parts)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = fw.where(condition, choice, found)
    return found


@fw.operation()
def polyval(p: Any, x: Any) -> fw.Array:
    """The value at `x` of the polynomial with the coefficients `p`, the highest first.

    Types: `p: t[n], x: t[..] -> t[..]`. Raises ShapeError unless p has one axis.
    Source: `numpy.polyval`.

        >>> fw.polyval([1, 0, 2], [0, 1, 2])
        Array([2, 3, 6], dtype=int64)
    """
    factors = row_of(p, "p of polyval")
    array = strong(x)
    dtype = fw.result_type(factors, array)

    def value(v: fw.Array) -> fw.Array:
        own = v.astype(dtype)
        step = lambda i, y: y * own + factors[i].astype(dtype)  # noqa: E731
        return fw.fori_loop(0, factors.shape[0], step, fw.astype(0, dtype))

    return each(value, array)
