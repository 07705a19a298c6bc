"""The same elements in another arrangement, under the standard's names: stack, flip, roll, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.axes import axes_named, axes_of
from flatweave.frontend.arrays.shapes import (
    axis_below,
    axis_of,
    expand_dims,
    raveled,
    reshaped,
    reverse,
    rotated_right,
    transposed,
)
from flatweave.frontend.arrays.sources import concat, in_one_dtype, iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, read, read_stretched, zipped
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.expand import expand
from flatweave.frontend.trace import extents, run_time_checks
from flatweave.frontend.trace.extents import ONE
from flatweave.frontend.trace.tracers import as_tracer, emit, tracer_of
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, describe
from flatweave.frontend.values.asarray import is_number_list, list_values
from flatweave.frontend.values.elsewhere import HOST_ARRAYS, in_memory, over
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import flat_values, is_irregular
from flatweave.ops import Weave
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const

SIDE_BY_SIDE = 16
"""Copies of an element that are made by one store each."""


@operation(static="axis")
def stack(arrays: Sequence[Any], axis: int = 0) -> Array:
    """Arrays of one shape side by side along a new axis. Raises ShapeError for other shapes.

    Types: a list of k `t[..] -> t[k, ..]`. Source: `numpy.stack`.

        >>> fw.stack([np.array([1, 2]), np.array([3, 4])])
        Array([[1, 2],
               [3, 4]], dtype=int64)
    """
    leaves = [as_tracer(array, "an array of stack") for array in arrays]
    if not leaves:
        raise ArgumentError.here("stack needs at least one array.", "Give a list of arrays.")
    for leaf in leaves[1:]:
        if leaf.ndim != leaves[0].ndim:
            raise ShapeError.here(
                f"stack needs arrays of one shape, got {describe(leaves[0])} and {describe(leaf)}.",
                "Broadcast them to one: fw.broadcast_to(x, shape).",
            )
        for k in range(leaf.ndim):
            extents.same(
                leaves[0].extents[k], leaf.extents[k],
                "stack needs arrays of one shape, got extents {0} and {1}.",
                remedy="Cut or broadcast them to one shape.",
            )  # fmt: skip
    own, at, count = leaves[0].extents, axis_of(leaves[0], axis, "stack", new=1), index(len(leaves))
    if own and at == len(own):
        return in_turn(leaves, (*own, count))
    if own and not at:
        return reshaped(as_tracer(concat(leaves)), (count, *own))
    return concat([expand_dims(leaf, axis) for leaf in leaves], axis)


def in_turn(leaves: Sequence[Tracer], shape: Sequence[Atom]) -> Tracer:
    """The elements of arrays of one shape, interleaved; at most as many as another shape has."""
    alike = in_one_dtype(leaves, "stack")
    scope = current()
    if not scope.depth and len(alike) > 1:
        return emit(Weave(tuple(shape), tuple(x.atom for x in alike)))[0]
    together = as_tracer(concat([expand_dims(leaf, -1) for leaf in alike], -1))
    if together.extents == tuple(shape):
        return together
    flat = raveled(together)
    return reshaped(generated((extents.product(shape),), lambda i: read(flat, (i,)))[0], shape)


def _host_unstack(x: Any, axis: Any = 0) -> object:
    """Outside of a trace every extent is known."""
    if not isinstance(x, HostArray | np.ndarray) or type(axis) is not int:
        return NotImplemented
    is_kept = isinstance(x, HOST_ARRAYS)  # which nobody changes
    values = in_memory(x) if isinstance(x, HOST_ARRAYS) else np.asarray(x)
    if not -values.ndim <= axis < values.ndim:
        return NotImplemented
    rows = np.moveaxis(values, axis, 0)
    return tuple(over(np.asarray(row) if is_kept else np.array(row, order="C")) for row in rows)


@operation(static="axis", host=_host_unstack)
def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The arrays along an axis as a tuple; the extent must be known when the program is traced.

    Types: `x: t[k, ..] ->` a tuple of k `t[..]`. Raises ShapeError where the extent is known at run
    time only. Source: `numpy.unstack`.

        >>> fw.unstack(np.array([[1, 2], [3, 4]]))[1]
        Array([3, 4], dtype=int64)
    """
    array = as_tracer(x, "x of unstack")
    at = axis_of(array, axis, "unstack")
    extent = array.extents[at]
    if not isinstance(extent, Const):
        raise ShapeError.here(
            "unstack gives a tuple, and how many arrays it has is known at run time only.",
            "Index the axis, or map over it.",
        )
    rest = array.extents[:at] + array.extents[at + 1 :]
    return tuple(
        generated(rest, lambda *i, k=k: read(array, (*i[:at], index(k), *i[at:])))[0]
        for k in range(int(extent.value))
    )


