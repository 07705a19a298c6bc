"""`xs[key]`: integers, slices, None, Ellipsis, index arrays and masks, as NumPy's.

    xs[1:]        generate [max(n-1, 0)] (i => xs[i + 1])
    xs[i, ::-1]   generate [m] (j => xs[i, m-1-j])
    xs[mask]      filter mask xs

Each axis of `xs` is read through a selector: at one index, along a slice, or through index arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import i64, u64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.frontend.arrays.reading import (
    Held,
    beside,
    check_extents,
    element,
    from_start,
    is_mask,
    is_single,
    leads,
    listed_index,
    masked,
    must_be_a_place,
    rank_in,
    read_atom,
    with_axes,
)
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import common_shape, generated, read_stretched
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, floordiv, greatest, least, mul, sub
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import MOST, as_tracer, emit, extent_of, scalar_of
from flatweave.frontend.values.array import Array, HostArray, Tracer, describe, host_array
from flatweave.frontend.values.elsewhere import HOST_ARRAYS, in_memory, over
from flatweave.frontend.values.scope import current
from flatweave.ops import Index, Reshape
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const, constant

BASIC = (int, slice, type(None), type(Ellipsis))


@record(eq=True)
class Slice:
    """`length` indices from `start` in steps of `step`, all inside the axis."""

    start: Atom
    step: Atom
    length: Atom

    @property
    def is_whole(self) -> bool:
        """Whether every index of the result is the same index of the source."""
        return self.start == ZERO and self.step == ONE

    def at(self, i: Atom) -> Atom:
        """The i-th index; reversed without a product, so that lanes read one register."""
        if self.step == index(-1):
            return sub(self.start, i)
        return add(mul(i, self.step), self.start)


@record(eq=True)
class At:
    """One index, or the broadcast index arrays' values for this axis."""

    index: Tracer
    is_inside: bool = False


NO_STEP = "the step of a slice must not be 0."
STEPS = "Use 1 for every element, -1 for the reverse."
Selector = Slice | At | None  # None: a new axis of extent 1


def _bound(value: Any, what: str) -> Atom:
    """The start or stop of a slice as an i64, to which larger integers are clipped."""
    if type(value) is int:
        return index(max(-(2**63), min(value, MOST)))
    traced = scalar_of(value, what)
    if traced.element is u64:
        atom = current().apply("minimum", traced.atom, constant(MOST, u64))
        return current().cast(atom, i64)
    return extent_of(traced, what)


def _host(xs: Any, key: Any) -> object:
    """Integers and slices of a host array, and masks without elements, by NumPy."""
    if isinstance(xs, HostArray) and isinstance(key, HostArray | np.ndarray) and not key.size:
        return _by_no_mask(xs, key)
    parts = key if type(key) is tuple else (key,)
    if type(xs) not in HOST_ARRAYS or not all(type(part) in BASIC for part in parts):
        return NotImplemented
    values = in_memory(xs)
    if sum(type(part) in (int, slice) for part in parts) > values.ndim:
        return NotImplemented
    try:
        found = np.asarray(values[key])
    except (IndexError, OverflowError, TypeError, ValueError):
        return NotImplemented  # our message says more
    return over(found)


def _by_no_mask(xs: HostArray, mask: Any) -> object:
    """What a mask without elements selects; its extents of 0 fit every extent of the array."""
    pairs = zip(xs.shape, mask.shape, strict=False)
    if mask.dtype != np.bool_ or mask.ndim > xs.ndim or any(b not in (0, a) for a, b in pairs):
        return NotImplemented
    return host_array(np.zeros((0, *xs.shape[mask.ndim :]), xs.dtype))


@operation(host=_host)
def getitem(xs: Any, key: Any) -> Array:
    """`xs[key]`

    Types: `xs: t[..], key -> t[..]`, as `xs[key]`: integers, slices, None, `...`, index arrays,
    masks. Raises IndexOutOfBounds for an index outside.
    Source: Python's `operator.getitem`, by NumPy's rules of indexing.

        >>> fw.getitem(np.array([10, 20, 30]), slice(1, None))
        Array([20, 30], dtype=int64)
    """
    array = as_tracer(xs)
    parts = list(key) if isinstance(key, tuple) else [key]
    for part in parts:
        if isinstance(part, str):
            raise ArgumentError.here(
                f"an index is {part!r}, and an array has no fields.",
                "Indices are integers, slices, arrays of integers, and masks; dicts, and a Ragged"
                " of dicts, have fields.",
            )
        must_be_a_place(part)
    parts = [listed_index(part) for part in parts]
    parts = [as_tracer(part, "an index") if is_mask(part) else part for part in parts]
    if not any(map(is_mask, parts)):
        return _at(array, expanded(array, parts))
    if len(parts) == 1 and not is_single(parts[0]):
        return masked(array, parts[0])
    return _with_masks(*with_axes(array, expanded(array, parts)))


