"""Reductions along axes of an array, by a function of the scalar table.

    fold("sum", "add", xs, None, ..)       reduce add 0 (reshape xs [n * m])
    fold("sum", "add", xs, 0, ..)          generate [m] (j => reduce add 0 (xs[0, j], xs[1, j], ..))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays import shapes
from flatweave.frontend.elements.broadcasting import generated, read, strong, taken, zipped
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.run_time_checks import check, check_message, is_refused
from flatweave.frontend.trace.tracers import emit, flag_of, scalar_of
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Reduce, Reshape
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Atom, constant

OF_TWO = {"max": "maximum", "min": "minimum"}


def axes_of(array: Array, axis: Any, who: str) -> list[int]:
    """The axes that are reduced, in ascending order; all of them for None."""
    return sorted(axes_named(array, axis, who))


def axes_named(array: Array, axis: Any, who: str, repeated: bool = False) -> list[int]:
    """The axes in the order in which they are named, all of them for None; each once, or some
    `repeated`."""
    if axis is None:
        return list(range(array.ndim))
    is_one = not isinstance(axis, tuple | list)
    parts = [axis] if is_one else axis
    more = "" if is_one or who not in OF_TWO else f" fw.{OF_TWO[who]}(x, y) compares two arrays."
    found = [shapes.axis_of(array, part, who, more=more) for part in parts]
    if len(set(found)) < len(found) and not repeated:
        raise ArgumentError.here(
            f"{who} got an axis twice: {tuple(parts)}.", "Name each axis once."
        )
    return found


def along(
    arrays: Sequence[Tracer],
    axes: Sequence[int],
    keepdims: bool,
    reduction: Callable[[list[Tracer]], list[Tracer]],
) -> list[Tracer]:
    """Reduce the elements along some axes, as rank-1 arrays, at each index of the other axes."""
    first = arrays[0]
    kept = [axis for axis in range(first.ndim) if axis not in axes]
    shape = [first.extents[axis] for axis in axes]
    total = extents.known_extent(extents.product(shape))
    if not kept:
        flat = arrays if first.ndim == 1 else [emit(Reshape(x.atom, (total,)))[0] for x in arrays]
        results = reduction(list(flat))
    else:

        def one(*at: Atom) -> list[Tracer]:
            def element(k: Atom) -> list[Tracer]:
                inner = extents.unravel(k, shape)
                place = [inner[axes.index(axis)] if axis in axes else at[kept.index(axis)]
                         for axis in range(first.ndim)]  # fmt: skip
                return [read(x, place) for x in arrays]

            return reduction(generated((total,), element))

        results = generated([first.extents[axis] for axis in kept], one)
    if not keepdims:
        return results
    wide = [ONE if axis in axes else first.extents[axis] for axis in range(first.ndim)]
    return [shapes.reshaped(result, wide) for result in results]


def reduced_by(fn: str, start: Atom, array: Tracer) -> Tracer:
    """A rank-1 array reduced by a scalar function, from an initial element."""
    lambda_ = combine_lambda(lambda a, b: [apply(fn, a, b)], [array.element])
    return emit(Reduce(lambda_, (start,), (array.atom,)))[0]


def converted(array: Tracer, dtype: DType) -> Tracer:
    """The array, or scalar, converted to another dtype."""
    if array.element is dtype and not array.weak:
        return array
    return zipped(lambda v: strong(v, dtype), [array], "astype")[0]


def need_elements(array: Tracer, axis: Any, who: str) -> None:
    """Refuse an empty axis where the operator has no neutral element."""
    for number in axes_of(array, axis, who):
        extent = array.extents[number]
        message = f"zero-size array to reduction operation {who} which has no identity."
        remedy = (
            f"Give an initial value, fw.{who}(xs, initial=v), which is the result where there is no"
            " element."
        )
        if who.startswith("arg"):
            message = f"attempt to get {who} of an empty sequence."
            remedy = "Check the length before the call."
        condition = current().apply("gt", extent, ZERO)
        if is_refused(condition):
            raise ShapeError.here(message, remedy)
        if not current().is_checked(condition):
            check(condition, "empty", (extent,), check_message(message, [], remedy))


def fold(
    who: str, fn: str, array: Tracer, axis: Any, keepdims: Any, dtype: DType, initial: Any = None
) -> Tracer:
    """A reduction along axes by a scalar function, in `dtype`; from `initial` if given."""
    keepdims = flag_of(keepdims, "keepdims")
    start: Atom = constant(scalar.neutral(fn, dtype), dtype)
    if initial is not None:
        start = taken(scalar_of(initial, f"the initial value of {who}"), dtype, who).atom
    value = converted(array, dtype)
    axes = axes_of(value, axis, who)
    last = _last_of_separate(axes)
    if last:
        return _in_turn(value, axes, last, keepdims, fn, start)
    if axes:
        return along([value], axes, keepdims, lambda xs: [reduced_by(fn, start, xs[0])])[0]
    if initial is None:
        return value
    first = Tracer(start, current())
    return zipped(lambda v: apply(fn, first, v), [value], who)[0]


def _last_of_separate(axes: Sequence[int]) -> list[int]:
    """The last axes if they are adjacent and other axes are not adjacent to them."""
    last = [axis for k, axis in enumerate(axes) if axes[-1] - axis == len(axes) - 1 - k]
    return last if len(last) < len(axes) else []


def _in_turn(
    array: Tracer, axes: Sequence[int], last: Sequence[int], keepdims: bool, fn: str, start: Atom
) -> Tracer:
    """Along the last axes first, which lie side by side in memory, and then along the others."""
    neutral = constant(scalar.neutral(fn, array.element), array.element)
    found = along([array], last, False, lambda xs: [reduced_by(fn, neutral, xs[0])])[0]
    others = [axis for axis in axes if axis not in last]
    before = _last_of_separate(others)
    if before:
        found = _in_turn(found, others, before, False, fn, start)
    else:
        found = along([found], others, False, lambda xs: [reduced_by(fn, start, xs[0])])[0]
    if not keepdims:
        return found
    wide = [ONE if axis in axes else array.extents[axis] for axis in range(array.ndim)]
    return shapes.reshaped(found, wide)
