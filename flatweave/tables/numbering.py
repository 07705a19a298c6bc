"""Keys as numbers: by a table where they are dense integers, else by a sort.

    numbered(columns)          the number of each element's key, and the elements key by key
    some_numbers(columns)      numbers that are equal for equal keys, for joins
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import flatweave as fw
from flatweave.tables.keys import lost, one_length, parts_of


class Numbered(NamedTuple):
    """Elements by the number of their key; keys ascend by their numbers."""

    index: Any  # i64[n], the number of each element's key; -1 for those that are left out
    order: Any  # i64[k], the elements key by key; those left out are not among them
    offsets: Any  # i64[g + 1], where each key begins in that order
    parts: tuple[Any, ...]  # the arrays of the g keys, as `parts_of` gives them


ROOM = 2
"""A table numbers keys if it has at most this number of slots for each element."""


def numbered(keys: tuple[Any, ...], dropna: bool, who: str) -> Numbered:
    """The elements of key columns by the numbers of their keys.

    Integers and bools whose values are near each other are numbered by a table with a slot for
    each possible key; all others by a sort.
    """
    parts = [part for key in keys for part in parts_of(key)]
    one_length(parts, who, "keys")
    gone = None
    if dropna:
        for key in keys:
            gone = lost(key) if gone is None else gone | lost(key)
    table = _table(parts)
    if table is None:
        return Numbered(*_by_sort(parts, gone))
    return Numbered(*fw.cond(
        table.fits, lambda: _by_table(parts, gone, table), lambda: _by_sort(parts, gone)
    ))  # fmt: skip


def some_numbers(keys: tuple[Any, ...], who: str) -> tuple[Any, Any]:
    """A number for each element, equal for equal keys, and how many numbers there may be."""
    parts = [part for key in keys for part in parts_of(key)]
    one_length(parts, who, "keys")
    table = _table(parts)

    def sorted_numbers() -> tuple[Any, Any]:
        index, _, offsets, _ = _by_sort(parts, None)
        return index, fw.asarray(offsets.shape[0] - 1)

    if table is None:
        return sorted_numbers()
    slots = lambda: (table.slots(parts), table.total)  # noqa: E731
    index, count = fw.cond(table.fits, slots, sorted_numbers)
    return index, count


class Table(NamedTuple):
    """Places for all keys between the least and the greatest of each column."""

    least: list[Any]
    extents: list[Any]
    fits: Any  # whether there are few slots for each element

    @property
    def total(self) -> Any:
        """How many slots there are."""
        return fw.asarray(math.prod(self.extents))

    def slots(self, parts: list[Any]) -> Any:
        """The slot of each key, in their order."""
        found: Any = 0
        for part, low, extent in zip(parts, self.least, self.extents, strict=True):
            found = found * extent + _far(part, low).astype(fw.i64)
        return found

    def keys(self, slots: Any, parts: list[Any]) -> tuple[Any, ...]:
        """The keys of slots, in the dtypes of the columns."""
        found = []
        columns = zip(parts, self.least, self.extents, strict=True)
        for part, low, extent in reversed(list(columns)):
            slot, slots = slots % extent, slots // extent
            found.append((slot.astype(fw.u64) + low.astype(fw.u64)).astype(part.dtype))
        return tuple(reversed(found))


def _table(parts: list[Any]) -> Table | None:
    """The table of key columns; None where one is not of integers or bools."""
    if not all(part.dtype == fw.bool_ or fw.isdtype(part.dtype, "integral") for part in parts):
        return None
    n = parts[0].shape[0]
    least = [_least(part, fw.min, is_min=True) for part in parts]
    most = [_least(part, fw.max, is_min=False) for part in parts]
    spans = [_far(high, low) for high, low in zip(most, least, strict=True)]
    room = math.prod(span.astype(fw.f64) + 1 for span in spans)
    extents = [span.astype(fw.i64) + 1 for span in spans]
    return Table(least, extents, (n > 0) & (room <= ROOM * fw.asarray(n)))


def _least(part: Any, function: Callable[..., Any], is_min: bool) -> Any:
    """The least or the greatest key."""
    values = part.astype(fw.u8) if part.dtype == fw.bool_ else part
    info = fw.iinfo(values.dtype)
    return function(values, initial=info.max if is_min else info.min)


def _far(key: Any, least: Any) -> Any:
    """How far a key is from the least one, as u64, which holds all distances."""
    values = key.astype(fw.u8) if key.dtype == fw.bool_ else key
    return values.astype(fw.u64) - least.astype(fw.u64)


def _by_table(parts: list[Any], gone: Any, table: Table) -> Any:
    """The numbers of keys by a table that has a slot for each possible one."""
    slots = table.slots(parts)
    if gone is not None:
        slots = fw.where(gone, -1, slots)
    occurs = fw.scatter(fw.full(table.total, False), slots, fw.full(slots.shape, True))
    number = fw.scan(fw.add, 0, occurs.astype(fw.i64), exclusive=True)
    index = fw.gather(number, slots, default=-1)
    found = fw.iota(table.total)[occurs]
    count = found.shape[0]
    offsets = fw.concat([fw.full(1, 0), fw.cumsum(fw.histogram(count, index))])
    order = fw.argsort(index if gone is None else fw.where(gone, count, index))
    return index, order[: offsets[count]], offsets, table.keys(found, parts)


def _by_sort(parts: list[Any], gone: Any) -> Any:
    """The numbers of keys by a sort."""
    n = parts[0].shape[0]
    first = [] if gone is None else [gone]
    count = len(first) + len(parts)
    moved = fw.sort((*first, *parts, fw.iota(n)), key=lambda e: tuple(e[:count]))
    ascending = moved[len(first) : count]
    kept = n if gone is None else n - fw.sum(gone)

    def begins_at(i: Any) -> Any:
        before = fw.where(i == 0, 0, i - 1)
        differs = i == 0
        for part in ascending:
            a, b = part[i], part[before]
            differs = differs | ~((a == b) | ((a != a) & (b != b)))
        return differs & (i < kept)

    begins = fw.map(begins_at, fw.iota(n))
    starts = fw.iota(n)[begins]
    offsets = fw.concat([starts, fw.full(1, fw.asarray(kept))])
    order = moved[-1][:kept]
    numbers = (fw.cumsum(begins) - 1)[:kept]
    index = fw.scatter(fw.full(n, 0 if gone is None else -1), order, numbers)
    return index, order, offsets, tuple(part[starts] for part in ascending)
