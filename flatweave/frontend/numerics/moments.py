"""Means with weights, covariances, ranges, under NumPy's names."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import axes_named, axes_of
from flatweave.frontend.arrays.joining import broadcast_arrays, concat
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import maximum, minimum, sqrt
from flatweave.frontend.functions.reductions import max, mean, min, sum
from flatweave.frontend.numerics.lines import along, float_dtype, floating
from flatweave.frontend.standard.norms import diagonal
from flatweave.frontend.standard.products import matmul
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe


@operation(static="axis keepdims", axial=True)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element less the least one: of all, or along `axis`.

    Types: `x: t[..] -> t[..]`, without the axes gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there.

        >>> fw.ptp([3, 1, 7])
        Array(6, dtype=int64)
    """
    array: Any = as_tracer(x, "x of ptp")
    axes_of(array, axis, "ptp")
    return max(array, axis, keepdims) - min(array, axis, keepdims)


@for_complex
@operation(static="axis keepdims")
def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    """The mean, or `sum(x * weights) / sum(weights)`: of all, or along `axis`.

    The weights have the shape of `x`, or an element for each index along `axis`, in the order of
    its axes. Where they sum to 0 the result is infinite or NaN.

    Types: `x: t[..], weights: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises
    ShapeError for weights that do not fit, AxisError for an axis that is not there.

        >>> fw.average([1.0, 2.0], weights=[3.0, 1.0])
        Array(1.25, dtype=float64)
    """
    array = either(x, "x of average")
    if weights is None:
        return mean(array, axis=axis, keepdims=keepdims)
    given = either(weights, "the weights of average")
    axes = axes_named(array, None if given.ndim == array.ndim else axis, "average")
    given = along(given, array, axes, "the weights of average")
    dtype = float_dtype(floating(array, "x of average"), given)
    values, factors = broadcast_arrays(array.astype(dtype), given.astype(dtype))
    total = sum(values * factors, axis=axis, keepdims=keepdims)
    return total / sum(factors, axis=axis, keepdims=keepdims)


@operation(static="rowvar bias ddof")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
) -> Any:
    """The covariances of variables, each a row of `m`, a column without `rowvar`; of `y`, too.

    They are computed in f64, of what is left without the means. The sums are divided by the number
    of observations less 1, by all of them with `bias`, or less `ddof`.

    Types: `m: t[k, n] -> f64[k, k]`, of one row a number. Raises ShapeError for more than two axes.

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


def _variables(m: Any, rowvar: bool) -> Any:
    """A row for each variable."""
    array: Any = as_tracer(m, "an array of cov")
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
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of variables, each a row of `x`, a column without `rowvar`; of `y`, too.

    Types: `x: t[k, n] -> f64[k, k]`, of one row a number. Raises ShapeError for more than two axes.

        >>> fw.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float64)
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    sizes = sqrt(diagonal(found))
    return maximum(minimum(found / sizes[:, None] / sizes[None, :], 1), -1)
