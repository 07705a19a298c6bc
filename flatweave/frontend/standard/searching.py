"""Places of elements, and sets of them, under the standard's names.

The lengths of results depend on values, in jitted functions, too.
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.columns import compacted
from flatweave.frontend.arrays.shapes import axis_of, raveled, reshaped
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, met, place_along, read_stretched
from flatweave.frontend.elements.elementwise import clz, maximum, minimum
from flatweave.frontend.elements.scalars import where as chosen
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, same_length
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.arguments import common
from flatweave.frontend.values.array import Array, Tracer, describe, shown
from flatweave.terms.syntax import Atom


@operation()
def nonzero(x: Any) -> tuple[Array, ...]:
    """Where the elements are not 0: a tuple of indices along each axis, in row-major order.

    Types: `x: t[..] ->` a tuple of `i64[k]`, one for each axis. Raises ShapeError for a scalar.
    Source: `numpy.nonzero`.

        >>> fw.nonzero([5, 0, 7])
        (Array([0, 2], dtype=int64),)
    """
    array = as_tracer(x, "x of nonzero")
    if not array.ndim:
        raise ShapeError.here("nonzero of a number has no indices.", "Compare it: x != 0.")
    flat = raveled(array)
    mask = as_tracer(flat if array.element is bool_ else flat != 0)
    (places,) = compacted(mask, [as_tracer(iota(flat.shape[0]))])
    if array.ndim == 1:
        return (places,)
    found = map(
        lambda k: tuple(tracer_of(i) for i in extents.unravel(k.atom, array.extents)), places
    )
    return tuple(found)


def where(p: Any, a: Any = None, b: Any = None) -> Any:
    """`a` where `p` holds, else `b`, element by element, broadcast; both are computed. With `p`
    alone the indices where it holds, as `nonzero` gives them.

    Two tuples, dicts, NamedTuples or dataclasses of one structure give a third, each part chosen.
    Numbers hold where they are not zero. For one of two computations see `cond`.

    Types: `p: bool[..], a: s[..], b: t[..] -> r[..]`, broadcast and promoted; of `p` alone a tuple
    of `i64[k]`. Raises ShapeError for shapes that do not fit, ArgumentError for one choice.
    Source: `numpy.where`.

        >>> fw.where([True, False], 1, [10, 20])
        Array([ 1, 20], dtype=int64)
        >>> fw.where([True, False, True])
        (Array([0, 2], dtype=int64),)
    """
    if a is None and b is None:
        return nonzero(p)
    if a is None or b is None:
        raise ArgumentError.here(
            "where got one choice.", "Give two, fw.where(p, a, b), or none for indices."
        )
    return chosen(p, a, b)


@operation(static="axis mode")
def take(x: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Array:
    """The elements, or rows along `axis`, at some indices; without an axis of all elements in
    row-major order. With `mode` "wrap" indices are counted modulo the length, with "clip" those
    outside are those of the ends.

    Types: `x: t[n], indices: integer[..] -> t[..]`. Raises IndexOutOfBounds, ArgumentError for
    another mode. Source: `numpy.take`.

        >>> fw.take([10, 20, 30], [2, 0])
        Array([30, 10], dtype=int64)
    """
    array = as_tracer(x, "x of take")
    array = raveled(array) if axis is None else array
    at = 0 if axis is None else axis_of(array, axis, "take")
    places = as_tracer(indices, "the indices of take")
    if places.element is bool_ or (isinstance(indices, list) and not indices):  # no mask, no floats
        places = places.astype(i64)
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError.here(
            f"mode of take is raise, wrap or clip, got {shown(mode)}.", 'Leave it out for "raise".'
        )
    last = as_tracer(array.shape[at]) - 1
    if mode == "wrap":
        places = places.astype(i64) % (last + 1)
    elif mode == "clip":
        places = as_tracer(minimum(maximum(places.astype(i64), 0), last))
    return array[(*[slice(None)] * at, places)]


@operation(static="axis")
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Array:
    """At each position of `indices`, the element that has this index along `axis`; with None an
    element of all, in row-major order. Other axes are broadcast.

    Types: `x: t[.., n, ..], indices: integer[.., k, ..] -> t[.., k, ..]`. Raises IndexOutOfBounds
    for an index outside, ShapeError where other extents differ. Source: `numpy.take_along_axis`.

        >>> fw.take_along_axis([[1, 2], [3, 4]], np.array([[1], [0]]))
        Array([[2],
               [3]], dtype=int64)
    """
    array, places = as_tracer(x, "x of take_along_axis"), as_tracer(indices, "the indices")
    if axis is None:
        array, axis = raveled(array), 0
    if array.ndim != places.ndim:
        raise ShapeError.here(
            f"take_along_axis needs as many axes of both, got {describe(array)} and "
            f"{describe(places)}.",
            "Add axes with fw.expand_dims.",
        )
    at = axis_of(array, axis, "take_along_axis")
    shape = list(places.extents)
    for k, (own, other) in enumerate(zip(places.extents, array.extents, strict=True)):
        if k != at and own == ONE:
            shape[k] = other
        elif k != at and other != ONE:
            shape[k] = met(
                (own, other), f"along axis {k} take_along_axis got {{0}} indices for {{1}}"
                " elements.", [], "Give as many, or one for all.", (own, other),
            )  # fmt: skip

    def element(*i: Atom) -> Tracer:
        own = read_stretched(places, i)
        others = [tracer_of(place_along(e, j)) for e, j in zip(array.extents, i, strict=True)]
        return array[(*others[:at], own, *others[at + 1 :])]

    return generated(shape, element)[0]


@operation(static="side")
def searchsorted(x1: Any, x2: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where values belong in ascending ones: before their equals ("left") or after ("right").

    NaN comes last, as `sort` puts it. `sorter` is what `argsort` gives for values that are not
    ascending.

    Types: `x1: t[n], x2: t[..], sorter: integer[n] -> i64[..]`. Raises ArgumentError for another
    side, ShapeError unless x1 has one axis and the sorter its length. Source: `numpy.searchsorted`.

        >>> fw.searchsorted([10, 20, 30], [5, 20])
        Array([0, 1], dtype=int64)
    """
    if side not in ("left", "right"):
        raise ArgumentError.here(
            f'side of searchsorted is "left" or "right", got {side!r}.', 'Leave it out for "left".'
        )
    keys = _row(
        x1, "what searchsorted looks in",
        "searchsorted looks in one row of ascending values, got {}.",
        "Map it over the rows: fw.map(fw.searchsorted, xs, ys).",
    )  # fmt: skip
    values = as_tracer(x2, "the values of searchsorted")
    if sorter is not None:
        order = _row(
            sorter, "the sorter", "the sorter of searchsorted has one axis, got {}.",
            "Give what fw.argsort(x1) gives.",
        )  # fmt: skip
        same_length([keys, order], "searchsorted", ["x1", "sorter"])
        keys = keys[order]
    n = keys.shape[0]
    turns = 64 - clz(n)
    is_float = common([keys, values])[0].is_float

    def place(value: Any) -> Array:
        def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) // 2
            key = keys[chosen(middle < n, middle, 0)]
            below = _is_below(key, value, side == "left", is_float) & (low < high)
            return chosen(below, middle + 1, low), chosen(below | (low >= high), high, middle)

        zero: Array = tracer_of(extents.ZERO)
        return chosen(n == 0, 0, fori_loop(0, chosen(n == 0, 0, turns), halve, (zero, n))[0])

    flat = raveled(values)
    found = map(place, flat)
    return found if values.ndim == 1 else reshaped(as_tracer(found), values.extents)


def _row(x: Any, name: str, message: str, remedy: str) -> Tracer:
    """An array of one axis; ShapeError for any other."""
    array = as_tracer(x, name)
    if array.ndim != 1:
        raise ShapeError.here(message.format(describe(array)), remedy)
    return array


def _is_below(key: Array, value: Array, is_left: bool, is_float: bool) -> Array:
    """Whether a value belongs after a key, NaN being the greatest."""
    if not is_float:
        return key < value if is_left else key <= value
    if is_left:
        return (key == key) & ~(key >= value)
    return (value != value) | (key <= value)