def _host_squeeze(x: Any, axis: Any = None) -> object:
    """Without an axis the extents decide, which are known outside of a trace."""
    x = list_values(x) if is_number_list(x) else x
    if axis is not None or not isinstance(x, HostArray | np.ndarray):
        return NotImplemented
    return squeeze(x, tuple(at for at, extent in enumerate(x.shape) if extent == 1))


@operation(static="axis", host=_host_squeeze)
def squeeze(x: Any, axis: Any = None) -> Array:
    """The array without axes of extent 1: those given, or all of them.

    Types: `x: t[.., 1, ..] -> t[..]`. Raises ShapeError for another extent, ArgumentError without
    an axis in a jitted function where an extent is known at run time only. Source: `numpy.squeeze`.

        >>> fw.squeeze([[1, 2]], 0)
        Array([1, 2], dtype=int64)
    """
    array = as_tracer(x, "x of squeeze")
    if axis is None:
        if not all(isinstance(extent, Const) for extent in array.extents):
            raise ArgumentError.here(
                f"squeeze of {describe(array)} needs an axis: which extents are 1 is known at run"
                " time only.",
                "Name the axes: fw.squeeze(x, axis=0).",
            )
        axis = tuple(at for at, extent in enumerate(array.extents) if extent == ONE)
    gone = axes_of(array, axis, "squeeze")
    for at in gone:
        extents.same(
            array.extents[at], ONE, "squeeze takes away axes of extent 1, and one has {0}.",
            remedy="Read one element of it, or reduce along it.",
        )  # fmt: skip
    return reshaped(array, [e for at, e in enumerate(array.extents) if at not in gone])


