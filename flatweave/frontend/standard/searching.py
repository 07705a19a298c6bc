"""Places of elements, and sets of them, under the standard's names.

The lengths of results depend on values, in jitted functions, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flatweave.base.dtypes import bool_, i64, u8
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import converted
from flatweave.frontend.arrays.columns import compacted, unravel
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_of, raveled, reshape, reshaped
from flatweave.frontend.arrays.sorting import argsort, sort, sort_by_key
from flatweave.frontend.arrays.sources import full, iota
from flatweave.frontend.arrays.writing import scatter
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.broadcasting import generated, met, place_along, read_stretched
from flatweave.frontend.elements.elementwise import clz, isnan
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import filter, map
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.functions.scans import cumsum
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, same_length
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.promotion import common
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
        raise ShapeError(
            "nonzero of a number has no indices.",
            where=user_location(), remedy="Compare it: x != 0.",
        )  # fmt: skip
    flat = raveled(array)
    mask = as_tracer(flat if array.element is bool_ else flat != 0)
    (places,) = compacted(mask, [as_tracer(iota(flat.shape[0]))])
    if array.ndim == 1:
        return (places,)
    found = map(
        lambda k: tuple(tracer_of(i) for i in unravel(k.atom, array.extents)), places
    )
    return tuple(found)


@operation(static="axis")
def take(x: Any, indices: Any, axis: Any = None) -> Array:
    """The elements, or rows along `axis`, at some indices; without an axis of all elements in
    row-major order.

    Types: `x: t[n], indices: integer[..] -> t[..]`. Raises IndexOutOfBounds. Source: `numpy.take`.

        >>> fw.take([10, 20, 30], [2, 0])
        Array([30, 10], dtype=int64)
    """
    array = as_tracer(x, "x of take")
    array = raveled(array) if axis is None else array
    at = 0 if axis is None else axis_of(array, axis, "take")
    places = as_tracer(indices, "the indices of take")
    if places.element is bool_ or (isinstance(indices, list) and not indices):  # no mask, no floats
        places = places.astype(i64)
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
        raise ShapeError(
            f"take_along_axis needs as many axes of both, got {describe(array)} and "
            f"{describe(places)}.",
            where=user_location(), remedy="Add axes with fw.expand_dims.",
        )  # fmt: skip
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
        raise ArgumentError(
            f'side of searchsorted is "left" or "right", got {side!r}.',
            where=user_location(), remedy='Leave it out for "left".',
        )  # fmt: skip
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
            key = keys[where(middle < n, middle, 0)]
            below = _is_below(key, value, side == "left", is_float) & (low < high)
            return where(below, middle + 1, low), where(below | (low >= high), high, middle)

        zero: Array = tracer_of(extents.ZERO)
        return where(n == 0, 0, fori_loop(0, where(n == 0, 0, turns), halve, (zero, n))[0])

    flat = raveled(values)
    found = map(place, flat)
    return found if values.ndim == 1 else reshaped(as_tracer(found), values.extents)


def _row(x: Any, name: str, message: str, remedy: str) -> Tracer:
    """An array of one axis; ShapeError for any other."""
    array = as_tracer(x, name)
    if array.ndim != 1:
        raise ShapeError(message.format(describe(array)), where=user_location(), remedy=remedy)
    return array


def _is_below(key: Array, value: Array, is_left: bool, is_float: bool) -> Array:
    """Whether a value belongs after a key, NaN being the greatest."""
    if not is_float:
        return key < value if is_left else key <= value
    if is_left:
        return (key == key) & ~(key >= value)
    return (value != value) | (key <= value)


@for_complex
@operation(static="invert")
def isin(x1: Any, x2: Any, *, invert: bool = False) -> Array:
    """Whether each element of the one is among those of the other; with `invert`, whether not.

    Types: `x1: t[..], x2: t[..k] -> bool[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.isin`.

        >>> fw.isin([1, 2, 3], [3, 1])
        Array([ True, False,  True], dtype=bool)
    """
    values = either(x1, "the elements of isin")
    among = either(x2, "what isin looks in")
    if isinstance(values, Complex) or isinstance(among, Complex):
        present = reshape(_are_among(reshape(values, -1), reshape(among, -1)), values.shape)
        return ~present if invert else present
    own, others = as_tracer(values), as_tracer(among)
    dtype = common([own, others])[0]
    keys = sort(converted(raveled(others), dtype))
    wanted = converted(raveled(own), dtype)
    n = keys.shape[0]

    def holds(value: Tracer, at: Tracer) -> Array:
        return cond(at < n, lambda: keys[at] == value, lambda: as_tracer(False))

    found = map(holds, wanted, searchsorted(keys, wanted))
    shaped = reshaped(as_tracer(found), own.extents)
    return ~shaped if invert else shaped


def _are_among(values: Any, among: Any) -> Array:
    """Whether each of some complex numbers is one of others: both are numbered together."""
    count, total = values.shape[0], values.shape[0] + among.shape[0]
    numbers = distinct(concat([values, among]), "isin").inverse_indices
    found = scatter(full(total, False), numbers[count:], full(among.shape[0], True))
    return found[numbers[:count]]


class UniqueAll(NamedTuple):
    """The different values, where each is first, which one each element is, and how many."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The different values, and how many there are of each."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The different values, and which one each element is."""

    values: Array
    inverse_indices: Array


def distinct(x: Any, who: str, equal_nan: bool = False) -> UniqueAll:
    """The different values in ascending order; each NaN is one of them, or all are one."""
    array = either(x, f"x of {who}")
    flat: Any = array if array.ndim == 1 else reshape(array, -1)
    n = flat.shape[0]
    order: Array
    ascending: Array
    if isinstance(flat, Complex):
        order = argsort(_order_of(flat))
        ascending = flat[order]
    else:
        ascending, order = sort_by_key(flat, iota(n))

    def is_first(i: Tracer) -> Array:
        value, before = ascending[i], ascending[where(i == 0, 0, i - 1)]
        same = value == before
        if equal_nan:
            same = same | ((value != value) & (before != before))
        return (i == 0) | ~same

    first = map(is_first, iota(n))
    begins = filter(lambda i: first[i], iota(n))
    numbers = cumsum(first.astype(i64)) - 1
    count = begins.shape[0]
    ends = map(lambda k: where(k + 1 < count, begins[where(k + 1 < count, k + 1, k)], n),
               iota(count))  # fmt: skip
    inverse = scatter(full(n, 0), order, numbers)
    return UniqueAll(
        ascending[begins], order[begins], reshape(inverse, array.shape), ends - begins
    )


def _order_of(z: Complex) -> tuple[Array, Array, Array]:
    """What complex numbers are ordered by: those with NaN last, then the real and imaginary part.
    """
    lost = where(isnan(z.real), 2, 0) + where(isnan(z.imag), 1, 0)
    return lost.astype(u8), z.real, z.imag


@for_complex
@operation()
def unique_all(x: Any) -> UniqueAll:
    """The different values, ascending, where each is first, which one each element is, and how many
    there are of each; a NaN is different from every other.

    Types: `x: t[..] -> (values: t[k], indices: i64[k], inverse_indices: i64[..], counts: i64[k])`.
    Raises ArgumentError for what is no array. Source: `numpy.unique_all`.

        >>> fw.unique_all([3, 1, 3]).counts
        Array([1, 2], dtype=int64)
    """
    return distinct(x, "unique_all")


@for_complex
@operation()
def unique_counts(x: Any) -> UniqueCounts:
    """The different values, ascending, and how many there are of each.

    Types: `x: t[..] -> (values: t[k], counts: i64[k])`. Raises ArgumentError for what is no array.
    Source: `numpy.unique_counts`.

        >>> fw.unique_counts([3, 1, 3]).values
        Array([1, 3], dtype=int64)
    """
    found = distinct(x, "unique_counts")
    return UniqueCounts(found.values, found.counts)


@for_complex
@operation()
def unique_inverse(x: Any) -> UniqueInverse:
    """The different values, ascending, and which one each element is.

    Types: `x: t[..] -> (values: t[k], inverse_indices: i64[..])`. Raises ArgumentError for what is
    no array. Source: `numpy.unique_inverse`.

        >>> fw.unique_inverse([3, 1, 3]).inverse_indices
        Array([1, 0, 1], dtype=int64)
    """
    found = distinct(x, "unique_inverse")
    return UniqueInverse(found.values, found.inverse_indices)


@for_complex
@operation()
def unique_values(x: Any) -> Array:
    """The different values, ascending; a NaN is different from every other.

    Types: `x: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.unique_values`.

        >>> fw.unique_values([3, 1, 3])
        Array([1, 3], dtype=int64)
    """
    return distinct(x, "unique_values").values
