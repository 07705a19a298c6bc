"""Arrays put together, cut and turned, under NumPy's names.

    hstack([a, b])     concat([a, b], axis=1)
    diag(x)            generate (n, n) (i, j => x[i] if i == j else 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_of, expand_dims, integer, reshape, transpose
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import cond
from flatweave.frontend.numerics.padding import element_of
from flatweave.frontend.standard.arrangement import flip, unstack
from flatweave.frontend.standard.norms import diagonal as matrix_diagonal
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, describe


@for_complex
@operation()
def ravel(x: Any) -> Array:
    """The elements in row-major order, along one axis.

    Types: `x: t[..] -> t[n]`. Raises ArgumentError for what is no array. Source: `numpy.ravel`.

        >>> fw.ravel([[1, 2], [3, 4]])
        Array([1, 2, 3, 4], dtype=int64)
    """
    return reshape(either(x, "x of ravel"), -1)


@for_complex
@operation(static="axis1 axis2")
def swapaxes(x: Any, axis1: int, axis2: int) -> Array:
    """The array with two axes exchanged.

    Types: `x: t[.., m, .., n, ..] -> t[.., n, .., m, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.swapaxes`.

        >>> fw.swapaxes([[1, 2, 3]], 0, 1).shape
        (3, 1)
    """
    array = either(x, "x of swapaxes")
    first, second = (axis_of(array, axis, "swapaxes") for axis in (axis1, axis2))
    order = list(range(array.ndim))
    order[first], order[second] = second, first
    return transpose(array, tuple(order))


def _of_rank(x: Any, least: int, who: str) -> Array:
    """An array of `least` axes or more, new ones in front."""
    array: Array = either(x, f"an array of {who}")
    for _ in range(least - array.ndim):
        array = expand_dims(array, 0)
    return array


def _each_of_rank(arrays: Sequence[Any], least: int, who: str) -> Array:
    """The array; of several a tuple, which is a structure of arrays."""
    found: Any = tuple(_of_rank(x, least, who) for x in arrays)
    several: Array = found[0] if len(found) == 1 else found
    return several


@for_complex
@operation()
def atleast_1d(*arrays: Any) -> Array:
    """The array, or a number as an array of one element; of several a tuple.

    Types: `t[..] -> t[..]`, for each. Raises ArgumentError for what is no array.
    Source: `numpy.atleast_1d`.

        >>> fw.atleast_1d(3)
        Array([3], dtype=int64)
    """
    return _each_of_rank(arrays, 1, "atleast_1d")


@for_complex
@operation()
def atleast_2d(*arrays: Any) -> Array:
    """The array, or what has one axis as a row of a matrix; of several a tuple.

    Types: `t[..] -> t[..]`, for each. Raises ArgumentError for what is no array.
    Source: `numpy.atleast_2d`.

        >>> fw.atleast_2d([1, 2])
        Array([[1, 2]], dtype=int64)
    """
    return _each_of_rank(arrays, 2, "atleast_2d")


def _several(arrays: Any, who: str) -> Sequence[Any]:
    if isinstance(arrays, Array) and arrays.ndim:
        arrays = unstack(arrays)
    if not isinstance(arrays, list | tuple) or not arrays:
        raise ArgumentError(
            f"{who} needs a list of at least one array.",
            where=user_location(), remedy=f"Call it as fw.{who}([xs, ys]).",
        )  # fmt: skip
    return arrays


@for_complex
@operation()
def hstack(arrays: Sequence[Any]) -> Array:
    """Arrays joined along axis 1, or along axis 0 if they have one axis.

    Types: a list of `t[m, k, ..]`, `t[m, l, ..]`, .. `-> t[m, k + l + .., ..]`. Raises ShapeError
    where other extents differ, or ranks do; ArgumentError for an empty list.
    Source: `numpy.hstack`.

        >>> fw.hstack([[[1], [2]], [[3], [4]]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    parts = [_of_rank(x, 1, "hstack") for x in _several(arrays, "hstack")]
    return concat(parts, axis=0 if parts[0].ndim == 1 else 1)


@for_complex
@operation()
def vstack(arrays: Sequence[Any]) -> Array:
    """Arrays below each other: along axis 0, those of one axis as rows.

    Types: a list of `t[m, ..]`, `t[n, ..]`, .. `-> t[m + n + .., ..]`. Raises ShapeError where
    other extents differ, or ranks do; ArgumentError for an empty list. Source: `numpy.vstack`.

        >>> fw.vstack([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int64)
    """
    return concat([_of_rank(x, 2, "vstack") for x in _several(arrays, "vstack")], axis=0)


@for_complex
@operation()
def column_stack(arrays: Sequence[Any]) -> Array:
    """Columns joined into a matrix; matrices among them stay as they are.

    Types: a list of `t[n]`, `t[n, k]`, .. `-> t[n, 1 + k + ..]`. Raises ShapeError where lengths
    differ, ArgumentError for an empty list. Source: `numpy.column_stack`.

        >>> fw.column_stack([[1, 2], [3, 4]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    parts = [_of_rank(x, 1, "column_stack") for x in _several(arrays, "column_stack")]
    return concat([expand_dims(x, 1) if x.ndim == 1 else x for x in parts], axis=1)


@for_complex
@operation(static="axis")
def append(x: Any, values: Any, axis: Any = None) -> Array:
    """The array followed by values, along `axis`, or both flattened.

    Types: `x: t[m, ..], values: t[n, ..] -> t[m + n, ..]`. Raises ShapeError where other extents
    differ, AxisError for an axis that is not there. Source: `numpy.append`.

        >>> fw.append([1, 2], 3)
        Array([1, 2, 3], dtype=int64)
    """
    parts = [either(x, "x of append"), either(values, "the values of append")]
    return concat([reshape(part, -1) for part in parts]) if axis is None else concat(parts, axis)


@for_complex
@operation(static="indices_or_sections axis")
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The array in a number of equal parts, or cut before each index of a list.

    Types: `x: t[.., n, ..] ->` a list of `t[.., k, ..]`. Raises ShapeError where the parts cannot
    be of one length, AxisError for an axis that is not there, ArgumentError for a number of parts
    below 1. Source: `numpy.split`.

        >>> fw.split([1, 2, 3, 4], 2)
        [Array([1, 2], dtype=int64), Array([3, 4], dtype=int64)]
    """
    array = either(x, "x of split")
    at = axis_of(array, axis, "split")
    n = array.shape[at]
    if isinstance(indices_or_sections, tuple):
        cuts = list(indices_or_sections)
    else:
        count = integer(
            indices_or_sections, "the number of parts of split",
            "Give the number, or a list of indices.", least=1,
        )  # fmt: skip
        extents.same(
            as_tracer(n % count).atom, extents.ZERO,
            f"{{0}} elements are left over when an axis is split into {count} parts."
        )
        cuts = [n // count * k for k in range(1, count)]
    ends = zip([None, *cuts], [*cuts, None], strict=True)
    return [array[(*[slice(None)] * at, slice(start, end))] for start, end in ends]


@for_complex
@operation()
def fliplr(x: Any) -> Array:
    """The columns, along axis 1, from last to first.

    Types: `x: t[m, n, ..] -> t[m, n, ..]`. Raises AxisError for fewer than two axes.
    Source: `numpy.fliplr`.

        >>> fw.fliplr([[1, 2], [3, 4]])
        Array([[2, 1],
               [4, 3]], dtype=int64)
    """
    return flip(either(x, "x of fliplr"), axis=1)


@for_complex
@operation()
def flipud(x: Any) -> Array:
    """The rows, along axis 0, from last to first.

    Types: `x: t[m, ..] -> t[m, ..]`. Raises AxisError for a number. Source: `numpy.flipud`.

        >>> fw.flipud([[1, 2], [3, 4]])
        Array([[3, 4],
               [1, 2]], dtype=int64)
    """
    return flip(either(x, "x of flipud"), axis=0)


@for_complex
@operation(static="k axes")
def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """The array turned `k` times by 90 degrees, from the first of two axes to the second.

    Types: `x: t[m, n, ..] -> t[n, m, ..]` for odd k. Raises AxisError for an axis that is not
    there, ArgumentError for one named twice. Source: `numpy.rot90`.

        >>> fw.rot90([[1, 2], [3, 4]])
        Array([[2, 4],
               [1, 3]], dtype=int64)
    """
    array, turns = either(x, "x of rot90"), integer(k, "k of rot90") % 4
    first, second = (axis_of(array, axis, "rot90") for axis in axes)
    if first == second:
        raise ArgumentError(
            f"rot90 rotates from one axis to another, got axes={tuple(axes)}.",
            where=user_location(), remedy="Name two axes, as in axes=(0, 1).",
        )  # fmt: skip
    if turns == 2:
        return flip(array, axis=(first, second))
    if turns == 0:
        return array
    if turns == 1:
        return swapaxes(flip(array, axis=second), first, second)
    return flip(swapaxes(array, first, second), axis=second)


@for_complex
@operation(static="k")
def diag(x: Any, k: int = 0) -> Array:
    """A matrix with these elements on its diagonal, or the diagonal of a matrix; `k` above it.

    Types: `x: t[n] -> t[n + |k|, n + |k|]`, or `x: t[m, n] -> t[l]`. Raises ShapeError for other
    ranks. Source: `numpy.diag`.

        >>> fw.diag([1, 2])
        Array([[1, 0],
               [0, 2]], dtype=int64)
        >>> fw.diag([[1, 2], [3, 4]])
        Array([1, 4], dtype=int64)
    """
    array, k = either(x, "x of diag"), integer(k, "k of diag")
    if array.ndim == 2:
        return matrix_diagonal(array, offset=k)
    if array.ndim != 1:
        raise ShapeError(
            f"diag takes a row or a matrix, got {describe(array)}.",
            where=user_location(), remedy="Of stacks of matrices take fw.linalg.diagonal.",
        )  # fmt: skip
    n = array.shape[0]
    size = n + abs(k)
    down, right = max(-k, 0), max(k, 0)
    zero = element_of(0, array)

    def element(i: Any, j: Any) -> Array:
        own = i - down
        on = (own == j - right) & (own >= 0) & (own < n)
        return cond(on, lambda: array[own], lambda: zero)

    return generate((size, size), element)
