"""The same elements in another arrangement: reshape, transpose, reverse, rotate.

    transpose(xs)[i, j] = xs[j, i]        rotate(xs, k)[i] = xs[(i + k) mod n]
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, ShapeError, UserError
from flatweave.base.pretty import counted
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import (
    generated,
    is_stretched,
    met,
    read,
    read_stretched,
)
from flatweave.frontend.trace import extents, run_time_checks
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.run_time_checks import check_message
from flatweave.frontend.trace.tracers import arrays_of, as_tracer, emit, extent_of, restructured
from flatweave.frontend.values.array import Array, HostArray, Tracer, describe, shown
from flatweave.frontend.values.elsewhere import shaped as under_shape
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import is_irregular
from flatweave.ops import Reshape
from flatweave.terms.syntax import Atom, Const


def _host_reshape(xs: Any, shape: Any, order: str = "C", copy: Any = None) -> object:
    if not isinstance(xs, HostArray) or order != "C":
        return NotImplemented
    parts = shape if isinstance(shape, tuple | list) else (shape,)
    if not all(type(part) is int for part in parts):
        return NotImplemented
    try:
        return under_shape(xs, tuple(parts))
    except ValueError:
        return NotImplemented  # our message says more


@operation(host=_host_reshape, static="order")
def reshape(xs: Any, shape: Any, *, order: str = "C", copy: bool | None = None) -> Array:
    """The same elements in row-major order under another shape; one extent may be -1. With `order`
    "F" both are in column-major order.

    Arrays never change, so that `copy` makes no difference. Raises ShapeError when the number of
    elements differs, ArgumentError for another order.

    Types: `xs: t[..], shape: extents -> t[shape]`. Source: `numpy.reshape`.

        >>> fw.reshape([1, 2, 3, 4], (2, -1))
        Array([[1, 2],
               [3, 4]], dtype=int64)
    """
    leaves, tree = arrays_of(xs, "xs of reshape")
    parts = list(shape) if isinstance(shape, tuple | list) else [shape]
    wanted = [extent_of(part, "an extent of reshape") for part in parts]
    if is_by_columns(order):
        found = [reshaped(transposed(leaf), wanted[::-1]) for leaf in leaves]
        return restructured(tree, [transposed(leaf) for leaf in found])
    return restructured(tree, [reshaped(leaf, wanted) for leaf in leaves])


def is_by_columns(order: Any) -> bool:
    """Whether elements are in column-major order; ArgumentError for no order."""
    if order not in ("C", "F", "A"):
        raise ArgumentError.here(
            f"the order of elements is C, F or A, got {shown(order)}.",
            'Leave it out for "C", row by row.',
        )
    return bool(order == "F")


def reshaped(array: Tracer, wanted: Sequence[Atom]) -> Tracer:
    """An array under a shape that is checked to have as many elements."""
    free = [i for i, e in enumerate(wanted) if isinstance(e, Const) and e.value == -1]
    if len(free) > 1:
        raise ShapeError.here(
            "reshape can find one extent, but two or more are -1.", "Give all extents but one."
        )
    shape = [
        e if i in free else extents.length_of(extents.scalar_i64(e), "an extent of reshape")
        for i, e in enumerate(wanted)
    ]
    if tuple(shape) == array.extents:
        return array
    total = extents.product(array.extents)
    run_time_checks.fit(shape)
    if free:
        others = extents.product([e for i, e in enumerate(shape) if i not in free])
        _check_one_answer(others)
        found = extents.known_extent(extents.floordiv(total, others))
        shape[free[0]] = found
        if tuple(shape) == array.extents:
            return array
    if not (array.ndim == 0 and all(e == ONE for e in shape)):
        _check_total(array, total, extents.product(shape))
    current().home(shape).add_shape(shape)  # as many elements as the array, which fits
    if not shape:
        return read(array, [ZERO] * array.ndim)
    if not array.ndim:
        return generated(shape, lambda *at: array)[0]
    for extent in shape:
        extents.known_extent(extent)
    return emit(Reshape(array.atom, tuple(shape)))[0]


def raveled(array: Tracer) -> Tracer:
    """The elements in row-major order along one axis."""
    if array.ndim == 1:
        return array
    total = extents.known_extent(extents.product(array.extents))
    return reshaped(array, [total])


AMBIGUOUS = (
    "reshape cannot find the extent that is -1: another one is 0, and then every extent fits."
)


def _check_one_answer(others: Atom) -> None:
    """Refuse a shape with -1 whose other extents multiply to 0: any extent would do."""
    remedy = "Give all extents: (n, 0) rather than (-1, 0)."
    holds = current().apply("ne", others, ZERO)
    if run_time_checks.is_refused(holds):
        raise ShapeError.here(AMBIGUOUS, remedy)
    run_time_checks.check(holds, "shape", (), check_message(AMBIGUOUS, [], remedy))


def _check_total(array: Tracer, total: Atom, wanted: Atom) -> None:
    """Check that a new shape has as many elements."""
    if total == wanted:
        return
    message = "reshape must keep the number of elements: there are {0}, the new shape has {1}."
    remedy = "Give -1 for one extent, which is then found from the others."
    equal = current().apply("eq", total, wanted)
    if run_time_checks.is_refused(equal):
        raise ShapeError.here(
            message.format(*(getattr(e, "value", "?") for e in (total, wanted))), remedy
        )
    run_time_checks.check(equal, "shape", (total, wanted), check_message(message, [], remedy))


@operation(static="axes", moves=np.transpose)
def transpose(xs: Any, axes: Any = None) -> Array:
    """The array with its axes in the order `axes`, reversed when none is given.

    Types: `xs: t[m, n] -> t[n, m]`, of any rank. Raises ShapeError unless each axis is named once.
    Source: `numpy.transpose`.

        >>> fw.transpose([[1, 2], [3, 4]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    leaves, tree = arrays_of(xs, "xs of transpose")
    return restructured(tree, [transposed(leaf, axes) for leaf in leaves])


def transposed(array: Tracer, axes: Any = None) -> Tracer:
    """result[at] = array[source], source[axes[k]] = at[k]"""
    rank = array.ndim
    order = list(range(rank))[::-1]
    if axes is not None:
        given = axes if isinstance(axes, tuple | list) else (axes,)
        order = [axis_number(axis, "transpose") for axis in given]
        order = [axis + rank if axis < 0 else axis for axis in order]
    if sorted(order) != list(range(rank)):
        raise ShapeError.here(
            f"transpose needs each of {counted(rank, 'axis', 'axes')} once, got {shown(axes)}.",
            f"Give an order of {tuple(range(rank))}.",
        )
    if order == list(range(rank)):
        return array
    shape = [array.extents[axis] for axis in order]
    places = [order.index(axis) for axis in range(rank)]
    return generated(shape, lambda *at: read(array, [at[place] for place in places]))[0]


@operation(static="axis", moves=lambda xs, axis=0: np.flip(xs, axis))
def reverse(xs: Any, axis: int = 0) -> Array:
    """The elements from last to first, of a Ragged its rows; along axis 1 those of each row.

    Types: `xs: t[n, ..] -> t[n, ..]`. Raises AxisError for an axis that is not there.
    Source: Futhark's `reverse`.

        >>> fw.reverse([1, 2, 3])
        Array([3, 2, 1], dtype=int64)
    """
    if is_irregular(xs):
        axis_below(xs.ndim, axis, "reverse", "a Ragged")
        rows: Array = xs[(slice(None),) * (axis % xs.ndim) + (slice(None, None, -1),)]
        return rows
    leaves, tree = arrays_of(xs, "xs of reverse")
    return restructured(tree, [_reversed(leaf, axis) for leaf in leaves])


def axis_of(array: Array, axis: Any, who: str, new: int = 0, more: str = "") -> int:
    """An axis from 0 up, of an array with `new` axes more; an error as NumPy's for any other."""
    what = f"an array of type {describe(array)}"
    return axis_below(array.ndim + new, axis, who, what, "will have" if new else "has", more)


def axis_below(
    rank: int, axis: Any, who: str, what: str, has: str = "has", more: str = ""
) -> int:
    """An axis counted from 0, below `rank`; `what` names its owner, for messages, whose remedy goes
    on with `more`."""
    number = axis_number(axis, who)
    if not -rank <= number < rank:
        raise AxisError.here(
            f"{who} along axis {number} of {what}, which {has} {counted(rank, 'axis', 'axes')}.",
            "Axes count from 0, or from the end below 0." + more,
        )
    return number % rank


def axis_number(axis: Any, who: str) -> int:
    """A user's axis as an int; ArgumentError for a float, a bool or anything else."""
    return integer(axis, f"the axis of {who}", "Axes count from 0, or from the end below 0.")


def integer(value: Any, what: str, remedy: str = "", least: int | None = None) -> int:
    """A static integer, `least` or more; ArgumentError for a float, a bool or anything else."""
    wrong = ArgumentError.here(
        f"{what} must be an integer{'' if least is None else f' from {least} on'},"
        f" got {shown(value)}.",
        remedy or "Give an int, or what has __index__.",
    )
    if isinstance(value, bool | np.bool_):
        raise wrong
    try:
        number = operator.index(value)
    except TypeError as failure:
        raise (failure if isinstance(failure, UserError) else wrong) from None
    if least is not None and number < least:
        raise wrong
    return number


class AxisError(ShapeError, IndexError):
    """An axis that the array does not have: `fw.sum(xs, axis=2)` of a matrix."""


def _reversed(array: Tracer, axis: int) -> Tracer:
    number = axis_of(array, axis, "reverse")
    last = extents.sub(array.extents[number], ONE)

    def at(*place: Atom) -> Tracer:
        moved = extents.sub(last, place[number])
        return read(array, (*place[:number], moved, *place[number + 1 :]))

    return generated(array.extents, at)[0]


@operation(static="axis")
def rotate(xs: Any, k: Any, axis: int = 0) -> Array:
    """`rotate(xs, k)[i] = xs[(i + k) mod n]`: moved to the left by `k`, which may be negative.

    Types: `xs: t[n, ..], k: integer -> t[n, ..]`. Raises AxisError for an axis that is not there.
    Source: Futhark's `rotate`.

        >>> fw.rotate([1, 2, 3], 1)
        Array([2, 3, 1], dtype=int64)
    """
    leaves, tree = arrays_of(xs, "xs of rotate")
    by = extent_of(k, "the distance of rotate")
    found = []
    for leaf in leaves:
        number = axis_of(leaf, axis, "rotate")
        found.append(_from(leaf, extents.mod(by, leaf.extents[number]), number))
    return restructured(tree, found)


def rotated_right(array: Tracer, by: Any, number: int) -> Tracer:
    """Axis `number` moved to the right by any integer, whose negative need not be one."""
    extent = array.extents[number]
    distance = extents.mod(extent_of(by, "the shift of roll"), extent)
    return _from(array, extents.sub(extent, distance), number)


def _from(array: Tracer, start: Atom, number: int) -> Tracer:
    """The elements from `start` on, then those before it; `start` is not beyond the end, so that
    one subtraction brings i + start inside."""
    extent = array.extents[number]

    def at(*place: Atom) -> Tracer:
        moved = extents.add(place[number], start)
        beyond = current().apply("ge", moved, extent)
        inside = extents.select(beyond, extents.sub(moved, extent), moved)
        return read(array, (*place[:number], inside, *place[number + 1 :]))

    return generated(array.extents, at)[0]


@operation(static="axis", moves=np.expand_dims)
def expand_dims(xs: Any, axis: Any = 0) -> Array:
    """The array with a new axis of extent 1 at `axis`, from the end of the result when below 0; of
    a tuple at each of them.

    Types: `xs: t[..] -> t[.., 1, ..]`. Raises AxisError for an axis that the result does not have.
    Source: `numpy.expand_dims`.

        >>> fw.expand_dims(np.array([1, 2]), 1)
        Array([[1],
               [2]], dtype=int64)
    """
    array = as_tracer(xs, "xs of expand_dims")
    if isinstance(axis, tuple | list):
        return _with_axes(array, axis)
    number = axis_of(array, axis, "expand_dims", new=1)
    shape = (*array.extents[:number], ONE, *array.extents[number:])
    return reshaped(array, shape) if array.ndim else generated(shape, lambda *at: array)[0]


def _with_axes(array: Tracer, axes: Sequence[Any]) -> Tracer:
    """New axes of extent 1 at positions of the result."""
    places = [axis_of(array, axis, "expand_dims", new=len(axes)) for axis in axes]
    if len(set(places)) < len(places):
        raise ArgumentError.here(
            f"expand_dims got an axis twice: {tuple(axes)}.", "Name each axis once."
        )
    own = iter(array.extents)
    shape = [ONE if k in places else next(own) for k in range(array.ndim + len(places))]
    return reshaped(array, shape)


@operation(moves=np.broadcast_to)
def broadcast(xs: Any, shape: Any) -> Array:
    """The array repeated along new leading axes and along axes of extent 1.

    Types: `xs: t[..], shape: extents -> t[shape]`. Raises ShapeError where an extent is neither 1
    nor that of the shape. Source: Flatweave.

        >>> fw.broadcast(np.array([1, 2]), (2, 2))
        Array([[1, 2],
               [1, 2]], dtype=int64)
    """
    array = as_tracer(xs)
    parts = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    target = tuple(extents.length_of(part, "an extent of broadcast") for part in parts)
    return repeated(
        array, target, "an axis of {0} elements cannot be broadcast to {1}.",
        "Only an axis of extent 1 can be repeated: reshape, or use fw.replicate.",
    )  # fmt: skip


def repeated(array: Tracer, target: Sequence[Atom], message: str, remedy: str) -> Tracer:
    """An array broadcast to a shape; the texts are those for extents that do not fit."""
    start = len(target) - array.ndim
    if start < 0:
        raise ShapeError.here(
            f"an array of type {describe(array)} cannot lose axes by broadcasting.",
            "Give a shape of at least its rank.",
        )
    for own, wanted in zip(array.extents, target[start:], strict=True):
        if own != ONE:
            met((own, wanted), message, [], remedy, repeatable=(own,))
    if not start and not any(map(is_stretched, array.extents, target)):
        return array
    run_time_checks.fit(target)
    return generated(target, lambda *at: read_stretched(array, at))[0]


@operation(any_dtype=True)
def stored(xs: Any) -> Array:
    """The elements of a view in row-major order."""
    array = as_tracer(xs)
    return generated(array.extents, lambda *at: read(array, at))[0]
