"""Where values are, how often they occur, and sets of them, under NumPy's names.

Sets are arrays that ascend; the array API standard has some of them:

    distinct([3, 1, 3])      values [1, 3], first at [1, 0], each of them [1, 0, 1], counts [1, 2]

How many there are depends on values, in jitted functions, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flatweave as fw
from flatweave.numpy_functions import along, is_complex, operand, row_of


@fw.operation()
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> fw.Array:
    """How often each number from 0 to the greatest occurs, or the sum of the weights there.

    Types: `x: integer[n], weights: t[n] -> i64[k]`, of weights `f64[k]`; k is the greatest number
    and 1, or `minlength` if that is more. Raises DTypeError for numbers that are no integers,
    ArgumentError for one below 0, ShapeError unless x and the weights are rows of one length,
    NegativeExtentError for a `minlength` below 0. Source: `numpy.bincount`.

        >>> fw.bincount([1, 3, 1])
        Array([0, 2, 0, 1], dtype=int64)
    """
    array = row_of(x, "x of bincount")
    if array.dtype == fw.bool_ or (isinstance(x, list) and not x):
        array = array.astype(fw.i64)
    if not fw.isdtype(array.dtype, "integral"):
        raise fw.DTypeError.here(
            f"bincount counts integers, got {array.dtype}.", "Round first, with x.astype(fw.i64)."
        )
    counted: Any = 1
    if weights is not None:
        row = row_of(weights, "the weights of bincount")
        counted = along(row, array, [0], "the weights of bincount").astype(fw.f64)
    least = fw.min(array, initial=0)
    fw.check(
        least >= 0, "bincount counts numbers from 0 on, the least is {0}.", least,
        remedy="Subtract the least first.",
    )  # fmt: skip
    fw.check(
        fw.greater_equal(minlength, 0), "minlength of bincount must not be negative, got {0}.",
        minlength, error=fw.NegativeExtentError, remedy="Leave it out for 0.",
    )  # fmt: skip
    most = fw.max(array, initial=0).astype(fw.i64)
    return fw.histogram(fw.maximum(most + (array.shape[0] > 0), minlength), array, counted)


@fw.operation(static="right")
def digitize(x: Any, bins: Any, right: bool = False) -> fw.Array:
    """In which bin each value lies: how many of the edges, which ascend or descend, are before it.

    With `right` an edge belongs to the bin before it. NaN is greater than every number.

    Types: `x: t[..], bins: t[n] -> i64[..]`. Raises ShapeError unless bins has one axis,
    ArgumentError for edges that neither ascend nor descend. Source: `numpy.digitize`.

        >>> fw.digitize([0.5, 1.0, 7.0], [0.0, 1.0, 2.0])
        Array([1, 2, 3], dtype=int64)
    """
    edges = row_of(bins, "bins of digitize")
    n = edges.shape[0]
    before, after = edges[:-1], edges[1:]
    ascends = fw.all((before <= after) | fw.isnan(after))
    descends = fw.all((before >= after) | fw.isnan(before))
    message = "the edges of digitize neither ascend nor descend."
    fw.check(ascends | descends, message, remedy="Sort them.")
    side = "left" if right else "right"
    return fw.cond(
        ~ascends,
        lambda: n - fw.searchsorted(edges[::-1], x, side=side),
        lambda: fw.searchsorted(edges, x, side=side),
    )


@fw.operation()
def argwhere(x: Any) -> fw.Array:
    """The indices of the elements that are not 0, a row for each.

    Types: `x: t[..] -> i64[k, rank]`. Raises ArgumentError for what is no array.
    Source: `numpy.argwhere`.

        >>> fw.argwhere([[0, 3], [5, 0]])
        Array([[0, 1],
               [1, 0]], dtype=int64)
    """
    array = fw.asarray(x)
    if not array.ndim:
        return argwhere(fw.reshape(array, 1))[:, :0]
    return fw.stack(fw.nonzero(array), axis=1)


@fw.operation()
def flatnonzero(x: Any) -> fw.Array:
    """Where the elements are not 0, counted in row-major order.

    Types: `x: t[..] -> i64[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.flatnonzero`.

        >>> fw.flatnonzero([[0, 3], [5, 0]])
        Array([1, 2], dtype=int64)
    """
    return fw.nonzero(fw.reshape(fw.asarray(x), -1))[0]


class UniqueAll(NamedTuple):
    """The different values, where each is first, which one each element is, and how many."""

    values: fw.Array
    indices: fw.Array
    inverse_indices: fw.Array
    counts: fw.Array


class UniqueCounts(NamedTuple):
    """The different values, and how many there are of each."""

    values: fw.Array
    counts: fw.Array


class UniqueInverse(NamedTuple):
    """The different values, and which one each element is."""

    values: fw.Array
    inverse_indices: fw.Array


def distinct(x: Any, equal_nan: bool = False) -> UniqueAll:
    """The different values in ascending order; each NaN is one of them, or all are one. A complex
    number is NaN where either part is."""
    return UniqueAll(*_distinct(x, equal_nan))


@fw.operation(any_dtype=True, static="equal_nan", name="unique")
def _distinct(x: Any, equal_nan: bool) -> tuple[fw.Array, ...]:
    array = fw.asarray(x)
    flat = array if array.ndim == 1 else fw.reshape(array, -1)
    is_pair = is_complex(flat)
    groups = fw.group_by(_order_of(flat) if is_pair else flat)
    index, sizes = groups.index, groups.sizes
    first = fw.segment_min(fw.iota(flat.shape[0]), index, sizes.shape[0])
    values = flat[first] if is_pair else groups.keys
    if is_pair or (not equal_nan and fw.isdtype(flat.dtype, "real floating")):
        known = fw.sum(~fw.isnan(values))  # NaN is after the others
        lost = fw.flatnonzero(fw.isnan(flat))
        lost = lost[fw.argsort(index[lost])] if is_pair else lost
        index = fw.scatter(index, lost, known + (0 if equal_nan else fw.iota(lost.shape[0])))
        lost = lost[:1] if equal_nan else lost
        first, values = fw.concat([first[:known], lost]), fw.concat([values[:known], flat[lost]])
        sizes = fw.histogram(first.shape[0], index)
    return values, first, fw.reshape(index, array.shape), sizes


def _order_of(z: fw.Array) -> tuple[fw.Array, fw.Array, fw.Array]:
    """What complex numbers are ordered by: those with NaN last, then the real and imaginary part.
    """
    real, imag = fw.real(z), fw.imag(z)
    lost = fw.where(fw.isnan(real), 2, 0) + fw.where(fw.isnan(imag), 1, 0)
    return lost.astype(fw.u8), real, imag


@fw.operation(static="invert")
def isin(x1: Any, x2: Any, *, invert: bool = False) -> fw.Array:
    """Whether each element of the one is among those of the other; with `invert`, whether not.

    Types: `x1: t[..], x2: t[..k] -> bool[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.isin`.

        >>> fw.isin([1, 2, 3], [3, 1])
        Array([ True, False,  True], dtype=bool)
    """
    values, among = operand(x1), operand(x2)
    dtype = fw.result_type(values, among)
    dtype = fw.u8 if dtype == fw.bool_ else dtype
    values, among = fw.astype(values, dtype), fw.reshape(fw.astype(among, dtype), -1)
    flat = fw.reshape(values, -1)
    by = _in_table if fw.isdtype(dtype, "integral") else _are_keys
    present = fw.reshape((_are_among if is_complex(values) else by)(flat, among), values.shape)
    return ~present if invert else present


def _are_among(values: fw.Array, among: fw.Array) -> fw.Array:
    """Whether each of some complex numbers is one of others: both are numbered together."""
    count = values.shape[0]
    numbers = distinct(fw.concat([values, among])).inverse_indices
    return _in_table(numbers[:count], numbers[count:])


ROOM = 2
"""A table says which integers there are if it has at most this number of slots for each."""


def _in_table(values: fw.Array, among: fw.Array) -> fw.Array:
    """Whether each integer is one of others, which a table tells if they are near each other."""
    info = fw.iinfo(among.dtype)
    least = fw.min(among, initial=info.max).astype(fw.u64)

    def slot(value: fw.Array) -> fw.Array:
        return (value.astype(fw.u64) - least).astype(fw.i64)

    last = slot(fw.max(among, initial=info.min))

    def by_table() -> fw.Array:
        held = fw.scatter(fw.full(last + 1, False), slot(among), fw.full(among.shape, True))
        return fw.gather(held, slot(values), default=False)

    few = (last >= 0) & (last < ROOM * (values.shape[0] + among.shape[0]))
    return fw.cond(few, by_table, lambda: _are_keys(values, among), same=True)


def _are_keys(values: fw.Array, among: fw.Array) -> fw.Array:
    """Whether each value is one of others, which are searched in order."""
    keys = fw.sort(among)
    at = fw.searchsorted(keys, values)
    return (at < keys.shape[0]) & (fw.gather(keys, at, default=0) == values)


@fw.operation(any_dtype=True)
def unique_all(x: Any) -> UniqueAll:
    """The different values, ascending, where each is first, which one each element is, and how many
    there are of each; a NaN is different from every other.

    Types: `x: t[..] -> (values: t[k], indices: i64[k], inverse_indices: i64[..], counts: i64[k])`.
    Raises ArgumentError for what is no array. Source: `numpy.unique_all`.

        >>> fw.unique_all([3, 1, 3]).counts
        Array([1, 2], dtype=int64)
    """
    return distinct(x)


@fw.operation(any_dtype=True)
def unique_counts(x: Any) -> UniqueCounts:
    """The different values, ascending, and how many there are of each.

    Types: `x: t[..] -> (values: t[k], counts: i64[k])`. Raises ArgumentError for what is no array.
    Source: `numpy.unique_counts`.

        >>> fw.unique_counts([3, 1, 3]).values
        Array([1, 3], dtype=int64)
    """
    found = distinct(x)
    return UniqueCounts(found.values, found.counts)


@fw.operation(any_dtype=True)
def unique_inverse(x: Any) -> UniqueInverse:
    """The different values, ascending, and which one each element is.

    Types: `x: t[..] -> (values: t[k], inverse_indices: i64[..])`. Raises ArgumentError for what is
    no array. Source: `numpy.unique_inverse`.

        >>> fw.unique_inverse([3, 1, 3]).inverse_indices
        Array([1, 0, 1], dtype=int64)
    """
    found = distinct(x)
    return UniqueInverse(found.values, found.inverse_indices)


@fw.operation(any_dtype=True)
def unique_values(x: Any) -> fw.Array:
    """The different values, ascending; a NaN is different from every other.

    Types: `x: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.unique_values`.

        >>> fw.unique_values([3, 1, 3])
        Array([1, 3], dtype=int64)
    """
    return distinct(x).values


@fw.operation(any_dtype=True, static="return_index return_inverse return_counts equal_nan")
def unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    *, equal_nan: bool = True,
) -> fw.Array | tuple[fw.Array, ...]:  # fmt: skip
    """The different values, ascending; asked for, also where each is first, which one each element
    is, and how many there are of each, in a tuple.

    Types: `x: t[..] -> t[k]`, or `(t[k], i64[k], i64[..], i64[k])`. Raises ArgumentError for what
    is no array. Source: `numpy.unique`.

        >>> fw.unique([3, 1, 3], return_counts=True)
        (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    found = distinct(x, equal_nan)
    wanted = (True, return_index, return_inverse, return_counts)
    parts = tuple(part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return parts[0] if len(parts) == 1 else parts


@fw.operation(any_dtype=True)
def union1d(a: Any, b: Any) -> fw.Array:
    """The different values in either array, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.union1d`.

        >>> fw.union1d([3, 1], [2, 3])
        Array([1, 2, 3], dtype=int64)
    """
    return distinct(fw.concat([fw.asarray(a), fw.asarray(b)], None), equal_nan=True).values


def _of_both(a: Any, b: Any) -> UniqueAll:
    """The different values of two arrays; of each in how many of them it is, a NaN in one."""
    return distinct(fw.concat([distinct(x, equal_nan=True).values for x in (a, b)]))


@fw.operation(any_dtype=True)
def intersect1d(a: Any, b: Any) -> fw.Array:
    """The different values that are in both arrays, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.intersect1d`.

        >>> fw.intersect1d([3, 1, 3], [2, 3])
        Array([3], dtype=int64)
    """
    found = _of_both(a, b)
    return found.values[found.counts == 2]


@fw.operation(any_dtype=True)
def setdiff1d(a: Any, b: Any) -> fw.Array:
    """The different values of the first array that are not in the second, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.setdiff1d`.

        >>> fw.setdiff1d([3, 1, 3], [2, 3])
        Array([1], dtype=int64)
    """
    values = distinct(a, equal_nan=True).values
    return values[~fw.isin(values, b)]


@fw.operation(any_dtype=True)
def setxor1d(a: Any, b: Any) -> fw.Array:
    """The different values that are in one of two arrays, ascending.

    A NaN is equal to no other: where both have one, so has the result twice.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.setxor1d`.

        >>> fw.setxor1d([3, 1], [2, 3])
        Array([1, 2], dtype=int64)
    """
    found = _of_both(a, b)
    return found.values[found.counts == 1]