def _at(array: Tracer, parts: Sequence[Any]) -> Tracer:
    """The array at a key that may have an Ellipsis, which stands for no axis, between others."""
    gap = next((i for i, part in enumerate(parts) if part is Ellipsis), 0)
    kept = [part for part in parts if part is not Ellipsis]
    return _selected(array, _selectors(array, kept), gap)


def _with_masks(array: Tracer, parts: Sequence[Any]) -> Tracer:
    """A key of several parts, some of which are masks."""
    if not leads(parts):
        return _at(array, beside(array, parts))
    mask, *rest = parts
    check_extents(array, mask, 0)
    return masked(_at(array, [*[slice(None)] * mask.ndim, *rest]), mask)


def expanded(array: Tracer, parts: list[Any]) -> list[Any]:
    """The key with its Ellipsis replaced by whole slices, or extended by whole slices. An Ellipsis
    for no axis stays, since index arrays on either side of it are not adjacent."""
    used = sum(map(rank_in, parts))
    if sum(part is Ellipsis for part in parts) > 1:
        raise ArgumentError.here(
            "an index has more than one Ellipsis, which is each `...` in it.",
            "Keep one, and write : for the other axes.",
        )
    if used > array.ndim:
        raise ShapeError.here(
            f"{counted(used, 'index', 'indices')} for an array of type {describe(array)}, which"
            f" has {counted(array.ndim, 'axis', 'axes')}.",
            "Give at most one index for each axis.",
        )
    whole = [slice(None)] * (array.ndim - used)
    where = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:where], *(whole or parts[where : where + 1]), *parts[where + 1 :]]


def _selectors(array: Tracer, parts: Sequence[Any]) -> list[Selector]:
    """What each part of a key selects, in the order of the key."""
    axes = iter(array.extents)
    found: list[Selector] = []
    for part in parts:
        if part is None:
            found.append(None)
        elif isinstance(part, slice):
            found.append(sliced(part, next(axes)))
        elif isinstance(part, Held):
            next(axes)
            found.append(At(part.index, is_inside=True))
        else:
            next(axes)
            selected = as_tracer(part, "an index")
            if not selected.element.is_integer:
                raise ArgumentError.here(
                    f"an index must be an integer, got {describe(selected)}.",
                    "Convert it with astype(fw.i64).",
                )
            found.append(At(selected))
    return found


def sliced(part: slice, extent: Atom) -> Slice:
    """A Python slice of an axis: clipped to it, as Python's."""
    step = ONE if part.step is None else extent_of(part.step, "the step of a slice")
    if not isinstance(step, Const):
        return _either_way(part, extent, step)
    if step.value == 0:
        raise ArgumentError.here(NO_STEP, STEPS)
    if step.value < 0:
        return _backward(part, extent, step)
    start: Atom = ZERO
    cut = stop = extent
    if part.start is not None:
        start = _from_end(_bound(part.start, "the start of a slice"), extent)
    if part.stop is not None:
        stop = _bound(part.stop, "the stop of a slice")
        is_below = isinstance(stop, Const) and stop.value < 0
        cut = stop = _from_end(stop, extent)
        stop = stop if is_below else least(stop, extent)
    length = _count(sub(stop, start), step)
    if step == ONE and part.start is not None and part.stop is None:
        extents.known_part(length, extent, start, is_first=False)
    elif step == ONE and part.start is None and part.stop is not None:
        extents.known_part(length, extent, cut, is_first=True)
    return Slice(start, step, length)


def _either_way(part: slice, extent: Atom, step: Atom) -> Slice:
    """A slice whose step is known only at run time, of either sign."""
    scope = current()
    check(
        scope.apply("ne", step, ZERO), "argument", (step,), check_message(NO_STEP, [], STEPS)
    )
    back = scope.apply("lt", step, ZERO)
    low = scope.apply("select", back, index(-1), ZERO)
    high = scope.apply("select", back, sub(extent, ONE), extent)

    def bound(given: Any, what: str, otherwise: Atom) -> Atom:
        if given is None:
            return otherwise
        return least(greatest(_wrapped(_bound(given, what), extent), low), high)

    first = scope.apply("select", back, high, low)
    last = scope.apply("select", back, low, high)
    start = bound(part.start, "the start of a slice", first)
    stop = bound(part.stop, "the stop of a slice", last)
    distance = scope.apply("select", back, sub(start, stop), sub(stop, start))
    size = scope.apply("abs", greatest(step, index(1 - 2**63)))  # the least i64 has no opposite
    return Slice(start, step, _count(distance, size))


def _count(distance: Atom, size: Atom) -> Atom:
    """The length of a slice: how many steps fit the distance, 0 if that is negative."""
    length = greatest(distance, ZERO)
    if size != ONE:
        length = add(floordiv(sub(length, ONE), size), ONE)  # length + size - 1 may wrap
    extents.known_extent(length)
    return length


