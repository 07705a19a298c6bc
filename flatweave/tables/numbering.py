"""Equal values: keys as numbers, how often they occur, runs of them, folds by number."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import flatweave as fw
from flatweave.tables.keys import far, lost, one_length, parts_of
from flatweave.tables.selection import changed, of_rows, worst

# -- numbering ------------------------------------------------------------------------------------
#
# Keys as numbers: by a table where they are dense integers, by a hash table where they are few,
# else by a sort.
#
#     numbered(columns)          the number of each element's key, and the elements key by key


class Numbered(NamedTuple):
    """Elements by the number of their key; keys ascend by their numbers."""

    rank: Any  # i64[n], which ascends and is equal as keys are; below 0 where some are left out
    index: Any  # i64[n], the number of each element's key; -1 for those that are left out
    order: Any  # i64[k], the elements key by key; those left out are not among them
    offsets: Any  # i64[g + 1], where each key begins in that order
    parts: tuple[Any, ...]  # the arrays of the g keys, as `parts_of` gives them


ROOM = 2
"""A table numbers keys if it has at most this number of slots for each element."""


def numbered(keys: tuple[Any, ...], dropna: bool, who: str, count: Any = None) -> Numbered:
    """The elements of key columns by the numbers of their keys; these may be the one column, in
    which all numbers below `count` occur.

    Integers and bools whose values are near each other are numbered by a table with a slot for
    each possible key, others by a hash table if a sample says that they are few; all others, and
    floats, by a sort.
    """
    if count is not None:
        return Numbered(keys[0], keys[0], *by_number(keys[0], count), (fw.iota(count),))
    parts = [part for key in keys for part in parts_of(key)]
    one_length(parts, who, "keys")
    if not dropna:
        return _numbered(parts)
    gone = functools.reduce(fw.logical_or, map(lost, keys))
    n = gone.shape[0]
    kept = fw.iota(n)[fw.logical_not(gone)]
    _, index, order, offsets, found = _numbered([part[kept] for part in parts])
    index = fw.scatter(fw.full(n, -1), kept, index)
    return Numbered(index, index, kept[order], offsets, found)


def _numbered(parts: list[Any]) -> Numbered:
    """The numbers of keys, which are all kept."""
    table = table_of(parts, parts[0].shape[0])
    if table is None:
        return _by_sort(parts)
    return Numbered(*fw.cond(table.fits, lambda: _by_table(parts, table), lambda: _sparse(parts)))


class Table(NamedTuple):
    """Places for all keys between the least and the greatest of each column."""

    least: tuple[Any, ...]
    extents: tuple[Any, ...]
    fits: Any  # whether there are few slots for each element

    @property
    def total(self) -> Any:
        """How many slots there are."""
        return fw.asarray(math.prod(self.extents))

    def slots(self, parts: list[Any]) -> Any:
        """The slot of each key, in their order."""
        found: Any = 0
        for part, low, extent in zip(parts, self.least, self.extents, strict=True):
            found = found * extent + far(part, low).astype(fw.i64)
        return found

    def keys(self, slots: Any, parts: list[Any]) -> tuple[Any, ...]:
        """The keys of slots, in the dtypes of the columns."""
        found = []
        for part, low, extent in reversed([*zip(parts, self.least, self.extents, strict=True)]):
            slot, slots = slots % extent, slots // extent
            found.append((slot.astype(fw.u64) + low.astype(fw.u64)).astype(part.dtype))
        return tuple(reversed(found))


def table_of(parts: list[Any], count: Any) -> Table | None:
    """The table of key columns of `count` elements; None where one is not of integers or bools."""
    if not all(part.dtype == fw.bool_ or fw.isdtype(part.dtype, "integral") for part in parts):
        return None
    least, most = zip(*map(_ends, parts), strict=True)
    spans = [far(high, low) for high, low in zip(most, least, strict=True)]
    room = math.prod(span.astype(fw.f64) + 1 for span in spans)
    extents = tuple(span.astype(fw.i64) + 1 for span in spans)
    return Table(least, extents, (count > 0) & (room <= ROOM * fw.asarray(count)))


def _ends(part: Any) -> tuple[Any, Any]:
    """The least and the greatest key."""
    values = part.astype(fw.u8) if part.dtype == fw.bool_ else part
    first, last = worst(values.dtype, is_min=True), worst(values.dtype, is_min=False)
    return fw.min(values, initial=first), fw.max(values, initial=last)


def _by_table(parts: list[Any], table: Table) -> Numbered:
    """The numbers of keys by a table that has a slot for each possible one."""
    slots = table.slots(parts)
    rank = parts[0] if len(parts) == 1 and parts[0].dtype == fw.i64 else slots  # need no memory
    sizes = fw.histogram(table.total, slots)
    occurs = sizes > 0
    index = fw.scan(fw.add, 0, occurs.astype(fw.i64), exclusive=True)[slots]
    found = table.keys(fw.iota(table.total)[occurs], parts)
    return Numbered(rank, index, fw.argsort(rank), offsets_of(sizes[occurs]), found)


def by_number(index: Any, count: Any) -> tuple[Any, Any]:
    """Elements in the order of their numbers, and where each number begins in it."""
    return fw.argsort(index), offsets_of(fw.histogram(count, index))


def offsets_of(sizes: Any) -> Any:
    """Where rows of these sizes begin, and where the last one ends."""
    return fw.concat([fw.full(1, 0), fw.cumsum(sizes)])


def firsts(index: Any, count: Any) -> Any:
    """The first element of each number."""
    n = index.shape[0]
    return fw.reduce_by_index(fw.full(count, n), fw.minimum, n, index, fw.iota(n))


SAMPLED, SLOTS = 16, 8
"""One key of this number is a sample's; slots of a hash table for each different key in it."""


