"""Means with weights, covariances, ranges, medians and quantiles, under NumPy's names.

    quantile(x, q)    v = sort(x); p = q * (n - 1); k = floor(p)
                      v[k] + (p - k) * (v[k + 1] - v[k])

A NaN makes the result NaN, and so does an empty line; `nan_functions.py` leaves NaN out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ArgumentError, ShapeError, UserError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import axes_named, axes_of
from flatweave.frontend.arrays.joining import broadcast_arrays, concat
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.arrays.sorting import sort
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import isnan, maximum, minimum, sqrt
from flatweave.frontend.elements.scalars import ceil, floor, rint, where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import cond
from flatweave.frontend.functions.reductions import all, max, mean, min, sum
from flatweave.frontend.numerics.lines import along, float_dtype, floating, lines
from flatweave.frontend.standard.norms import diagonal
from flatweave.frontend.standard.products import matmul
from flatweave.frontend.trace.run_time_checks import check, check_message, is_refused
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.promotion import common


@operation(static="axis keepdims", axial=True)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The greatest element less the least one: of all, or along `axis`.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.ptp`.

        >>> fw.ptp([3, 1, 7])
        Array(6, dtype=int64)
    """
    array = as_tracer(x, "x of ptp")
    axes_of(array, axis, "ptp")
    return max(array, axis, keepdims) - min(array, axis, keepdims)


@for_complex
@operation(static="axis keepdims")
def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Array:
    """The mean, or `sum(x * weights) / sum(weights)`: of all, or along `axis`.

    The weights have the shape of `x`, or an element for each index along `axis`, in the order of
    its axes. Where they sum to 0 the result is infinite or NaN.

    Types: `x: t[..], weights: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises
    ShapeError for weights that do not fit, AxisError for an axis that is not there.
    Source: `numpy.average`.

        >>> fw.average([1.0, 2.0], weights=[3.0, 1.0])
        Array(1.25, dtype=float64)
    """
    array = either(x, "x of average")
    if weights is None:
        return mean(array, axis=axis, keepdims=keepdims)
    given: Array = either(weights, "the weights of average")
    axes = axes_named(array, None if given.ndim == array.ndim else axis, "average")
    given = along(given, array, axes, "the weights of average")
    dtype = float_dtype(floating(array, "x of average"), given)
    values, factors = broadcast_arrays(array.astype(dtype), given.astype(dtype))
    total = sum(values * factors, axis=axis, keepdims=keepdims)
    return total / sum(factors, axis=axis, keepdims=keepdims)


@operation(static="rowvar bias ddof")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
) -> Array:
    """The covariances of variables, each a row of `m`, a column without `rowvar`; of `y`, too.

    They are computed in f64, of what is left without the means. The sums are divided by the number
    of observations less 1, by all of them with `bias`, or less `ddof`.

    Types: `m: t[k, n] -> f64[k, k]`, of one row a number. Raises ShapeError for more than two axes.
    Source: `numpy.cov`.

        >>> fw.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float64)
    """
    rows = _variables(m, rowvar)
    if y is not None:
        rows = concat([rows, _variables(y, rowvar)])
    away = rows - mean(rows, axis=1, keepdims=True)
    less = ddof if ddof is not None else 0 if bias else 1
    count = as_tracer(as_tracer(rows.shape[1]) - less).astype(f64)
    found = matmul(away, away.T) / maximum(count, 0)
    return found[0, 0] if y is None and as_tracer(m).ndim < 2 else found


def _variables(m: Any, rowvar: bool) -> Array:
    """A row for each variable."""
    array = as_tracer(m, "an array of cov")
    if array.ndim > 2:
        raise ShapeError(
            f"cov takes a row for each variable, got {describe(array)}.",
            where=user_location(), remedy="Give a row or a matrix.",
        )  # fmt: skip
    array = array.astype(f64)
    if array.ndim < 2:
        return reshape(array, (1, -1))
    return array if rowvar else array.T


