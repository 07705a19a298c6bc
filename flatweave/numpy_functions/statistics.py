"""Means with weights, covariances, ranges, medians and quantiles, under NumPy's names.

    quantile(x, q)    v = sort(x); p = q * (n - 1); k = floor(p)
                      v[k] + (p - k) * (v[k + 1] - v[k])

A NaN makes the result NaN, and so does an empty line; `nan_functions.py` leaves NaN out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.numpy_functions import along, floating, lines, operand


@fw.operation(static="axis keepdims", axial=True)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
    """The greatest element less the least one: of all, or along `axis`.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.ptp`.

        >>> fw.ptp([3, 1, 7])
        Array(6, dtype=int64)
    """
    array = fw.asarray(x)
    fw.normalize_axes(array, axis, "ptp")
    return fw.max(array, axis, keepdims) - fw.min(array, axis, keepdims)


@fw.operation(static="axis keepdims")
def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> fw.Array:
    """The mean, or `sum(x * weights) / sum(weights)`: of all, or along `axis`.

    The weights have the shape of `x`, or an element for each index along `axis`, in the order of
    its axes. Where they sum to 0 the result is infinite or NaN.

    Types: `x: t[..], weights: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises
    ShapeError for weights that do not fit, AxisError for an axis that is not there.
    Source: `numpy.average`.

        >>> fw.average([1.0, 2.0], weights=[3.0, 1.0])
        Array(1.25, dtype=float64)
    """
    array = fw.asarray(x)
    if weights is None:
        return fw.mean(array, axis=axis, keepdims=keepdims)
    given = fw.asarray(weights)
    axes = fw.normalize_axes(array, None if given.ndim == array.ndim else axis, "average")
    given = along(given, array, axes, "the weights of average")
    dtype = fw.result_type(floating(array), given)
    values, factors = fw.broadcast_arrays(array.astype(dtype), given.astype(dtype))
    total = fw.sum(values * factors, axis=axis, keepdims=keepdims)
    return total / fw.sum(factors, axis=axis, keepdims=keepdims)


@fw.operation(static="rowvar bias ddof")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
) -> fw.Array:
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
        rows = fw.concat([rows, _variables(y, rowvar)])
    away = rows - fw.mean(rows, axis=1, keepdims=True)
    less = ddof if ddof is not None else 0 if bias else 1
    count = fw.astype(rows.shape[1] - less, fw.f64)
    found = fw.matmul(away, away.T) / fw.maximum(count, 0)
    return found[0, 0] if y is None and fw.asarray(m).ndim < 2 else found


def _variables(m: Any, rowvar: bool) -> fw.Array:
    """A row for each variable."""
    array = fw.atleast_2d(fw.astype(m, fw.f64))
    if array.ndim > 2:
        raise fw.ShapeError.here(
            f"cov takes a row for each variable, got an array of {array.ndim} axes.",
            "Give a row or a matrix.",
        )
    return array if rowvar or fw.asarray(m).ndim < 2 else array.T


@fw.operation(static="rowvar")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> fw.Array:
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
    sizes = fw.generate(found.shape[0], lambda i: fw.sqrt(found[i, i]))
    return fw.maximum(fw.minimum(found / sizes[:, None] / sizes[None, :], 1), -1)


BETWEEN = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "interpolated_inverted_cdf": (0.0, 1.0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8), "midpoint": (1.0, 1.0),
}  # fmt: skip
"""Methods that go between two elements: alpha and beta of Hyndman and Fan (1996), as NumPy's."""
AT_ONE = {"lower": fw.floor, "higher": fw.ceil, "nearest": fw.rint}
WITHIN = "Of half of the elements fw.quantile takes 0.5, and fw.percentile 50."


@fw.operation(static="axis keepdims", axial=True)
def median(x: Any, axis: Any = None, keepdims: bool = False) -> fw.Array:
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


@fw.operation(static="axis method keepdims", axial=True)
def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> fw.Array:
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


@fw.operation(static="axis method keepdims")
def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> fw.Array:
    """`quantile`, with `q` from 0 to 100.

    Types: `x: t[..], q: f64[..] -> t[..]`, the axes of `q` first, without those gone along;
    integers in f64. Raises ArgumentError for a `q` outside of 0 to 100 and for another method,
    AxisError for an axis that is not there. Source: `numpy.percentile`.

        >>> fw.percentile([1.0, 2.0, 3.0, 5.0], 50)
        Array(2.5, dtype=float64)
    """
    return quantile(x, parts_of(q, 100, "percentile"), axis, method, keepdims)