def _sparse(parts: list[Any]) -> Numbered:
    """The numbers of integer keys that are far from each other.

    A hash table pays where its lines stay in caches: the sample has the same keys four times each
    on average. It costs time alone, never the result.
    """
    some = parts[0].shape[0] // SAMPLED
    spread = fw.map(lambda i: SAMPLED * i + (hash_of(i) % SAMPLED).astype(fw.i64), fw.iota(some))
    slots = _slots([part[spread] for part in parts], fw.asarray(4 * some))
    different = fw.sum(fw.scatter(fw.full(4 * some, False), slots, fw.full(some, True)))
    return Numbered(*fw.cond(
        4 * different < some, lambda: _by_hash(parts, SLOTS * (different + 128)),
        lambda: _by_sort(parts), same=True,
    ))  # fmt: skip


def _by_hash(parts: list[Any], size: Any) -> Numbered:
    """The numbers of keys by a table with one key in each slot: elements of another key that meet
    in a slot are sorted, together with the keys in the table."""
    slots = _slots(parts, size)
    table = [fw.scatter(fw.full(size, part[0]), slots, part) for part in parts]

    def is_other(slot: Any, *keys: Any) -> Any:
        pairs = zip(table, keys, strict=True)
        return functools.reduce(fw.logical_or, [column[slot] != key for column, key in pairs])

    other = fw.map(is_other, slots, *parts)
    used = fw.iota(size)[_slots(table, size) == fw.iota(size)]
    _, numbers, _, offsets, found = _by_sort(
        [fw.concat([column[used], part[other]]) for column, part in zip(table, parts, strict=True)]
    )
    count = used.shape[0]
    of_slot = fw.concat([fw.scatter(fw.full(size, 0), used, numbers[:count]), numbers[count:]])
    index = of_slot[fw.where(other, size + fw.cumsum(other) - 1, slots)]
    return Numbered(index, index, *by_number(index, offsets.shape[0] - 1), found)


def _slots(parts: list[Any], size: Any) -> Any:
    """A slot of a hash table for each key."""
    return fw.map(lambda *keys: slot_of(hash_of(*keys), size), *parts)


def slot_of(number: Any, size: Any) -> Any:
    """The slot of a hash; slots ascend as hashes do."""
    return (((number >> 32) * size.astype(fw.u64)) >> 32).astype(fw.i64)


def hash_of(*keys: Any) -> Any:
    """A hash of integers: each is multiplied in, and the bits are mixed (MurmurHash3's finaliser).
    Those of single keys that differ differ.
    """
    found: Any = fw.u64(0)
    for key in keys:
        found = (found ^ key.astype(fw.u64)) * fw.u64(0xFF51AFD7ED558CCD)
        found = found ^ (found >> 32)
    return found * fw.u64(0xC4CEB9FE1A85EC53)


def _by_sort(parts: list[Any]) -> Numbered:
    """The numbers of keys by a sort."""
    n = parts[0].shape[0]
    *ascending, order = fw.sort((*parts, fw.iota(n)), key=lambda e: tuple(e[:-1]))

    begins = functools.reduce(fw.logical_or, map(changed, ascending))
    starts = fw.iota(n)[begins]
    offsets = fw.concat([starts, fw.full(1, fw.asarray(n))])
    index = fw.scatter(fw.full(n, 0), order, fw.cumsum(begins) - 1)
    return Numbered(index, index, order, offsets, tuple(part[starts] for part in ascending))