@operation(static="source destination", moves=np.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Array:
    """The array with some axes moved; the others keep their order.

    Types: `x: t[..] -> t[..]`, its extents in another order. Raises AxisError for an axis that is
    not there, ArgumentError if sources and destinations differ in number. Source: `numpy.moveaxis`.

        >>> fw.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    array = as_tracer(x, "x of moveaxis")
    froms, tos = (axes_named(array, axes, "moveaxis") for axes in (source, destination))
    if len(froms) != len(tos):
        raise ArgumentError.here(
            f"moveaxis got {len(tos)} destinations for {len(froms)} axes.",
            "For instance fw.moveaxis(x, (0, 1), (1, 0)).",
        )
    order = [at for at in range(array.ndim) if at not in froms]
    for to, at in sorted(zip(tos, froms, strict=True)):
        order.insert(to, at)
    return transposed(array, order)


@operation(static="axes", moves=np.transpose)
def permute_dims(x: Any, axes: Any) -> Array:
    """The array with its axes in the order `axes`.

    Types: `x: t[..] -> t[..]`, its extents in another order. Raises ShapeError unless each axis is
    named once. Source: `numpy.permute_dims`.

        >>> fw.permute_dims(np.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return transposed(as_tracer(x, "x of permute_dims"), axes)


@operation(moves=lambda x: np.swapaxes(x, -1, -2))
def matrix_transpose(x: Any) -> Array:
    """Matrices with rows and columns changed; axes before the last two stay.

    Types: `x: t[.., m, n] -> t[.., n, m]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.matrix_transpose`.

        >>> fw.matrix_transpose([[1, 2], [3, 4]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    array = as_tracer(x, "x of matrix_transpose")
    if array.ndim < 2:
        raise ShapeError.here(
            f"matrix_transpose takes matrices, got {describe(array)}.",
            "Give an array of two axes or more.",
        )
    order = [*range(array.ndim - 2), array.ndim - 1, array.ndim - 2]
    return transposed(array, order)


@operation(static="axis", moves=np.flip)
def flip(x: Any, axis: Any = None) -> Array:
    """The elements from last to first, along all axes or those given; of a Ragged, too.

    Types: `x: t[..] -> t[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.flip`.

        >>> fw.flip([[1, 2], [3, 4]], axis=1)
        Array([[2, 1],
               [4, 3]], dtype=int64)
    """
    if is_irregular(x):
        axes = _axes_of_rows(x, range(x.ndim) if axis is None else axis, "flip")
        key = tuple(slice(None, None, -1 if at in axes else None) for at in range(x.ndim))
        return cast(Array, x[key])
    found = as_tracer(x, "x of flip")
    for at in axes_of(found, axis, "flip"):
        found = as_tracer(reverse(found, at))
    return found


@operation(static="axis", numbers="shift")
def roll(x: Any, shift: Any, axis: Any = None) -> Array:
    """The elements moved to the right by `shift`, those that fall off coming in again; of all
    elements in row-major order without an axis. Several shifts and axes go in pairs. Of a Ragged
    axis 0 moves the rows, and axis 1 the elements of each.

    Types: `x: t[..], shift: integers -> t[..]`. Raises AxisError for an axis that is not there,
    ArgumentError for another number of shifts than of axes. Source: `numpy.roll`.

        >>> fw.roll([1, 2, 3], 1)
        Array([3, 1, 2], dtype=int64)
    """
    has_rows = is_irregular(x)
    if has_rows and axis is None:
        return cast(Array, METHODS["cut_as"](x, roll(flat_values(x), shift)))
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift]
    array: Any = x if has_rows else as_tracer(x, "x of roll")
    if axis is None:
        flat = as_tracer(_rolled(raveled(array), shifts, [0] * len(shifts)))
        return reshaped(flat, array.extents)
    if has_rows:
        axes = _axes_of_rows(x, axis, "roll")
    else:
        axes = axes_named(array, axis, "roll", repeated=True)
    if len(axes) != len(shifts) and 1 not in (len(axes), len(shifts)):
        raise ArgumentError.here(
            f"roll got {len(shifts)} shifts for {len(axes)} axes.",
            "Give one for each axis, or one for all.",
        )
    many = max(len(axes), len(shifts)) if axes and shifts else 0
    if not many:
        return cast(Array, array)
    return _rolled(array, shifts * (many // len(shifts)), axes * (many // len(axes)))


def _rolled(array: Any, shifts: list[Any], axes: list[int]) -> Array:
    for by, at in zip(shifts, axes, strict=True):
        if not is_irregular(array):
            array = rotated_right(array, by, at)
        elif at:
            array = map(lambda row, by=by, at=at: roll(row, by, at - 1), array)
        else:
            array = array[roll(iota(array.offsets.shape[0] - 1), by)]
    return cast(Array, array)


def _axes_of_rows(rows: Any, axis: Any, who: str) -> list[int]:
    """Axes of a Ragged, counted from 0."""
    named = [axis] if isinstance(axis, int) else axis
    return [axis_below(rows.ndim, at, who, "a Ragged") for at in named]


@operation(static="axis")
def repeat(x: Any, repeats: Any, axis: Any = None) -> Array:
    """Each element repeated `repeats` times in place; along an axis, each slice of it.

    `repeats` is a number, or one for each element. Raises NegativeExtentError below 0.

    Types: `x: t[n], repeats: integer or integer[n] -> t[sum of them]`. Source: `numpy.repeat`.

        >>> fw.repeat([1, 2], [2, 3])
        Array([1, 1, 2, 2, 2], dtype=int64)
    """
    array = as_tracer(x, "x of repeat")
    if axis is None:
        array, at = raveled(array), 0
    else:
        at = axis_of(array, axis, "repeat")
    n = array.extents[at]
    given = as_tracer(repeats, "repeats")
    if not given.ndim and given.dtype.kind in "iu":
        return _each_so_often(array, at, given)
    counts = zipped(lambda v: v, [given], "repeat")[0]
    if not counts.ndim or counts.extents == (ONE,):
        counts = generated((n,), lambda i: read_stretched(given, (i,)))[0]
    else:
        extents.same(
            n, counts.extents[0], "repeat needs a number for each of {0} elements, got {1}.",
            remedy="Give one number for all, or one for each element.",
        )
    spread = expand(lambda pair: pair[1], lambda pair, k: pair[0], (_positions(n), counts))
    places = as_tracer(spread)
    shape = (*array.extents[:at], places.extents[0], *array.extents[at + 1 :])

    def element(*i: Any) -> Tracer:
        return read(array, (*i[:at], read(places, (i[at],)).atom, *i[at + 1 :]))

    return generated(shape, element)[0]


def _each_so_often(array: Tracer, at: int, times: Tracer) -> Tracer:
    """Each element, or each row, repeated along a new axis, which then is merged."""
    count = extents.length_of(times, "a number of repetitions of repeat")
    lead, n, rest = array.extents[:at], array.extents[at], array.extents[at + 1 :]
    run_time_checks.fit((*array.extents, count))
    shape = (*lead, extents.mul(n, count), *rest)
    extents.known_extent(shape[at])
    side_by_side = int(count.value) if isinstance(count, Const) and not rest else 0
    if 1 < side_by_side <= SIDE_BY_SIDE and array.dtype.kind != "c" and not current().depth:
        return emit(Weave(shape, (array.atom,) * side_by_side))[0]
    copies = (*lead, n, count, *rest)
    return reshaped(generated(copies, lambda *i: read(array, i[: at + 1] + i[at + 2 :]))[0], shape)


def _positions(n: Atom) -> Tracer:
    return generated((n,), lambda i: tracer_of(i))[0]


@operation(static="repetitions")
def tile(x: Any, repetitions: Any) -> Array:
    """The array repeated along each of its last axes.

    Types: `x: t[n], repetitions: ints -> t[n * repetitions]`. Raises NegativeExtentError for a
    number below 0. Source: `numpy.tile`.

        >>> fw.tile([1, 2], (2,))
        Array([1, 2, 1, 2], dtype=int64)
    """
    array = as_tracer(x, "x of tile")
    times = list(repetitions) if isinstance(repetitions, tuple | list) else [repetitions]
    rank = max(len(times), array.ndim)
    times = [1] * (rank - len(times)) + times
    shape = [ONE] * (rank - array.ndim) + list(array.extents)
    found = reshaped(array, shape)
    for at, count in enumerate(times):
        number = extents.length_of(count, "a number of repetitions of tile")
        if not isinstance(number, Const):
            found = _repeated(found, at, number)
        elif count != 1:
            found = as_tracer(concat([found] * count, at)) if count else _none(found, at)
    return found


def _repeated(array: Tracer, axis: int, count: Atom) -> Tracer:
    """The array repeated along an axis, a number of times known at run time."""
    shape, own = list(array.extents), array.extents[axis]
    shape[axis] = extents.mul(own, count)
    extents.known_extent(shape[axis])

    def element(*at: Atom) -> Tracer:
        return read(array, (*at[:axis], extents.mod(at[axis], own), *at[axis + 1 :]))

    return generated(shape, element)[0]


def _none(array: Tracer, axis: int) -> Tracer:
    shape = [index(0) if k == axis else e for k, e in enumerate(array.extents)]
    return generated(shape, lambda *at: read(array, at))[0]