def _from_end(place: Atom, extent: Atom) -> Atom:
    """A bound of a slice: a negative one counts from the end, and is clipped at 0."""
    if isinstance(place, Const) and place.value < 0:
        return greatest(sub(extent, index(-int(place.value))), ZERO)
    if current().is_natural(place):
        return place
    return greatest(_wrapped(place, extent), ZERO)


def _wrapped(place: Atom, extent: Atom) -> Atom:
    """An index of which a negative one counts from the end."""
    below = current().apply("lt", place, ZERO)
    return current().apply("select", below, add(place, extent), place)


def _backward(part: slice, extent: Atom, step: Const) -> Slice:
    """A slice with a negative step: bounds are clipped to [-1, n-1]."""
    if part.start is None and part.stop is None and step.value == -1:
        return Slice(sub(extent, ONE), step, extent)
    last = sub(extent, ONE)
    minus_one = index(-1)
    start: Atom = last
    stop: Atom = minus_one
    if part.start is not None:
        start = _clipped_low(_bound(part.start, "the start of a slice"), extent, last)
    if part.stop is not None:
        stop = _clipped_low(_bound(part.stop, "the stop of a slice"), extent, last)
    size = index(min(-int(step.value), 2**63 - 1))
    return Slice(start, step, _count(sub(start, stop), size))


def _clipped_low(place: Atom, extent: Atom, last: Atom) -> Atom:
    return least(greatest(_wrapped(place, extent), index(-1)), last)


def _selected(array: Tracer, selectors: Sequence[Selector], gap: int = 0) -> Tracer:
    """The array read through one selector for each axis; a number is returned unchanged. Index
    arrays before and after the gap are not adjacent."""
    if not selectors:
        return array
    scalars = all(isinstance(s, At) and not s.index.ndim for s in selectors)
    if scalars:
        return element(array, [read_atom(s.index) for s in selectors if isinstance(s, At)])
    advanced = [i for i, s in enumerate(selectors) if isinstance(s, At)]
    indexed = [s.index for s in selectors if isinstance(s, At)]
    if all(s is None or (isinstance(s, Slice) and s.is_whole) for s in selectors):
        return _renamed(array, selectors)
    group = common_shape(indexed, "indexing") if any(i.ndim for i in indexed) else ()
    adjacent = bool(advanced) and advanced[-1] - advanced[0] == len(advanced) - 1
    adjacent = adjacent and not advanced[0] < gap <= advanced[-1]
    front = bool(group) and not adjacent
    shape: list[Atom] = list(group) if front else []
    places: list[int] = []  # where each slice's axis is in the result
    first_advanced = 0 if front else -1
    for i, selector in enumerate(selectors):
        if isinstance(selector, At):
            if group and not front and i == advanced[0]:
                first_advanced = len(shape)
                shape.extend(group)
            continue
        places.append(len(shape))
        shape.append(ONE if selector is None else selector.length)
    read_at = _reader(array, selectors, places, first_advanced, len(group))
    return generated(shape, read_at)[0]


def _renamed(array: Tracer, selectors: Sequence[Selector]) -> Tracer:
    """A selection without index arithmetic: whole axes, prefixes, new axes of extent 1."""
    shape = tuple(ONE if s is None else s.length for s in selectors if not isinstance(s, At))
    old = tuple(s.length for s in selectors if isinstance(s, Slice))
    if shape == array.extents:
        return array
    if not array.ndim:
        return generated(shape, lambda *at: array)[0]
    if old == array.extents:
        return emit(Reshape(array.atom, shape))[0]
    axes = [axis for axis, s in enumerate(selectors) if s is not None]
    return generated(
        shape,
        lambda *at: emit(Index(array.atom, tuple(at[axis] for axis in axes), checked=False))[0],
    )[0]


def _reader(
    array: Tracer, selectors: Sequence[Selector], places: Sequence[int], group: int, rank: int
) -> Callable[..., Tracer]:
    """The element that a selection reads for an index of its result."""

    def read_at(*at: Atom) -> Tracer:
        index_: list[Atom] = []
        must_check = False
        axis_of_slice = iter(places)
        axes = iter(array.extents)
        for selector in selectors:
            if selector is None:
                next(axis_of_slice)
                continue
            extent = next(axes)
            if isinstance(selector, Slice):
                index_.append(selector.at(at[next(axis_of_slice)]))
                continue
            own = read_stretched(selector.index, at[group : group + rank] if rank else ())
            if selector.is_inside:
                extents.known_natural(own.atom)
                index_.append(own.atom)
                continue
            place, must = from_start(read_atom(own), extent)
            must_check = must_check or must
            index_.append(place)
        return emit(Index(array.atom, tuple(index_), must_check))[0]

    return read_at
