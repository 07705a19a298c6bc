"""Reductions that leave NaN out: nansum, nanmean, nanmedian, ..; and NaN made a number.

    nansum(x)     sum(where(isnan(x), 0, x))
    nanmean(x)    nansum(x) / count_nonzero(~isnan(x))

Integers have no NaN: of them each is what it is without `nan` in its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.numpy_functions import is_complex
from flatweave.numpy_functions.statistics import at_parts, middle, parts_of

ALL_NAN = "Leave such lines out first, or use fw.argmin: for it a NaN is the least."


def _filled(x: Any, value: float, who: str, axis: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The array, of a dtype, with a number for each NaN, and a mask of the others; None if it has
    no NaN."""
    array: Any = x if isinstance(x, fw.Ragged) else fw.asarray(x)
    if not isinstance(array, fw.Ragged):
        fw.normalize_axes(array, axis, who)
    if not fw.isdtype(array.dtype, ("real floating", "complex floating")):
        return array, None
    if dtype is not None and not fw.isdtype(dtype, ("real floating", "complex floating")):
        raise fw.DTypeError.here(
            f"{who} takes a dtype of floats, got {dtype}.", "Convert the result: .astype(..)."
        )
    array = array if dtype is None else array.astype(dtype)
    present = ~fw.isnan(array)
    return fw.where(present, array, value), present