def parts_of(q: Any, whole: int, who: str) -> Any:
    """`q`, which is from 0 to `whole`, as parts of 1."""
    given = operand(q)
    found = f"q of {who} is from 0 to {whole}, got another number."
    fw.check(fw.all((given >= 0) & (given <= whole)), found, remedy=WITHIN)
    return given if whole == 1 else fw.truediv(given, whole)


def middle(x: Any, axis: Any, keepdims: bool, who: str, skips_nan: bool) -> fw.Array:
    """Medians, with or without what is NaN."""

    def between(line: Any, count: Any) -> fw.Array:
        low, high = floating(line[(count - 1) // 2]), floating(line[count // 2])
        return fw.where(count % 2 == 1, low, (low + high) / 2)

    found = lines(x, axis, who)
    dtype = floating(found.array).dtype
    return found.result(_of_lines(found.array, (), between, skips_nan, dtype), keepdims)


def at_parts(
    x: Any, q: Any, axis: Any, method: str, keepdims: bool, who: str, skips_nan: bool
) -> fw.Array:
    """Quantiles, with or without what is NaN."""
    if method not in BETWEEN and method not in AT_ONE:
        names = ", ".join(f'"{name}"' for name in (*BETWEEN, *AT_ONE))
        raise fw.ArgumentError.here(f"{method!r} is not a method of {who}.", f"Use one of {names}.")
    parts = parts_of(q, 1, who)
    found = lines(x, axis, who)
    whole = not _is_float(parts)
    if whole and _is_float(found.array):
        parts = fw.astype(parts, found.array.dtype)
    elif whole and method == "linear":
        method = "lower"  # the least or the greatest, itself

    def between(line: Any, count: Any, *k: Any) -> fw.Array:
        return _between(method, line, count, parts[k] if k else parts)

    array = found.array
    is_one = method in AT_ONE
    dtype = array.dtype if is_one else fw.result_type(floating(array), parts)
    if is_one and not _is_float(array):
        fw.check(
            array.shape[-1] > 0, f"{who} of no elements has no value of dtype {array.dtype}.",
            error=fw.ShapeError, remedy="Convert it to floats: the result is NaN.",
        )  # fmt: skip
    before = getattr(parts, "shape", ())
    return found.result(_of_lines(array, before, between, skips_nan, dtype), keepdims, len(before))


def _between(method: str, line: fw.Array, count: fw.Array, part: fw.Array) -> fw.Array:
    """The quantile at a fraction of the first `count` elements of an ascending line."""
    n, at = fw.astype(count, fw.f64), fw.astype(part, fw.f64)
    if method in AT_ONE:
        return line[_kept(AT_ONE[method]((n - 1) * at), count)]
    alpha, beta = BETWEEN[method]
    place = n * at + (alpha + at * (1 - alpha - beta)) - 1
    low = _kept(fw.floor(place), count)
    a, b = floating(line[low]), floating(line[fw.minimum(low + 1, count - 1)])
    along = fw.minimum(fw.maximum(place - low, 0), 1)
    if method == "midpoint":
        along = fw.where(along > 0, 0.5, 0.0)
    step = b - a
    along = along.astype(fw.result_type(step, part))
    between = fw.where(along >= 0.5, b - step * (1 - along), a + step * along)
    return fw.where(a == b, a, between)


def _kept(place: fw.Array, count: fw.Array) -> fw.Array:
    return fw.minimum(fw.maximum(place, 0).astype(fw.i64), count - 1)


def _is_float(x: Any) -> bool:
    return fw.isdtype(fw.result_type(x), "real floating")


def _of_lines(
    array: fw.Array, before: tuple[Any, ...], between: Callable[..., fw.Array], skips_nan: bool,
    dtype: Any,
) -> fw.Array:
    """What is found in each sorted line; `before` are the extents of what is asked of each."""
    floats = _is_float(array)
    none = fw.astype(fw.nan if fw.isdtype(dtype, "real floating") else 0, dtype)

    def of_line(line: fw.Array) -> fw.Array:
        ascending: fw.Array = fw.sort(line)
        count: Any = fw.sum(~fw.isnan(line)) if floats and skips_nan else line.shape[0]

        def one(*at: Any) -> fw.Array:
            def value() -> fw.Array:
                found = between(ascending, count, *at).astype(dtype)
                if floats and not skips_nan:
                    found = fw.where(fw.isnan(ascending[-1]), none, found)
                return found

            return fw.cond(count > 0, value, lambda: none)

        return fw.generate(before, one) if before else one()

    if array.ndim == 1:
        return of_line(array)
    *lead, length = array.shape
    found = fw.map(of_line, fw.reshape(array, (math.prod(lead), length)))
    found, last = fw.reshape(found, (*lead, *before)), len(lead)
    return fw.transpose(found, (*range(last, found.ndim), *range(last)))
