"""Reductions that leave NaN out: nansum, nanmean, nanmedian, ..; and NaN made a number.

    nansum(x)     sum(where(isnan(x), 0, x))
    nanmean(x)    nansum(x) / count_nonzero(~isnan(x))

Integers have no NaN: of them each is what it is without `nan` in its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.frontend.arrays.axes import axes_of
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import isnan, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.reductions import (
    all,
    any,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    sum,
)
from flatweave.frontend.functions.scans import cumprod, cumsum
from flatweave.frontend.numerics.lines import parts_of
from flatweave.frontend.numerics.statistics import at_parts, hundredth, middle
from flatweave.frontend.standard.namespace import finfo
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.statistics import var
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.number_formats import Complex

NAN, INF = float("nan"), float("inf")
ALL_NAN = "Leave such lines out first, or use fw.argmin: for it a NaN is the least."


def _filled(x: Any, value: float, who: str, axis: Any) -> tuple[Array, Array | None]:
    """The array with a number for each NaN, and a mask of the others; None if it has no NaN."""
    array = either(x, f"x of {who}")
    axes_of(array, axis, who)
    if array.dtype.kind not in "fc":
        return array, None
    present = ~isnan(array)
    return where(present, array, value), present


@for_complex
@operation(static="axis keepdims", axial=True)
def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The sum of the elements that are not NaN: of all, or along `axis`; 0 for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; dtypes as `sum`'s. Raises AxisError for
    an axis that is not there. Source: `numpy.nansum`.

        >>> fw.nansum([1.0, fw.nan, 2.0])
        Array(3.0, dtype=float64)
    """
    return sum(_filled(x, 0, "nansum", axis)[0], axis=axis, keepdims=keepdims)


@for_complex
@operation(static="axis keepdims", axial=True)
def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The product of the elements that are not NaN: of all, or along `axis`; 1 for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; dtypes as `prod`'s. Raises AxisError
    for an axis that is not there. Source: `numpy.nanprod`.

        >>> fw.nanprod([3.0, fw.nan, 2.0])
        Array(6.0, dtype=float64)
    """
    return prod(_filled(x, 1, "nanprod", axis)[0], axis=axis, keepdims=keepdims)


@operation(static="axis keepdims", axial=True)
def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The least element that is not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.nanmin`.

        >>> fw.nanmin([3.0, fw.nan, 2.0])
        Array(2.0, dtype=float64)
    """
    return _extremum("nanmin", min, INF, x, axis, keepdims)


@operation(static="axis keepdims", axial=True)
def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The greatest element that is not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.nanmax`.

        >>> fw.nanmax([3.0, fw.nan, 2.0])
        Array(3.0, dtype=float64)
    """
    return _extremum("nanmax", max, -INF, x, axis, keepdims)


def _extremum(
    who: str, fold: Callable[..., Array], value: float, x: Any, axis: Any, keepdims: bool
) -> Array:
    filled, present = _filled(x, value, who, axis)
    found = fold(filled, axis=axis, keepdims=keepdims)
    if present is None:
        return found
    return where(all(~present, axis=axis, keepdims=keepdims), NAN, found)


@for_complex
@operation(static="axis keepdims", axial=True)
def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The mean of the elements that are not NaN: of all, or along `axis`; NaN for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanmean`.

        >>> fw.nanmean([3.0, fw.nan, 2.0])
        Array(2.5, dtype=float64)
    """
    filled, present = _filled(x, 0, "nanmean", axis)
    if present is None:
        return mean(filled, axis=axis, keepdims=keepdims)
    return _mean(filled, present, axis, keepdims)


def _count(array: Any, present: Any, axis: Any, keepdims: bool) -> Array:
    """How many elements are there, as a number of the array's dtype or of that of its parts."""
    return sum(present, axis=axis, keepdims=keepdims).astype(parts_of(array).dtype)


def _mean(array: Any, present: Any, axis: Any, keepdims: bool) -> Array:
    return sum(array, axis=axis, keepdims=keepdims) / _count(array, present, axis, keepdims)