@operation(static="rowvar")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Array:
    """The correlations of variables, each a row of `x`, a column without `rowvar`; of `y`, too.

    Types: `x: t[k, n] -> f64[k, k]`, of one row a number. Raises ShapeError for more than two axes.
    Source: `numpy.corrcoef`.

        >>> fw.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float64)
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    sizes = sqrt(diagonal(found))
    return maximum(minimum(found / sizes[:, None] / sizes[None, :], 1), -1)


NAN = float("nan")
BETWEEN = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "interpolated_inverted_cdf": (0.0, 1.0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8), "midpoint": (1.0, 1.0),
}  # fmt: skip
"""Methods that go between two elements: alpha and beta of Hyndman and Fan (1996), as NumPy's."""
AT_ONE = {"lower": floor, "higher": ceil, "nearest": rint}
OUTSIDE = "a quantile lies from 0 to 1, got another number."
WITHIN = "Give the part of the elements that is below it; fw.percentile takes 0 to 100."


@operation(static="axis keepdims", axial=True)
def median(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """The middle of the sorted elements, of two middle ones their mean: of all, or along `axis`.

    NaN where there is one, and where there is no element. Axis 1 of a Ragged is each row.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.median`.

        >>> fw.median([3, 1, 2, 10])
        Array(2.5, dtype=float64)
        >>> fw.median(fw.ragged([[3, 1, 2], [], [4, 8]]), axis=1)
        Array([ 2., nan,  6.], dtype=float64)
    """
    return middle(x, axis, keepdims, "median", skips_nan=False)


@operation(static="axis method keepdims", axial=True)
def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Array:
    """The number below which the part `q` of the elements lies: of all, or along `axis`.

    `method` says what is given between two elements, by NumPy's names: "linear", "lower",
    "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased" or
    "interpolated_inverted_cdf". NaN where there is one, and where there is no element.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64, or as they are where one of them is the result. Raises ArgumentError for a `q`
    outside of 0 to 1 and for another method, ShapeError for no elements where the result is an
    integer, AxisError for an axis that is not there. Source: `numpy.quantile`.

        >>> fw.quantile([1.0, 2.0, 3.0, 5.0], [0.0, 0.5, 1.0])
        Array([1. , 2.5, 5. ], dtype=float64)
    """
    return at_parts(x, q, axis, method, keepdims, "quantile", skips_nan=False)


@operation(static="axis method keepdims")
def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Array:
    """`quantile`, with `q` from 0 to 100.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 100 and for another method,
    AxisError for an axis that is not there. Source: `numpy.percentile`.

        >>> fw.percentile([1.0, 2.0, 3.0, 5.0], 50)
        Array(2.5, dtype=float64)
    """
    return quantile(x, hundredth(q), axis, method, keepdims)


def hundredth(q: Any) -> Tracer:
    """Percents as parts of one."""
    given = as_tracer(q, "q of percentile")
    return given / 100


def middle(x: Any, axis: Any, keepdims: bool, who: str, skips_nan: bool) -> Array:
    """Medians, with or without what is NaN."""

    def between(line: Any, count: Any) -> Array:
        low, high = _as_float(line[(count - 1) // 2]), _as_float(line[count // 2])
        return where(count % 2 == 1, low, (low + high) / 2)

    found = lines(x, axis, who)
    array = found.array
    dtype = array.dtype if _is_float(array) else f64.numpy
    return found.result(_of_lines(array, (), between, skips_nan, dtype), keepdims)


def at_parts(
    x: Any, q: Any, axis: Any, method: str, keepdims: bool, who: str, skips_nan: bool
) -> Array:
    """Quantiles, with or without what is NaN."""
    if method not in BETWEEN and method not in AT_ONE:
        names = ", ".join(f'"{name}"' for name in (*BETWEEN, *AT_ONE))
        raise ArgumentError(
            f"{method!r} is not a method of {who}.",
            where=user_location(), remedy=f"Use one of {names}.",
        )  # fmt: skip
    parts = as_tracer(q, f"q of {who}")
    _check_parts(parts)
    found = lines(x, axis, who)
    whole = not parts.element.is_float
    if whole and _is_float(found.array):
        parts = parts.astype(found.array.dtype)
    elif whole and method == "linear":
        method = "lower"  # the least or the greatest, itself

    def between(line: Any, count: Any, *k: Any) -> Array:
        return _between(method, line, count, parts[k] if k else parts)

    array = found.array
    is_one = method in AT_ONE
    dtype = array.dtype if is_one else common((as_tracer(_as_float(array)), parts))[0].numpy
    if is_one and not _is_float(array):
        _must_have_elements(array, who)
    result = _of_lines(array, parts.shape, between, skips_nan, dtype)
    return found.result(result, keepdims, parts.ndim)


def _between(method: str, line: Array, count: Array, part: Array) -> Array:
    """The quantile at a fraction of the first `count` elements of an ascending line."""
    n, at = count.astype(f64), part.astype(f64)
    if method in AT_ONE:
        return line[_kept(AT_ONE[method]((n - 1) * at), count)]
    alpha, beta = BETWEEN[method]
    place = n * at + (alpha + at * (1 - alpha - beta)) - 1
    low = _kept(floor(place), count)
    a, b = _as_float(line[low]), _as_float(line[minimum(low + 1, count - 1)])
    along = minimum(maximum(place - low, 0), 1)
    if method == "midpoint":
        along = where(along > 0, 0.5, 0.0)
    step = b - a
    along = along.astype(common((as_tracer(step), as_tracer(part)))[0])
    between = where(along >= 0.5, b - step * (1 - along), a + step * along)
    return where(a == b, a, between)


def _kept(place: Array, count: Array) -> Array:
    return minimum(maximum(place, 0).astype(count.dtype), count - 1)


def _as_float(x: Array) -> Array:
    """Integers in f64: sorted before that, as narrow as they are."""
    return x if _is_float(x) else x.astype(f64)


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f"


def _of_lines(
    array: Array, before: tuple[Any, ...], between: Callable[..., Array], skips_nan: bool,
    dtype: Any,
) -> Array:
    """What is found in each sorted line; `before` are the extents of what is asked of each."""
    length = as_tracer(array.shape[-1])
    ascending = sort(array, axis=-1)
    counts: Any = sum(~isnan(array), axis=-1) if skips_nan and _is_float(array) else None
    none = as_tracer(NAN if dtype.kind == "f" else 0).astype(dtype)

    def one(*at: Any) -> Array:
        place = at[len(before) :]
        line = ascending[place] if place else ascending
        count = length if counts is None else counts[place] if place else counts

        def value() -> Array:
            found = between(line, count, *at[: len(before)]).astype(dtype)
            if _is_float(array) and counts is None:
                found = where(isnan(line[length - 1]), none, found)
            return found

        return cond(count > 0, value, lambda: none)

    shape = (*before, *array.shape[:-1])
    return generate(shape, one) if shape else one()


def _must_have_elements(array: Any, who: str) -> None:
    """Refuse an empty line of integers, whose dtype has no NaN."""
    length = as_tracer(array.shape[-1])
    message = f"{who} of no elements has no value of dtype {array.dtype}."
    _must_hold(length > 0, "shape", ShapeError, message, "Convert it to floats: the result is NaN.")


def _check_parts(parts: Tracer) -> None:
    given: Any = parts
    inside = (given >= 0) & (given <= 1)
    _must_hold(all(inside), "argument", ArgumentError, OUTSIDE, WITHIN)


def _must_hold(
    condition: Any, kind: str, error: type[UserError], message: str, remedy: str
) -> None:
    holds = as_tracer(condition).atom
    if is_refused(holds):
        raise error(message, where=user_location(), remedy=remedy)
    check(holds, kind, (), check_message(message, [], remedy))