@fw.operation(static="axis keepdims dtype")
def nansum(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> fw.Array:
    """The sum of the elements that are not NaN: of all, or along `axis`; 0 for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; dtypes as `sum`'s. Raises AxisError for
    an axis that is not there. Source: `numpy.nansum`.

        >>> fw.nansum([1.0, fw.nan, 2.0])
        Array(3.0, dtype=float64)
    """
    return fw.sum(_filled(x, 0, "nansum", axis)[0], axis=axis, keepdims=keepdims, dtype=dtype)


@fw.operation(static="axis keepdims dtype")
def nanprod(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> fw.Array:
    """The product of the elements that are not NaN: of all, or along `axis`; 1 for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; dtypes as `prod`'s. Raises AxisError
    for an axis that is not there. Source: `numpy.nanprod`.

        >>> fw.nanprod([3.0, fw.nan, 2.0])
        Array(6.0, dtype=float64)
    """
    return fw.prod(_filled(x, 1, "nanprod", axis)[0], axis=axis, keepdims=keepdims, dtype=dtype)


@fw.operation(static="axis keepdims")
def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """The least element that is not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.nanmin`.

        >>> fw.nanmin([3.0, fw.nan, 2.0])
        Array(2.0, dtype=float64)
    """
    return _extremum("nanmin", fw.min, fw.inf, x, axis, keepdims)


@fw.operation(static="axis keepdims")
def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """The greatest element that is not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.nanmax`.

        >>> fw.nanmax([3.0, fw.nan, 2.0])
        Array(3.0, dtype=float64)
    """
    return _extremum("nanmax", fw.max, -fw.inf, x, axis, keepdims)


def _extremum(
    who: str, fold: Callable[..., fw.Array], value: float, x: Any, axis: Any, keepdims: bool
) -> fw.Array:
    filled, present = _filled(x, value, who, axis)
    found = fold(filled, axis=axis, keepdims=keepdims)
    if present is None:
        return found
    return fw.where(fw.all(~present, axis=axis, keepdims=keepdims), fw.nan, found)


@fw.operation(static="axis keepdims dtype")
def nanmean(x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> fw.Array:
    """The mean of the elements that are not NaN: of all, or along `axis`; NaN for no elements.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanmean`.

        >>> fw.nanmean([3.0, fw.nan, 2.0])
        Array(2.5, dtype=float64)
    """
    filled, present = _filled(x, 0, "nanmean", axis, dtype)
    if present is None:
        return fw.mean(filled, axis=axis, keepdims=keepdims, dtype=dtype)
    return _mean(filled, present, axis, keepdims)


def _count(array: Any, present: Any, axis: Any, keepdims: bool) -> fw.Array:
    """How many elements are there, as a number of the array's dtype or of that of its parts."""
    return fw.sum(present, axis=axis, keepdims=keepdims).astype(fw.real(array).dtype)


def _mean(array: Any, present: Any, axis: Any, keepdims: bool) -> fw.Array:
    return fw.sum(array, axis=axis, keepdims=keepdims) / _count(array, present, axis, keepdims)


@fw.operation(static="axis ddof keepdims dtype", axial=True)
def nanvar(
    x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, *, dtype: Any = None
) -> fw.Array:
    """The variance of the elements that are not NaN: of all, or along `axis`.

    The sum of squares is divided by their number less `ddof`; NaN where that is 0 or below. Of
    integers it is `var`.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanvar`.

        >>> fw.nanvar([1.0, fw.nan, 3.0])
        Array(1.0, dtype=float64)
    """
    filled, present = _filled(x, 0, "nanvar", axis, dtype)
    if present is None:
        return fw.var(filled, axis, ddof, keepdims, dtype=dtype)
    away = fw.where(present, filled - _mean(filled, present, axis, True), 0)
    squares = fw.real(away * fw.conj(away))
    count = _count(filled, present, axis, keepdims) - ddof
    return fw.where(count > 0, fw.sum(squares, axis=axis, keepdims=keepdims) / count, fw.nan)


@fw.operation(static="axis ddof keepdims dtype")
def nanstd(
    x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, *, dtype: Any = None
) -> fw.Array:
    """The square root of the variance of the elements that are not NaN (`nanvar`).

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanstd`.

        >>> fw.nanstd([1.0, fw.nan, 3.0])
        Array(1.0, dtype=float64)
    """
    return fw.sqrt(nanvar(x, axis, ddof, keepdims, dtype=dtype))


@fw.operation(static="axis dtype")
def nancumsum(x: Any, axis: Any = None, *, dtype: Any = None) -> fw.Array:
    """The sum of the elements up to each one that are not NaN, in flat order or along `axis`.

    Types: `x: t[..] -> t[..]`, dtypes and axes as `cumsum`'s. Raises AxisError for an axis that is
    not there. Source: `numpy.nancumsum`.

        >>> fw.nancumsum([1.0, fw.nan, 2.0])
        Array([1., 1., 3.], dtype=float64)
    """
    return fw.cumsum(_filled(x, 0, "nancumsum", axis)[0], axis, dtype=dtype)


@fw.operation(static="axis dtype")
def nancumprod(x: Any, axis: Any = None, *, dtype: Any = None) -> fw.Array:
    """The product of the elements up to each one that are not NaN, in flat order or along `axis`.

    Types: `x: t[..] -> t[..]`, dtypes and axes as `cumprod`'s. Raises AxisError for an axis that is
    not there. Source: `numpy.nancumprod`.

        >>> fw.nancumprod([3.0, fw.nan, 2.0])
        Array([3., 3., 6.], dtype=float64)
    """
    return fw.cumprod(_filled(x, 1, "nancumprod", axis)[0], axis, dtype=dtype)


@fw.operation(static="axis keepdims")
def nanargmin(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """Where the least element that is not NaN is first found, in flat order or along `axis`.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, ArgumentError where all are NaN, AxisError for an axis that is not there.
    Source: `numpy.nanargmin`.

        >>> fw.nanargmin([3.0, fw.nan, 2.0])
        Array(2, dtype=int64)
    """
    return _place("nanargmin", fw.argmin, fw.inf, x, axis, keepdims)


@fw.operation(static="axis keepdims")
def nanargmax(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """Where the greatest element that is not NaN is first found, in flat order or along `axis`.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, ArgumentError where all are NaN, AxisError for an axis that is not there.
    Source: `numpy.nanargmax`.

        >>> fw.nanargmax([3.0, fw.nan, 2.0])
        Array(0, dtype=int64)
    """
    return _place("nanargmax", fw.argmax, -fw.inf, x, axis, keepdims)


def _place(
    who: str, fold: Callable[..., fw.Array], value: float, x: Any, axis: Any, keepdims: bool
) -> fw.Array:
    filled, present = _filled(x, value, who, axis)
    if present is not None:
        found = fw.all(fw.any(present, axis=axis))
        fw.check(found, f"{who} found no number: all elements are NaN.", remedy=ALL_NAN)
    return fold(filled, axis=axis, keepdims=keepdims)


@fw.operation(static="axis keepdims", axial=True)
def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """The median of the elements that are not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.nanmedian`.

        >>> fw.nanmedian([3.0, fw.nan, 2.0])
        Array(2.5, dtype=float64)
    """
    return middle(x, axis, keepdims, "nanmedian", skips_nan=True)


@fw.operation(static="axis method keepdims", axial=True)
def nanquantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> fw.Array:
    """`quantile` of the elements that are not NaN: of all, or along `axis`; NaN where all are.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 1 and for another method,
    AxisError for an axis that is not there. Source: `numpy.nanquantile`.

        >>> fw.nanquantile([3.0, fw.nan, 2.0], 0.25)
        Array(2.25, dtype=float64)
    """
    return at_parts(x, q, axis, method, keepdims, "nanquantile", skips_nan=True)


@fw.operation(static="axis method keepdims")
def nanpercentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> fw.Array:
    """`nanquantile`, with `q` from 0 to 100.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 100 and for another method,
    AxisError for an axis that is not there. Source: `numpy.nanpercentile`.

        >>> fw.nanpercentile([3.0, fw.nan, 2.0], 25)
        Array(2.25, dtype=float64)
    """
    return nanquantile(x, parts_of(q, 100, "nanpercentile"), axis, method, keepdims)


@fw.operation(any_dtype=True, static="copy", elementwise=True)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> fw.Array:
    """The array with numbers in place of NaN and of infinities, these the greatest of the dtype.

    Arrays never change, so that `copy` makes no difference.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.nan_to_num`.

        >>> fw.nan_to_num([1.0, fw.nan, fw.inf], posinf=9)
        Array([1., 0., 9.], dtype=float64)
    """
    array = fw.asarray(x)
    if is_complex(array):
        parts = (fw.real(array), fw.imag(array))
        return fw.complex(*(nan_to_num(part, copy, nan, posinf, neginf) for part in parts))
    if fw.isdtype(array.dtype, ("bool", "integral")):
        return array
    most = float(fw.finfo(array.dtype).max)
    found = fw.where(fw.isnan(array), nan, array)
    found = fw.where(array == fw.inf, most if posinf is None else posinf, found)
    found = fw.where(array == -fw.inf, -most if neginf is None else neginf, found)
    return found.astype(array.dtype)
