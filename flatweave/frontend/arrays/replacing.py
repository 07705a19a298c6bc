"""Some elements of an array changed, or all of them moved: replace, shift, xs.at[key].set(v).

    replace(xs, key, v)       xs with xs[key] = v, for every key that xs[key] takes
    shift(xs, k, fill)        y[i] = xs[i + k], fill where that is outside
    xs.at[key].set(v)         fw.replace(xs, key, v), as JAX's users write it
    xs.at[key].add(v)         each value is added to the element at its index, indices may repeat
    xs.at[key].get()          xs[key]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import bool_
from flatweave.base.errors import ArgumentError
from flatweave.frontend.arrays.indexing import Slice, expanded, getitem, sliced
from flatweave.frontend.arrays.shapes import axis_of, raveled, repeated, reshaped
from flatweave.frontend.arrays.writing import permute, scatter
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, read, read_stretched, taken
from flatweave.frontend.elements.lambdas import shape_text
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import (
    arrays_of,
    as_tracer,
    as_tracers,
    extent_of,
    restructured,
    tracer_of,
)
from flatweave.frontend.values.array import METHODS, Array, Tracer
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Node, Tree
from flatweave.terms.syntax import Atom, Const, constant

FARTHEST = 1 << 62
"""A smaller constant distance and an index have a sum of 64 bits."""
WIDEST_STEP = 4
"""Of how many elements a slice must take one for its array to be gone through as a whole."""


@operation()
def replace(xs: Any, key: Any, values: Any) -> Array:
    """A copy of `xs` in which `xs[key]` is `values`: keys are integers, slices, index arrays and
    masks, as in `xs[key]`, and values are broadcast to what the key selects.

    `xs` may be a tuple of arrays of one shape; `values` is such a tuple then. If one index is
    selected twice, the last value wins. An index below 0 counts from the end, where `fw.scatter`
    drops it. In a Ragged one row is replaced, by one of any length. Raises IndexOutOfBounds for an
    index outside.

    Types: `xs: t[..], key, values: broadcast -> t[..]`. Source: `jax.numpy.ndarray.at`.

        >>> fw.replace(np.array([1, 2, 3]), slice(1, None), 0)
        Array([1, 0, 0], dtype=int64)
    """
    if isinstance(xs, Node):
        rows: Array = METHODS["with_row"](xs, key, values)
        return rows
    leaves, tree = arrays_of(xs, "xs of replace")
    given = _alike(values, leaves, tree, "the values of replace")
    return restructured(tree, [_replaced(x, key, v) for x, v in zip(leaves, given, strict=True)])


def _alike(values: Any, leaves: list[Tracer], tree: Tree, what: str) -> list[Tracer]:
    """Values in the structure and the dtypes of some arrays."""
    found, own = as_tracers(values, what)
    if own != tree:
        raise ArgumentError.here(
            f"{what} must have the structure {shape_text(tree, leaves)}, got"
            f" {shape_text(own, found)}.",
            "Give a tuple of values for a tuple of arrays.",
        )
    return [taken(value, x.element, what) for value, x in zip(found, leaves, strict=True)]


def _replaced(array: Tracer, key: Any, value: Tracer) -> Tracer:
    """The values are written at the indices of a key."""
    slices = wide_slices(array, key)
    if slices is not None:
        return in_slices(array, slices, value, lambda old, new: new)
    written = scatter(raveled(array), *placed(array, key, value))
    return reshaped(as_tracer(written), array.extents)


def wide_slices(array: Tracer, key: Any) -> list[Slice] | None:
    """What a key selects along each axis, where that is known to be a good part of any large array:
    every step is small, and no bound but the other end is far from either end."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not parts or not all(part is Ellipsis or _is_wide(part) for part in parts):
        return None
    whole = [part for part in expanded(array, parts) if part is not Ellipsis]
    return [sliced(part, extent) for part, extent in zip(whole, array.extents, strict=True)]


def _is_wide(part: Any) -> bool:
    if not isinstance(part, slice):
        return False
    if not all(bound is None or type(bound) is int for bound in (part.start, part.stop, part.step)):
        return False
    ends = (part.start or 0) >= 0 and (part.stop is None or part.stop < 0)
    return ends and 1 <= (1 if part.step is None else part.step) <= WIDEST_STEP


def in_slices(
    array: Tracer, slices: Sequence[Slice], value: Tracer,
    combine: Callable[[Tracer, Tracer], Array],
) -> Tracer:  # fmt: skip
    """Elements inside of slices combined with their values, others as they are: each asks where it
    is, so that what makes the array and its values fuses, and nothing is scattered."""
    lengths = [each.length for each in slices]
    if value.ndim:
        value = _fitted(value, lengths)

    def at(*place: Atom) -> Tracer:
        scope = current()
        inside: Atom = constant(True, bool_)
        own: list[Atom] = []
        for i, each, extent in zip(place, slices, array.extents, strict=True):
            number = extents.sub(i, each.start)
            if each.start != ZERO:
                inside = scope.apply("and", inside, scope.apply("ge", i, each.start))
            if each.step != ONE:
                rest = extents.mod(number, each.step)
                inside = scope.apply("and", inside, scope.apply("eq", rest, ZERO))
                number = extents.floordiv(number, each.step)
            if each.length != extent:
                inside = scope.apply("and", inside, scope.apply("lt", number, each.length))
            own.append(number)
        old = read(array, place)
        if isinstance(inside, Const):
            return as_tracer(combine(old, read_stretched(value, own)))
        return as_tracer(METHODS["cond"](
            tracer_of(inside), lambda: combine(old, read_stretched(value, own)), lambda: old
        ))  # fmt: skip

    return generated(array.extents, at)[0]


