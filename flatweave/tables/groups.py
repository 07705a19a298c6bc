"""group_by: elements with equal keys as rows.

    g = fw.group_by(keys, values)
    g.keys, g.rows, g.sizes           the keys of the groups, their values and how many
    g.agg(total="sum", spread=f)      a number for each group
    g.spread(x)                       a value of each group, for each of its elements
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.tables.counts import n_unique
from flatweave.tables.keys import columns, in_order, one_length, restored
from flatweave.tables.nullable import Nullable, with_offsets
from flatweave.tables.selection import worst


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """What `fw.group_by` gives: groups of elements with equal keys.

    `keys` has the key of each group, a tuple for several key columns; `index` the group of each
    element, `order` the elements group by group, `offsets` where each group begins in it, and
    `data` the values in that order.
    """

    keys: Any
    index: Any
    order: Any
    offsets: Any
    data: tuple[Any, ...]
    partial: Any = None  # set where elements may be in no group

    @property
    def rows(self) -> Any:
        """The values of each group: a Ragged, a tuple of them for several values, and without
        values a Ragged of the indices of the elements."""
        if not self.data:
            return with_offsets(self.order, self.offsets)
        rows = tuple(with_offsets(part, self.offsets) for part in self.data)
        return rows[0] if len(rows) == 1 else rows

    @property
    def sizes(self) -> Any:
        """How many elements each group has: i64[g]."""
        return with_offsets(self.order, self.offsets).lengths

    def _each(self) -> tuple[Any, ...]:
        rows = self.rows
        return rows if isinstance(rows, tuple) else (rows,)

    def map(self, f: Callable[..., Any]) -> Any:
        """`f` of the rows of each group: `fw.map(f, *rows)`."""
        return fw.map(f, *self._each())

    def agg(self, **functions: Any) -> dict[str, Any]:
        """One result for each group and function, by the functions' names.

        A function gets a row of each value, as in `map`. For one value it may also be "sum",
        "mean", "min", "max", "count", "first", "last", "std", "median" or "n_unique".
        """
        for name, function in functions.items():
            known = isinstance(function, str) and function in NAMED
            if not known and not callable(function):
                raise fw.ArgumentError.here(
                    f"agg got {function!r} for {name}, which is no function.",
                    f"Give a function of a row, or one of {', '.join(map(repr, NAMED))}.",
                )
            if known and len(self.data) != 1:
                raise fw.ArgumentError.here(
                    f"agg got {function!r} for groups of {len(self.data)} values.",
                    "Give a function of a row of each value, or group one value.",
                )
        found: dict[str, Any] = _aggregated(self._each(), functions)
        return found

    def spread(self, x: Any) -> Any:
        """A value of each group, given to each of its elements; missing for those in no group."""
        return _spread(x, self.index, self.partial)


def group_by(keys: Any, *values: Any, sort: bool = True, dropna: bool = False) -> Groups:
    """Groups of the elements whose keys are equal.

    `keys` is an array, or a tuple of arrays for several key columns: integers, floats, bools,
    datetimes, texts (also of columns of pandas, polars and Arrow), a Nullable, or a
    dictionary-encoded column. Groups ascend by their keys; with `sort=False` they are in the order
    of their first elements. NaN is equal to NaN and comes after the numbers, missing keys after
    NaN; `dropna` leaves both out. The result has `.keys`, `.rows` (the values group by group),
    `.index`, `.sizes`, `.order`, `.map(f)`, `.agg(name=f)` and `.spread(x)`.

    Types: `keys: k[n], values: t[n, ..] ->` g groups. Raises ShapeError for arrays of different
    lengths and key columns of several axes.

        >>> groups = fw.group_by([2, 1, 2], [10.0, 20.0, 30.0])
        >>> groups.keys, groups.rows
        (Array([1, 2], dtype=int64), Ragged([[20.0], [10.0, 30.0]], dtype=float64))
        >>> groups.agg(total="sum", spread=lambda row: fw.max(row) - fw.min(row))["spread"]
        Array([ 0., 20.], dtype=float64)
        >>> groups.spread(groups.agg(mean="mean")["mean"])
        Array([20., 20., 20.], dtype=float64)
    """
    found, restore = columns(keys)
    groups: Groups = _grouped(found, values, sort=sort, dropna=dropna)
    named = tuple(make(key) for make, key in zip(restore, groups.keys, strict=True))
    return dataclasses.replace(groups, keys=named if isinstance(keys, tuple) else named[0])


@fw.operation(static="sort dropna")
def _grouped(keys: Any, values: Any, sort: bool, dropna: bool) -> Groups:
    ordered = in_order(keys, dropna, "group_by")
    n = ordered.order.shape[0]
    leaves = [part for value in values for part in _arrays(value)]
    one_length([ordered.order, *leaves], "group_by")
    starts = fw.iota(n)[ordered.begins]
    order = ordered.order[: ordered.kept] if dropna else ordered.order
    offsets = fw.concat([starts, fw.full(1, fw.asarray(ordered.kept))])
    numbers = (fw.cumsum(ordered.begins) - 1)[: ordered.kept]
    parts = [part[starts] for part in ordered.parts]
    if not sort:
        first = fw.argsort(order[starts])
        parts = [part[first] for part in parts]
        place = fw.scatter(fw.full(first.shape, 0), first, fw.iota(first.shape[0]))
        moved = with_offsets((order, numbers), offsets)[first]
        (order, numbers), offsets = moved.values, moved.offsets
        numbers = place[numbers]
    index = fw.scatter(fw.full(n, -1 if dropna else 0), order, numbers)
    data = tuple(fw.gather(value, order) for value in values)
    found = tuple(restored(key, parts) for key in keys)
    return Groups(found, index, order, offsets, data, True if dropna else None)


def _arrays(value: Any) -> list[Any]:
    """The arrays of a value: of a Nullable and of structures several."""
    if isinstance(value, Nullable):
        return [*_arrays(value.values), value.valid]
    if isinstance(value, tuple | list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return [part for each in parts for part in _arrays(each)]
    return [value.ticks if hasattr(value, "ticks") else fw.asarray(value)]


@fw.operation()
def _spread(x: Any, index: Any, partial: Any) -> Any:
    if partial is None:
        return x[index]
    inside = index >= 0
    found = x[fw.where(inside, index, 0)]
    if isinstance(found, Nullable):
        return Nullable(found.values, found.valid & inside)
    return Nullable(found, inside)


@fw.operation()
def _aggregated(rows: Any, functions: Any) -> Any:
    return {
        name: NAMED[function](rows[0]) if isinstance(function, str) else fw.map(function, *rows)
        for name, function in functions.items()
    }


def _extreme(function: Callable[..., Any], is_min: bool) -> Callable[[Any], Any]:
    def found(rows: Any) -> Any:
        start = {} if _is_nullable(rows) else {"initial": worst(rows.dtype, is_min)}
        return function(rows, axis=1, **start)

    return found


def _is_nullable(rows: Any) -> bool:
    return isinstance(rows.values, Nullable)


def _of_known(function: Callable[[Any], Any], least: int = 1) -> Callable[[Any], Any]:
    """A function of rows without what is missing; missing where fewer than `least` are there."""

    def found(rows: Any) -> Any:
        if not _is_nullable(rows):
            return function(rows)
        known = rows.drop_none()
        lengths = known.lengths
        result = function(known)
        return Nullable(result, lengths >= least) if least else result

    return found


def _end(is_first: bool) -> Callable[[Any], Any]:
    def found(rows: Any) -> Any:
        def one(row: Any) -> Any:
            n = row.shape[0]
            return fw.gather(row, 0 if is_first else n - 1, default=0)

        return fw.map(one, rows)

    return found


def _count(rows: Any) -> Any:
    return rows.lengths


NAMED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda rows: fw.sum(rows, axis=1),
    "mean": lambda rows: fw.mean(rows, axis=1),
    "min": _extreme(fw.min, is_min=True),
    "max": _extreme(fw.max, is_min=False),
    "count": _of_known(_count, 0),
    "first": _of_known(_end(is_first=True)),
    "last": _of_known(_end(is_first=False)),
    "std": _of_known(lambda rows: fw.map(lambda row: fw.std(row, correction=1), rows), 2),
    "median": _of_known(lambda rows: fw.median(rows, axis=1)),
    "n_unique": _of_known(lambda rows: n_unique(rows, axis=1), 0),
}
