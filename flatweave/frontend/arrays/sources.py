"""Arrays made from nothing or from others end to end: iota, full, concat, broadcast_to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError, ExtentOverflowError, ShapeError
from flatweave.frontend.arrays.axes import converted
from flatweave.frontend.arrays.shapes import axis_of, broadcast, raveled, transposed
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, met, must_fit, read, strong, zipped
from flatweave.frontend.elements.lambdas import shape_text
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, length_of, shape_of
from flatweave.frontend.trace.run_time_checks import check, check_message, is_refused
from flatweave.frontend.trace.tracers import (
    arrays_of,
    as_tracer,
    emit,
    extent_of,
    restructured,
    same_dtype,
    tracer_of,
)
from flatweave.frontend.values.arguments import dtype_of
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Tree, is_irregular
from flatweave.ops import Concat, Empty
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const

# -- sources --------------------------------------------------------------------------------------
#
# Arrays from nothing: generate, iota, full, replicate, empty.
#
#     generate((n, m), f)      [[f(i, j) for j in range(m)] for i in range(n)]
#     iota(n)                  [0, 1, .., n-1]


@operation(static="dtype")
def iota(n: Any, dtype: Any = i64) -> Array:
    """0, 1, .., n-1.

    Raises NegativeExtentError when n is below 0, ExtentOverflowError when an integer dtype does not
    reach n-1.

    Types: `n: extent -> i64[n]`, or of another integer dtype.
    Source: APL's index generator; Futhark's `iota`.

        >>> fw.iota(4)
        Array([0, 1, 2, 3], dtype=int64)
    """
    wanted = i64 if dtype is None else dtype_of(dtype)
    length = length_of(n, "the length of iota")
    if wanted.is_integer and wanted.bits < i64.bits:
        _need_room(length, wanted)
    return generated((length,), lambda i: strong(tracer_of(i), wanted))[0]


def _need_room(length: Atom, dtype: DType) -> None:
    """Refuse a dtype too narrow for the numbers below a length: they would wrap."""
    message = f"iota of {{0}} elements does not fit {dtype}, which ends at {dtype.high}."
    remedy = "Take a wider dtype, or leave it out: fw.iota(n) counts in i64."
    room = index(int(dtype.high) + 1)
    fits = current().apply("le", length, room)
    if isinstance(length, Const) and is_refused(fits):
        raise ExtentOverflowError.here(message.format(length.value), remedy)
    check(fits, "overflow", (length,), check_message(message, [], remedy))


@operation(static="dtype device")
def full(
    shape: Any, fill_value: Any = None, dtype: Any = None, *, device: Any = None, v: Any = None
) -> Array:
    """The array of `shape` whose elements are all one value: a scalar, a tuple of scalars, or a
    row; `v` is another name for it.

    Types: `shape: extents, fill_value: t -> t[shape]`. Raises NegativeExtentError for an extent
    below 0, DTypeError for a Python integer that the dtype cannot hold. Source: `numpy.full`.

        >>> fw.full((2, 2), 7)
        Array([[7, 7],
               [7, 7]], dtype=int64)
    """
    on_device(device, "full")
    extents = shape_of(shape, "full")
    leaves, tree = arrays_of(v if fill_value is None else fill_value, "the value of full")
    if dtype is not None:
        for leaf in leaves:
            if leaf.weak and dtype_of(dtype).is_integer and leaf.element.is_integer:
                must_fit(leaf, dtype_of(dtype))
        leaves = [converted(leaf, dtype_of(dtype)) for leaf in leaves]
    return restructured(tree, [_filled(extents, leaf) for leaf in leaves])


def _filled(extents: tuple[Atom, ...], value: Tracer) -> Tracer:
    """One value everywhere."""
    if not value.ndim:
        made = strong(value, value.element)
        return generated(extents, lambda *at: made)[0] if extents else made
    shape = (*extents, *value.extents)
    return generated(shape, lambda *at: read(value, at[len(extents) :]))[0]


@operation()
def replicate(n: Any, v: Any) -> Array:
    """`n` times the element `v`: a scalar, a tuple of scalars, or a row.

    Types: `n: extent, v: t -> t[n]`. Raises NegativeExtentError for n below 0.
    Source: Futhark's `replicate`.

        >>> fw.replicate(3, 7)
        Array([7, 7, 7], dtype=int64)
    """
    length = length_of(n, "the length of replicate")
    leaves, tree = arrays_of(v, "the value of replicate")
    return restructured(tree, [_filled((length,), leaf) for leaf in leaves])


@operation(static="dtype device")
def empty(
    shape: Any = None, dtype: Any = None, *, device: Any = None, n: Any = None
) -> Array:
    """An uninitialised array for `scatter` to fill, of a shape or a number of elements `n`.

    The dtype is f64 unless given.

    Types: `shape: extents, dtype -> t[shape]`. Raises NegativeExtentError for an extent below 0.
    Source: `numpy.empty`.

        >>> fw.empty((2, 3), fw.i8).shape
        (2, 3)
    """
    on_device(device, "empty")
    extents = shape_of(n if shape is None else shape, "empty")
    wanted = dtype_of("f64" if dtype is None else dtype)
    return emit(Empty(wanted, extents))[0]


# -- joining --------------------------------------------------------------------------------------
#
# Arrays end to end, and arrays repeated to a shape that they have together.
#
#     concat([xs, ys])          the elements of xs, then those of ys
#     concat([a, b], axis=1)    of a few arrays: generate [n, m] (i j => a[i, j] or b[i, j - k])
#     broadcast_to(xs, (3, n))  three times xs


FEW_PARTS = 4
"""Arrays of which each element of a result may ask in which it is."""


@operation(static="axis")
def concat(arrays: Sequence[Any], axis: int | None = 0) -> Array:
    """The elements of the first array of a list, then those of the second, and so on; without an
    axis (None) all of them in row-major order.

    The arrays may be tuples of arrays, all of one structure; dtypes are promoted as NumPy's. Of
    Ragged values these are the rows.

    Types: a list of `t[m, ..]`, `t[n, ..]`, .. `-> t[m + n + .., ..]`. Raises ShapeError where
    other extents differ, or ranks do; ArgumentError for an empty list. Source: `numpy.concat`.

        >>> fw.concat([np.array([1, 2]), np.array([3])])
        Array([1, 2, 3], dtype=int64)
    """
    if not isinstance(arrays, list | tuple) or not arrays:
        raise ArgumentError.here(
            "concat needs a list of at least one array.", "Call it as fw.concat([xs, ys])."
        )
    if any(is_irregular(array) for array in arrays):
        rows: Array = METHODS["concat_rows"](arrays, axis)
        return rows
    parts: list[list[Tracer]] = []
    trees: list[Tree] = []
    for array in arrays:
        leaves, tree = arrays_of(array, "an array of concat")
        parts.append(leaves)
        trees.append(tree)
    for tree, found in zip(trees, parts, strict=True):
        if tree != trees[0]:
            raise ArgumentError.here(
                "concat needs arrays of one structure, got"
                f" {shape_text(trees[0], parts[0])} and {shape_text(tree, found)}.",
                "Put the same tuple of arrays into each.",
            )
    columns = [list(column) for column in zip(*parts, strict=True)]
    if axis is None:
        columns = [[raveled(array) for array in column] for column in columns]
        axis = 0
    return restructured(trees[0], [_joined(column, axis) for column in columns])


def _joined(arrays: Sequence[Tracer], axis: int) -> Tracer:
    """Arrays of one rank end to end along an axis."""
    first = arrays[0]
    for other in arrays:
        if other.ndim != first.ndim or not other.ndim:
            raise ShapeError.here(
                f"concat needs arrays of one rank, at least 1, got {describe(first)} and"
                f" {describe(other)}.",
                "Give a scalar an axis with x.reshape(1), a row one more with x[None, :].",
            )
    number = axis_of(first, axis, "concat")
    if number and len(arrays) <= FEW_PARTS:
        return _chosen(_alike(arrays, number), number)
    if number:
        order = [number, *(a for a in range(first.ndim) if a != number)]
        back = [order.index(a) for a in range(first.ndim)]
        return transposed(_joined([transposed(a, order) for a in arrays], 0), back)
    converted = _alike(arrays, 0)
    if len(converted) == 1:
        return converted[0]
    total = extents.joined([array.extents[0] for array in converted], "concat")
    return emit(Concat(total, tuple(a.atom for a in converted)))[0]


def _alike(arrays: Sequence[Tracer], axis: int) -> list[Tracer]:
    """Arrays in one dtype, whose shapes differ along one axis at most."""
    first = arrays[0]
    for other in arrays[1:]:
        for at, (a, b) in enumerate(zip(first.extents, other.extents, strict=True)):
            if at != axis:
                extents.same(
                    a, b, "concat needs rows of one shape, got extents {0} and {1}.",
                    remedy="Bring the arrays to one shape but for the axis they are joined along.",
                )  # fmt: skip
    return in_one_dtype(arrays, "concat")


def in_one_dtype(arrays: Sequence[Tracer], who: str) -> list[Tracer]:
    """Arrays in the dtype that their dtypes are promoted to."""
    dtype = same_dtype(arrays)
    return [
        x if x.element is dtype else zipped(lambda v: strong(v, dtype), [x], who)[0]
        for x in arrays
    ]


def _chosen(arrays: Sequence[Tracer], axis: int) -> Tracer:
    """A few arrays end to end along an axis: each element asks which array it is in."""
    if len(arrays) == 1:
        return arrays[0]
    lengths = [array.extents[axis] for array in arrays]
    total = extents.joined(lengths, "concat")

    def at(*place: Atom) -> Tracer:
        def from_part(k: int, i: Atom) -> Tracer:
            own = (*place[:axis], i, *place[axis + 1 :])
            if k == len(arrays) - 1:
                return read(arrays[k], own)
            inside = current().apply("lt", i, lengths[k])
            return as_tracer(METHODS["cond"](
                Tracer(inside, current().home((inside,))),
                lambda: read(arrays[k], own),
                lambda: from_part(k + 1, extents.sub(i, lengths[k])),
            ))  # fmt: skip

        return from_part(0, place[axis])

    shape = (*arrays[0].extents[:axis], total, *arrays[0].extents[axis + 1 :])
    return generated(shape, at)[0]


@operation()
def broadcast_to(x: Any, shape: Any) -> Array:
    """`broadcast`, under the standard's name.

    Types: `x: t[..], shape: extents -> t[shape]`. Raises ShapeError as `broadcast` does.
    Source: `numpy.broadcast_to`.

        >>> fw.broadcast_to(np.array([1, 2]), (2, 2))
        Array([[1, 2],
               [1, 2]], dtype=int64)
    """
    return broadcast(x, shape)


@operation()
def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """The arrays, each repeated to the shape that all of them have together.

    Types: `t[..], .. -> ` a tuple of `t[shape]`, each of its dtype. Raises ShapeError where they
    have no shape together. Source: `numpy.broadcast_arrays`.

        >>> fw.broadcast_arrays(np.array([1, 2]), 0)
        (Array([1, 2], dtype=int64), Array([0, 0], dtype=int64))
    """
    leaves = [as_tracer(array, "an array of broadcast_arrays") for array in arrays]
    return tuple(zipped(lambda *values: list(values), leaves, "broadcast_arrays"))


def broadcast_shapes(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The common broadcast shape of these shapes.

    In a jitted function extents may be known at run time only: they are compared there.

    Types: tuples of extents `->` a tuple of extents. Raises ShapeError for shapes that do not fit.
    Source: `numpy.broadcast_shapes`.

        >>> fw.broadcast_shapes((3, 1), (2,))
        (3, 2)
    """
    each = [shape if isinstance(shape, tuple | list) else (shape,) for shape in shapes]
    if any(isinstance(extent, Tracer) for shape in each for extent in shape):
        return _traced_shape(each)
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as failure:
        raise ShapeError.here(
            f"broadcast_shapes: {failure}.", "Extents are equal, or one of them is 1."
        ) from None  # fmt: skip


def _traced_shape(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The common shape of extents of which some are known at run time only."""
    found: list[Atom] = [ONE] * max(map(len, shapes))
    for shape in shapes:
        for axis, extent in enumerate(shape, len(found) - len(shape)):
            own, common = extent_of(extent, "an extent of broadcast_shapes"), found[axis]
            if common == ONE:
                found[axis] = own
            elif own != ONE:
                found[axis] = met(
                    (common, own), "axes of {0} and {1} elements do not broadcast.", [],
                    "Extents are equal, or one of them is 1.", (common, own),
                )  # fmt: skip
    return tuple(
        int(atom.value) if isinstance(atom, Const) else Tracer(atom, current().home((atom,)), True)
        for atom in found
    )