def _fitted(value: Tracer, shape: Sequence[Atom]) -> Tracer:
    """A value for each element that a key selects."""
    return repeated(
        value, shape, "{0} values are assigned along an axis of {1} elements.",
        "Give as many values as the key selects, or one for all of them.",
    )  # fmt: skip


def placed(array: Tracer, key: Any, value: Tracer) -> tuple[Tracer, Tracer]:
    """The indices that a key selects, in row-major order, and a value for each, or one for all. To
    find them, an array of every element's index is read under the key."""
    shape = array.extents
    all_places = generated(shape, lambda *at: tracer_of(_place(at, shape)))[0]
    places = as_tracer(getitem(all_places, key))
    if value.ndim:
        value = _fitted(value, places.extents)
    if places.ndim > 1:
        value = raveled(value) if value.ndim else value
        places = raveled(places)
    return places, value


def _place(at: tuple[Atom, ...], shape: tuple[Atom, ...]) -> Atom:
    """Where an element is in row-major order."""
    place: Atom = ZERO
    for i, extent in zip(at, shape, strict=True):
        place = extents.add(extents.mul(place, extent), i)
    extents.known_natural(place)
    return place


@operation(static="axis")
def shift(xs: Any, k: Any, fill: Any = None, axis: int = 0) -> Array:
    """`shift(xs, k, fill)[i] = xs[i + k]`, and `fill` where that is outside; without a `fill` the
    nearest element. Moved to the left by `k`, which may be negative: see `rotate` for a ring.

    `xs` may be a tuple of arrays of one shape; `fill` is a tuple of numbers then.

    Types: `xs: t[n, ..], k: integer, fill: t -> t[n, ..]`. Raises AxisError for an axis that is not
    there. Source: EmbArBB's `shift` (Svensson 2013).

        >>> fw.shift(np.array([1, 2, 3]), 1, 0)
        Array([2, 3, 0], dtype=int64)
    """
    leaves, tree = arrays_of(xs, "xs of shift")
    by = tracer_of(extent_of(k, "the distance of shift"))
    if fill is None:
        return restructured(tree, [_shifted(x, by, None, axis) for x in leaves])
    given = _alike(fill, leaves, tree, "the fill of shift")
    pairs = zip(leaves, given, strict=True)
    return restructured(tree, [_shifted(x, by, fill, axis) for x, fill in pairs])


def _shifted(array: Tracer, by: Tracer, fill: Tracer | None, axis: int) -> Tracer:
    number = axis_of(array, axis, "shift")
    extent = array.extents[number]
    last = extents.sub(extent, ONE)
    step = _without_overflow(by, extent)

    def at(*i: Atom) -> Tracer:
        place = tracer_of(i[number]) + step
        before, behind = place < 0, place > tracer_of(last)
        near = as_tracer(where(before, 0, where(behind, tracer_of(last), place)))
        found = read(array, (*i[:number], near.atom, *i[number + 1 :]))
        return found if fill is None else as_tracer(where(before | behind, fill, found))

    return generated(array.extents, at)[0]


def _without_overflow(by: Tracer, extent: Atom) -> Tracer:
    """The distance, between -extent and extent; constants are kept: their reads are contiguous."""
    if isinstance(by.atom, Const) and abs(by.atom.value) < FARTHEST:
        return by
    least, most = tracer_of(extents.sub(ZERO, extent)), tracer_of(extent)
    return as_tracer(where(by < least, least, where(by > most, most, by)))


OPERATORS = {"add": "add", "multiply": "mul", "min": "minimum", "max": "maximum"}


class At:
    """The elements of an array, to be selected by a key: `xs.at[key]`."""

    __slots__ = ("_xs",)

    def __init__(self, xs: Any) -> None:
        self._xs = xs

    def __getitem__(self, key: Any) -> Chosen:
        return Chosen(self._xs, key)


class Chosen:
    """Selected elements of an array: each method gives a copy, or updates a dead array in place."""

    __slots__ = ("_key", "_xs")

    def __init__(self, xs: Any, key: Any) -> None:
        self._xs = xs
        self._key = key

    def get(self) -> Array:
        """The elements."""
        selected: Array = self._xs[self._key]
        return selected

    def set(self, values: Any) -> Array:
        """The array with these values there."""
        return METHODS["replace"](self._xs, self._key, values)

    def add(self, values: Any) -> Array:
        """The array with these values added there."""
        return update(self._xs, self._key, values, "add")

    def multiply(self, values: Any) -> Array:
        """The array with its elements there multiplied by these values."""
        return update(self._xs, self._key, values, "multiply")

    def min(self, values: Any) -> Array:
        """The array with the lesser of its elements there and these values."""
        return update(self._xs, self._key, values, "min")

    def max(self, values: Any) -> Array:
        """The array with the greater of its elements there and these values."""
        return update(self._xs, self._key, values, "max")


@operation()
def update(xs: Any, key: Any, values: Any, how: str) -> Array:
    """A copy of `xs` in which `values` are combined with the elements at the indices of a key."""
    array = as_tracer(xs, f"the array of at[..].{how}")
    what = f"the values of at[..].{how}"
    value = taken(as_tracer(values, what), array.element, what)
    slices = wide_slices(array, key)
    if slices is not None:
        return in_slices(array, slices, value, METHODS[OPERATORS[how]])
    places, value = placed(array, key, value)
    combined = permute(METHODS[OPERATORS[how]], raveled(array), places, value)
    return reshaped(as_tracer(combined), array.extents)


METHODS["at"] = At