@for_complex
@operation(static="axis ddof keepdims", axial=True)
def nanvar(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The variance of the elements that are not NaN: of all, or along `axis`.

    The sum of squares is divided by their number less `ddof`; NaN where that is 0 or below. Of
    integers it is `var`.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanvar`.

        >>> fw.nanvar([1.0, fw.nan, 3.0])
        Array(1.0, dtype=float64)
    """
    filled, present = _filled(x, 0, "nanvar", axis)
    if present is None:
        return var(filled, axis, ddof, keepdims)
    away = where(present, filled - _mean(filled, present, axis, True), 0)
    squares = (away * conj(away)).real if isinstance(away, Complex) else away * away
    count = _count(filled, present, axis, keepdims) - ddof
    return where(count > 0, sum(squares, axis=axis, keepdims=keepdims) / count, NAN)


@for_complex
@operation(static="axis ddof keepdims")
def nanstd(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Array:
    """The square root of the variance of the elements that are not NaN (`nanvar`).

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanstd`.

        >>> fw.nanstd([1.0, fw.nan, 3.0])
        Array(1.0, dtype=float64)
    """
    return sqrt(nanvar(x, axis, ddof, keepdims))


@for_complex
@operation(static="axis", axial=True)
def nancumsum(x: Any, axis: Any = None) -> Array:
    """The sum of the elements up to each one that are not NaN, in flat order or along `axis`.

    Types: `x: t[..] -> t[..]`, dtypes and axes as `cumsum`'s. Raises AxisError for an axis that is
    not there. Source: `numpy.nancumsum`.

        >>> fw.nancumsum([1.0, fw.nan, 2.0])
        Array([1., 1., 3.], dtype=float64)
    """
    return cumsum(_filled(x, 0, "nancumsum", axis)[0], axis)


@for_complex
@operation(static="axis", axial=True)
def nancumprod(x: Any, axis: Any = None) -> Array:
    """The product of the elements up to each one that are not NaN, in flat order or along `axis`.

    Types: `x: t[..] -> t[..]`, dtypes and axes as `cumprod`'s. Raises AxisError for an axis that is
    not there. Source: `numpy.nancumprod`.

        >>> fw.nancumprod([3.0, fw.nan, 2.0])
        Array([3., 3., 6.], dtype=float64)
    """
    return cumprod(_filled(x, 1, "nancumprod", axis)[0], axis)


@operation(static="axis keepdims", axial=True)
def nanargmin(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Where the least element that is not NaN is first found, in flat order or along `axis`.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, ArgumentError where all are NaN, AxisError for an axis that is not there.
    Source: `numpy.nanargmin`.

        >>> fw.nanargmin([3.0, fw.nan, 2.0])
        Array(2, dtype=int64)
    """
    return _place("nanargmin", argmin, INF, x, axis, keepdims)


@operation(static="axis keepdims", axial=True)
def nanargmax(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Where the greatest element that is not NaN is first found, in flat order or along `axis`.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, ArgumentError where all are NaN, AxisError for an axis that is not there.
    Source: `numpy.nanargmax`.

        >>> fw.nanargmax([3.0, fw.nan, 2.0])
        Array(0, dtype=int64)
    """
    return _place("nanargmax", argmax, -INF, x, axis, keepdims)


def _place(
    who: str, fold: Callable[..., Array], value: float, x: Any, axis: Any, keepdims: bool
) -> Array:
    filled, present = _filled(x, value, who, axis)
    if present is not None:
        found = as_tracer(all(any(present, axis=axis)))
        message = check_message(f"{who} found no number: all elements are NaN.", [], ALL_NAN)
        check(found.atom, "argument", (), message)
    return fold(filled, axis=axis, keepdims=keepdims)


@operation(static="axis keepdims", axial=True)
def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The median of the elements that are not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanmedian`.

        >>> fw.nanmedian([3.0, fw.nan, 2.0])
        Array(2.5, dtype=float64)
    """
    return middle(x, axis, keepdims, "nanmedian", skips_nan=True)


@operation(static="axis method keepdims", axial=True)
def nanquantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Array:
    """`quantile` of the elements that are not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 1 and for another method,
    AxisError for an axis that is not there. Source: `numpy.nanquantile`.

        >>> fw.nanquantile([3.0, fw.nan, 2.0], 0.25)
        Array(2.25, dtype=float64)
    """
    return at_parts(x, q, axis, method, keepdims, "nanquantile", skips_nan=True)


@operation(static="axis method keepdims")
def nanpercentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Array:
    """`nanquantile`, with `q` from 0 to 100.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 100 and for another method,
    AxisError for an axis that is not there. Source: `numpy.nanpercentile`.

        >>> fw.nanpercentile([3.0, fw.nan, 2.0], 25)
        Array(2.25, dtype=float64)
    """
    return nanquantile(x, hundredth(q), axis, method, keepdims)


@for_complex
@operation()
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """The array with numbers in place of NaN and of infinities, these the greatest of the dtype.

    Arrays never change, so that `copy` makes no difference.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.nan_to_num`.

        >>> fw.nan_to_num([1.0, fw.nan, fw.inf], posinf=9)
        Array([1., 0., 9.], dtype=float64)
    """
    array = either(x, "x of nan_to_num")
    if isinstance(array, Complex):
        parts = (array.real, array.imag)
        return Complex(*(nan_to_num(part, copy, nan, posinf, neginf) for part in parts))
    if array.dtype.kind in "biu":
        return array
    most = float(finfo(array.dtype).max)
    found = where(isnan(array), nan, array)
    found = where(array == INF, most if posinf is None else posinf, found)
    return where(array == -INF, -most if neginf is None else neginf, found).astype(array.dtype)
