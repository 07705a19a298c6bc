"""Sets of values, in arrays that ascend, under NumPy's names and those of the array API standard.

    distinct([3, 1, 3])      values [1, 3], first at [1, 0], each of them [1, 0, 1], counts [1, 2]

How many there are depends on values, in jitted functions, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flatweave as fw
from flatweave.numpy_functions.arguments import is_complex, operand


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
    """The different values in ascending order; each NaN is one of them, or all are one."""
    array = fw.asarray(x)
    flat = array if array.ndim == 1 else fw.reshape(array, -1)
    n = flat.shape[0]
    groups = fw.group_by(_order_of(flat) if is_complex(flat) else flat)
    order, begins, inverse = groups.order, groups.offsets[:-1], groups.index
    values = None if is_complex(flat) else groups.keys
    if not equal_nan and (is_complex(flat) or fw.isdtype(flat.dtype, "real floating")):
        first = fw.scatter(fw.isnan(flat)[order], begins, fw.full(begins.shape, True))
        begins = fw.iota(n)[first]
        inverse = fw.scatter(fw.full(n, 0), order, fw.cumsum(first) - 1)
        values = None
    ends = fw.concat([begins[1:], fw.full(1, n)])
    values = flat[order[begins]] if values is None else values
    return UniqueAll(values, order[begins], fw.reshape(inverse, array.shape), ends - begins)


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
    values, among = fw.astype(values, dtype), fw.reshape(fw.astype(among, dtype), -1)
    flat = fw.reshape(values, -1)
    found = _are_among(flat, among) if is_complex(values) else _are_keys(flat, fw.sort(among))
    present = fw.reshape(found, values.shape)
    return ~present if invert else present


def _are_among(values: fw.Array, among: fw.Array) -> fw.Array:
    """Whether each of some complex numbers is one of others: both are numbered together."""
    count, total = values.shape[0], values.shape[0] + among.shape[0]
    numbers = distinct(fw.concat([values, among])).inverse_indices
    found = fw.scatter(fw.full(total, False), numbers[count:], fw.full(among.shape[0], True))
    return found[numbers[:count]]


def _are_keys(values: fw.Array, keys: fw.Array) -> fw.Array:
    """Whether each value is one of some ascending keys."""

    def holds(value: fw.Array, at: fw.Array) -> fw.Array:
        return fw.cond(at < keys.shape[0], lambda: keys[at] == value, lambda: False)

    return fw.map(holds, values, fw.searchsorted(keys, values))


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
