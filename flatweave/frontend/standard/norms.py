"""Norms of vectors and matrices, diagonals, traces, outer and cross products."""

from __future__ import annotations

import math
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.arrays.shapes import axis_of, expand_dims, reshape
from flatweave.frontend.arrays.sources import broadcast_arrays
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import abs, maximum, minimum, sqrt
from flatweave.frontend.elements.scalars import power
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.reductions import max, min, sum
from flatweave.frontend.standard.arrangement import moveaxis, stack
from flatweave.frontend.standard.spectra import svdvals
from flatweave.frontend.standard.statistics import count_nonzero
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import MOST
from flatweave.frontend.trace.tracers import as_tracer, extent_of, tracer_of
from flatweave.frontend.values.array import Array, describe
from flatweave.frontend.values.number_formats import Complex, Composed, Traced
from flatweave.terms.build import index

INF = math.inf


def size(z: Array) -> Array:
    """The square of the absolute value."""
    return z.real * z.real + z.imag * z.imag if isinstance(z, Complex) else z * z


def _floats(x: Any, who: str) -> Traced:
    """An array of floats or complex numbers; integers become f64, so that none wraps."""
    array = either(x, f"x of {who}")
    return array if isinstance(array, Composed) or array.element.is_float else array.astype(f64)


@for_complex
@operation(static="axis keepdims ord")
def vector_norm(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """The length of all elements as a vector, or of those along axes: of order 2, or another.

    Of order infinity the greatest, of -infinity the least, of 0 how many are not 0.

    Types: `x: t[..] -> float[..]`, without the axes gone along. Raises AxisError for an axis that
    is not there, ShapeError for the least of no elements. Source: `numpy.linalg.vector_norm`.

        >>> fw.linalg.vector_norm([3.0, 4.0])
        Array(5.0, dtype=float64)
    """
    array = _floats(x, "vector_norm")
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == 2:
        return sqrt(sum(size(array), **options))
    sizes = abs(array)
    if ord == INF:
        return max(sizes, initial=0, **options)
    if ord == -INF:
        return min(sizes, **options)
    if ord == 0:
        return count_nonzero(sizes, **options).astype(sizes.dtype)
    if ord == 1:
        return sum(sizes, **options)
    return power(sum(power(sizes, float(ord)), **options), 1 / ord)


@for_complex
@operation(static="keepdims ord")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of each matrix: "fro", "nuc", or of order 1, -1, 2, -2, infinity or -infinity.

    Types: `x: t[.., m, n] -> float[..]`. Raises ArgumentError for another order, ShapeError where
    the least of no numbers is asked for. Source: `numpy.linalg.matrix_norm`.

        >>> fw.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
        Array(5.0, dtype=float64)
    """
    array = _floats(x, "matrix_norm")
    if array.ndim < 2:
        raise ShapeError.here(
            f"matrix_norm takes matrices, got {describe(array)}.", "Use fw.linalg.vector_norm."
        )
    if ord == "fro":
        return sqrt(sum(size(array), axis=(-2, -1), keepdims=keepdims))
    if ord in ("nuc", 2, -2):
        values = svdvals(array)
        found = (
            sum(values, axis=-1) if ord == "nuc"
            else max(values, axis=-1, initial=0) if ord == 2 else min(values, axis=-1)
        )  # fmt: skip
    elif ord in (1, -1, INF, -INF):
        sums = sum(abs(array), axis=-2 if ord in (1, -1) else -1)
        most = ord in (1, INF)
        found = max(sums, axis=-1, initial=0) if most else min(sums, axis=-1)
    else:
        raise ArgumentError.here(
            f'ord of matrix_norm is "fro", "nuc", 1, -1, 2, -2, inf or -inf, got {ord!r}.',
            'Leave it out for "fro".',
        )
    return reshape(found, (*array.shape[:-2], 1, 1)) if keepdims else found


@for_complex
@operation(static="ord axis keepdims")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm along one axis of vectors, along two of matrices; without an axis of all of it.

    Without an order it is the square root of the sum of squares, of any number of axes; otherwise
    orders are those of `vector_norm` or of `matrix_norm`, where "f" is "fro".

    Types: `x: t[..] -> float[..]`, without the axes gone along. Raises ArgumentError for another
    order, ShapeError for an order and no axis of an array that is no vector and no matrix,
    AxisError for an axis that is not there. Source: `numpy.linalg.norm`.

        >>> fw.linalg.norm([[3.0, 0.0], [0.0, 4.0]], 1)
        Array(4.0, dtype=float64)
    """
    array = _floats(x, "norm")
    if axis is None and ord is None:
        return vector_norm(array, keepdims=keepdims)
    plain = array.real if isinstance(array, Complex) else array
    axes = axes_named(plain, axis, "norm")
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ArgumentError.here(
                f"ord of a norm of vectors is a number, got {ord!r}.",
                "Name two axes for norms of matrices: axis=(-2, -1).",
            )
        return vector_norm(array, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError.here(
            f"norm goes along one axis, or two, got {len(axes)} of {describe(array)}.",
            "Name them: axis=-1 for vectors, axis=(-2, -1) for matrices.",
        )
    order = "fro" if ord is None or ord == "f" else ord
    found = matrix_norm(moveaxis(array, tuple(axes), (-2, -1)), ord=order)
    return expand_dims(found, tuple(sorted(axes))) if keepdims else found


@operation()
def diagonal(x: Any, /, offset: Any = 0) -> Array:
    """The diagonal of each matrix, or that which lies `offset` above it.

    Types: `x: t[.., m, n] -> t[.., k]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.linalg.diagonal`.

        >>> fw.linalg.diagonal([[1, 2], [3, 4]])
        Array([1, 4], dtype=int64)
    """
    array = as_tracer(x, "x of diagonal")
    if array.ndim < 2:
        raise ShapeError.here(
            f"diagonal takes matrices, got {describe(array)}.", "Give an array of two axes or more."
        )
    *others, rows, columns = array.shape
    given = tracer_of(extent_of(offset, "the offset of diagonal"))
    by = maximum(given, -MOST)  # whose negative is an integer, too
    down, right = maximum(-by, 0), maximum(by, 0)
    length = maximum(minimum(as_tracer(rows) - down, as_tracer(columns) - right), 0)

    def element(*at: Any) -> Array:
        return array[(*at[:-1], at[-1] + down, at[-1] + right)]

    return generate((*others, length), element)


@operation(static="dtype")
def trace(x: Any, /, offset: Any = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal of each matrix.

    Types: `x: t[.., m, n] -> t[..]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.linalg.trace`.

        >>> fw.linalg.trace([[1, 2], [3, 4]])
        Array(5, dtype=int64)
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@operation()
def outer(x1: Any, x2: Any, /) -> Array:
    """The products of every element of the one vector with every one of the other.

    Types: `x1: t[m], x2: t[n] -> t[m, n]`. Raises ShapeError unless both have one axis.
    Source: `numpy.linalg.outer`.

        >>> fw.linalg.outer([1, 2], [3, 4])
        Array([[3, 4],
               [6, 8]], dtype=int64)
    """
    a = as_tracer(x1, "the left of outer")
    b = as_tracer(x2, "the right of outer")
    for vector in (a, b):
        if vector.ndim != 1:
            raise ShapeError.here(
                f"outer takes vectors, got {describe(vector)}.", "Reshape it first: x.reshape(-1)."
            )
    return a[:, None] * b[None, :]


@operation(static="axis")
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of 3 elements along an axis.

    Types: `x1, x2: t[.., 3] -> t[.., 3]`. Raises ShapeError for vectors of another length.
    Source: `numpy.linalg.cross`.

        >>> fw.linalg.cross([1, 0, 0], [0, 1, 0])
        Array([0, 0, 1], dtype=int64)
    """
    a, b = broadcast_arrays(as_tracer(x1, "the left of cross"), as_tracer(x2, "the right of cross"))
    at = axis_of(a, axis, "cross")
    for given in (x1, x2):
        extent = as_tracer(given).extents[at - a.ndim]
        extents.same(
            extent, index(3), "cross takes vectors of {1} elements, got {0}.",
            remedy="Name the axis along which the vectors are.",
        )
    a, b = moveaxis(a, at, -1), moveaxis(b, at, -1)
    parts = [
        a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return moveaxis(stack(parts, axis=-1), -1, at)