# -- counts ---------------------------------------------------------------------------------------
#
# How often values occur, runs of equal ones, and folds by a number for each element.
#
#     value_counts([3, 1, 3])          ([1, 3], [1, 2])
#     run_lengths([5, 5, 7])           ([5, 7], [2, 1])
#     segment_sum(x, ids)              reduce_by_index zeros add 0 ids x


@fw.operation(any_dtype=True)
def value_counts(x: Any) -> Any:
    """The different values, ascending, and how often each occurs: (values, counts). All NaN are
    one value, and the last.

    Types: `x: t[..] -> t[k], i64[k]`. Raises ArgumentError for what is no array.
    Source: `pandas.Series.value_counts`.

        >>> fw.value_counts([3, 1, 3])
        (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    return fw.unique(x, return_counts=True)


@fw.operation(static="axis")
def n_unique(x: Any, axis: int | None = None) -> Any:
    """How many different values there are, of all or along an axis. All NaN are one value.

    Axis 1 of a Ragged is each row.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises AxisError for an axis that is
    not there. Source: polars' `n_unique`.

        >>> fw.n_unique([3, 1, 3])
        Array(2, dtype=int64)
        >>> fw.n_unique(fw.ragged([[1, 1], [], [2, 3]]), axis=1)
        Array([1, 0, 2], dtype=int64)
    """
    if isinstance(x, fw.Ragged):
        if axis is None:
            return n_unique(x.values)
        return of_rows(x, lambda row: n_unique(row, axis - 1 if axis > 0 else axis))
    array = fw.asarray(x)
    if axis is None or array.ndim == 1:
        return fw.asarray(fw.unique(array).shape[0])
    moved = fw.moveaxis(array, axis, -1)
    flat = fw.reshape(moved, (-1, moved.shape[-1]))
    return fw.reshape(fw.map(lambda line: fw.sum(changed(fw.sort(line))), flat), moved.shape[:-1])


@fw.operation(any_dtype=True)
def run_lengths(x: Any) -> Any:
    """Runs of equal elements: (values, lengths). NaN is equal to NaN. Of a Ragged each row.

    Types: `x: t[n] -> t[k], i64[k]`. Raises ShapeError for an array of another rank.
    Source: Awkward's `ak.run_lengths`.

        >>> fw.run_lengths([5, 5, 7, 5])
        (Array([5, 7, 5], dtype=int64), Array([2, 1, 1], dtype=int64))
    """
    if isinstance(x, fw.Ragged):
        return of_rows(x, run_lengths)
    array = fw.asarray(x)
    begins = changed(array)
    n = array.shape[0]
    places = fw.iota(n)[begins]
    return array[places], fw.diff(places, append=n)


@fw.operation()
def segment_sum(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The sum of the elements, or rows, of each segment, as `jax.ops.segment_sum`.

    There are `num_segments` of them, by default one more than the greatest id; ids outside are
    dropped, negative ones, too.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises ShapeError where the
    lengths differ, NegativeExtentError for a negative number of segments.
    Source: `jax.ops.segment_sum`.

        >>> fw.segment_sum([1, 2, 3], [0, 2, 0])
        Array([4, 0, 2], dtype=int64)
    """
    return _segments(fw.add, 0, data, segment_ids, num_segments)


@fw.operation()
def segment_prod(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The product of the elements, or rows, of each segment; everything else is as for
    `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_prod`.

        >>> fw.segment_prod([2, 3, 4], [0, 2, 0])
        Array([8, 1, 3], dtype=int64)
    """
    return _segments(fw.mul, 1, data, segment_ids, num_segments)


@fw.operation()
def segment_max(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The greatest element of each segment, the dtype's minimum for an empty one; everything else
    is as for `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_max`.

        >>> fw.segment_max([1.0, 2.0, 3.0], [0, 2, 0])
        Array([  3., -inf,   2.], dtype=float64)
    """
    start = worst(fw.asarray(data).dtype, is_min=False)
    return _segments(fw.maximum, start, data, segment_ids, num_segments)


@fw.operation()
def segment_min(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The least element of each segment, the dtype's maximum for an empty one; everything else
    is as for `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_min`.

        >>> fw.segment_min([1.0, 2.0, 3.0], [0, 2, 0])
        Array([ 1., inf,  2.], dtype=float64)
    """
    start = worst(fw.asarray(data).dtype, is_min=True)
    return _segments(fw.minimum, start, data, segment_ids, num_segments)


def _segments(op: Any, start: Any, data: Any, ids: Any, count: Any) -> Any:
    array, index = fw.asarray(data), fw.asarray(ids)
    if count is None:
        count = fw.max(index.astype(fw.i64), initial=-1) + 1
    bins = fw.full((count, *array.shape[1:]), array.dtype.type(start))
    return fw.reduce_by_index(bins, op, start, index, array)
