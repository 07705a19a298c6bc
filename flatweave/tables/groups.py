"""group_by: elements with equal keys as rows.

    g = fw.group_by(keys, values)
    g.keys, g.rows, g.sizes           the keys of the groups, their values and how many
    g.agg(total="sum", spread=f)      a number for each group
    g.spread(x)                       a value of each group, for each of its elements
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from flatweave.tables.keys import coded, column, columns, decoded, one_length, plain, restored
from flatweave.tables.nullable import Nullable, is_kept, is_text, with_offsets
from flatweave.tables.numbering import firsts, n_unique, numbered, offsets_of
from flatweave.tables.selection import worst

TRUSTED = ("index", "offsets", "rank", "sorted")


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """What `fw.group_by` gives: groups of elements with equal keys.

    `keys` has the key of each group, a tuple for several key columns; `index` the group of each
    element, `offsets` where each group begins in the elements group by group, and `data` the values
    as they were given.

    Types: `keys: k[g], index: i64[n], offsets: i64[g + 1]` of n elements in g groups. Source:
    `pandas.core.groupby.GroupBy`.

        >>> groups = fw.group_by([1, 2, 1], [10, 20, 30])
        >>> groups.keys.tolist(), groups.rows.tolist()
        ([1, 2], [[10, 30], [20]])
    """

    keys: Any
    index: Any
    offsets: Any
    data: tuple[Any, ...]
    rank: Any  # what elements are sorted by to be group by group
    partial: Any = None  # set where elements may be in no group
    sorted: Any = None  # the elements group by group, where nothing else is in groups

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        # programs trust these, so what users assign to is a copy
        return found.copy() if name in TRUSTED and isinstance(found, fw.Array) else found

    @property
    def rows(self) -> Any:
        """The values of each group: a Ragged, a tuple of them for several values, and without
        values a Ragged of the indices of the elements."""
        if not self.data:
            return with_offsets(self.order, self.offsets)
        rows = _in_rows(self._unnamed())
        return rows[0] if len(rows) == 1 else rows

    @property
    def order(self) -> Any:
        """The elements group by group, in their order: i64[n]. Computed when it is asked for."""
        found = self.sorted
        return _order(self.rank, self.offsets, self.partial) if found is None else found

    @property
    def sizes(self) -> Any:
        """How many elements each group has: i64[g]."""
        return self.offsets[1:] - self.offsets[:-1]

    def _unnamed(self) -> Groups:
        """The same without keys, which may be text."""
        return dataclasses.replace(self, keys=())

    def _each(self) -> tuple[Any, ...]:
        rows = self.rows
        return rows if isinstance(rows, tuple) else (rows,)

    def map(self, f: Callable[..., Any]) -> Any:
        """`f` of the rows of each group: `fw.map(f, *rows)`."""
        return fw.map(f, *self._each())

    def agg(self, *unnamed: Any, **functions: Any) -> dict[str, Any]:
        """One result for each group and function, by the functions' names.

        A function gets a row of each value, as in `map`. For one value it may also be "sum",
        "mean", "min", "max", "count", "first", "last", "std", "median" or "n_unique". A pair
        `(k, function)` is the function of value k alone: `agg(total=(0, "sum"), top=(1, "max"))`.
        """
        if unnamed:
            raise fw.ArgumentError.here(
                f"agg got {unnamed[0]!r} without a name.", "Name the result: agg(total='sum')."
            )
        chosen = []
        for name, function in functions.items():
            is_pair = isinstance(function, tuple) and len(function) == 2
            pair = function if is_pair else (None, function)
            chosen.append(pair[0])
            functions[name] = pair[-1]
            known = isinstance(pair[-1], str) and pair[-1] in LEAST
            if not known and not callable(pair[-1]):
                raise fw.ArgumentError.here(
                    f"agg got {function!r} for {name}, which is no function.",
                    f"Give a function of a row, or one of {', '.join(map(repr, LEAST))}.",
                )
            one = len(self.data) == 1 or (not self.data and function == "count")
            if pair[0] is None and known and not one:
                raise fw.ArgumentError.here(
                    f"agg got {function!r} for groups of {len(self.data)} values.",
                    f"Say of which value: agg({name}=(0, {function!r}))." if self.data else
                    "Give group_by the values: fw.group_by(keys, xs); 'count' needs none.",
                )  # fmt: skip
            if pair[0] is not None and pair[0] not in range(len(self.data)):
                raise fw.ArgumentError.here(
                    f"agg got value {pair[0]!r} for {name}, of {len(self.data)} values.",
                    "Values are numbered from 0, as group_by got them.",
                )
        return dict(_aggregated(self._unnamed(), functions, chosen=tuple(chosen)))

    def spread(self, x: Any) -> Any:
        """A value of each group, given to each of its elements; missing for those in no group."""
        return _spread(x, self.index, self.offsets, self.partial)


def group_by(keys: Any, *values: Any, sort: bool = True, dropna: bool = False) -> Groups:
    """Groups of the elements whose keys are equal.

    `keys` is an array, or a tuple of arrays for several key columns: integers, floats, bools,
    datetimes, texts (also of columns of pandas, polars and Arrow), a Nullable, or a
    dictionary-encoded column. Groups ascend by their keys; with `sort=False` they are in the order
    of their first elements. NaN is equal to NaN and comes after the numbers, missing keys after
    NaN; `dropna` leaves both out. The result has `.keys`, `.rows` (the values group by group),
    `.index`, `.sizes`, `.order`, `.map(f)`, `.agg(name=f)` and `.spread(x)`.

    Types: `keys: k[n], values: t[n, ..] ->` g groups. Raises ShapeError for arrays of different
    lengths and key columns of several axes. Source: `pandas.DataFrame.groupby`.

        >>> groups = fw.group_by([2, 1, 2], [10.0, 20.0, 30.0])
        >>> groups.keys, groups.rows
        (Array([1, 2], dtype=int64), Ragged([[20.0], [10.0, 30.0]], dtype=float64))
        >>> groups.agg(total="sum", spread=lambda row: fw.max(row) - fw.min(row))["spread"]
        Array([ 0., 20.], dtype=float64)
        >>> groups.spread(groups.agg(mean="mean")["mean"])
        Array([20., 20., 20.], dtype=float64)
    """
    found, restore = columns(keys)
    groups: Groups = _grouped(found, tuple(map(_value, values)), sort=sort, dropna=dropna)
    named = tuple(make(key) for make, key in zip(restore, groups.keys, strict=True))
    return dataclasses.replace(groups, keys=named if isinstance(keys, tuple) else named[0])


def _value(value: Any) -> Any:
    """A value as an argument of an operation: a column of another library may have nulls."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM" and np.isnat(value).any():
        return Nullable(value)
    kept = isinstance(value, fw.Array | np.ndarray | fw.Ragged) or is_kept(value)
    return value if kept else column(value)[0]


@fw.operation(static="sort dropna", any_dtype=True, name="group_by")
def _grouped(keys: Any, values: Any, sort: bool, dropna: bool) -> Groups:
    coded_keys, texts = zip(*map(coded, keys), strict=True)
    has_all = len(texts) == 1 and is_text(texts[0]) and not isinstance(coded_keys[0], Nullable)
    count = texts[0].shape[0] if has_all else None
    rank, index, order, offsets, found = numbered(coded_keys, dropna, "group_by", count)
    one_length([index, *(part for value in values for part in _arrays(value))], "group_by")
    parts = list(found)
    if not sort:
        first = fw.argsort(firsts(index, offsets.shape[0] - 1))
        place = fw.scatter(fw.full(first.shape, 0), first, fw.iota(first.shape[0]))
        offsets = offsets_of((offsets[1:] - offsets[:-1])[first])
        parts = [part[first] for part in parts]
        rank = index = fw.gather(place, index, default=-1)
    kept = tuple(value if is_kept(value) else fw.asarray(value) for value in values)
    keys = tuple(
        decoded(restored(key, parts), text) for key, text in zip(coded_keys, texts, strict=True)
    )
    elements = None if values or not sort else order
    return Groups(keys, index, offsets, kept, rank, dropna or None, elements)


@fw.operation()
def _order(rank: Any, offsets: Any, partial: Any) -> Any:
    """A stable sort of the elements by their groups; those in no group are left out."""
    order = fw.argsort(_sorted_by(rank, offsets, partial))
    return order if partial is None else order[: offsets[-1]]


def _sorted_by(rank: Any, offsets: Any, partial: Any) -> Any:
    """The rank of each element; what is in no group comes last."""
    return rank if partial is None else fw.where(rank < 0, offsets.shape[0], rank)


@fw.operation(any_dtype=True)
def _in_rows(groups: Groups) -> Any:
    """The values of each group: a stable sort by groups moves arrays of single elements, which is
    faster than to read them in order."""
    offsets, partial = groups.offsets, groups.partial
    rank = _sorted_by(groups.rank, offsets, partial)
    flat = [part for value in groups.data if _is_flat(value) for part in _arrays(value)]
    moved = iter(fw.sort_by_key(rank, tuple(flat))[1] if flat else ())

    def in_order(value: Any) -> Any:
        if isinstance(value, Nullable):
            return Nullable(in_order(value.values), in_order(value.valid))
        return next(moved) if partial is None else next(moved)[: offsets[-1]]

    return tuple(
        with_offsets(
            in_order(value) if _is_flat(value) else fw.gather(value, groups.order), offsets
        )
        for value in groups.data
    )


def _is_flat(value: Any) -> bool:
    """Whether a value is an array of single elements, or a Nullable of one."""
    value = _unmasked(value)
    return isinstance(value, fw.Array) and value.ndim == 1


def _arrays(value: Any) -> list[Any]:
    """The arrays of a value: of a Nullable and of structures several."""
    if isinstance(value, Nullable):
        return [*_arrays(value.values), value.valid]
    if is_text(value):
        return [value]
    if isinstance(value, tuple | list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return [part for each in parts for part in _arrays(each)]
    return [plain(value)]


@fw.operation(name="spread", any_dtype=True)
def _spread(x: Any, index: Any, offsets: Any, partial: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_spread(part, index, offsets, partial) for part in x)
    given = x if is_kept(x) else fw.asarray(x)
    size, count = given.shape[0], offsets.shape[0] - 1
    fw.check(
        fw.asarray(size == count), "spread got {0} values for {1} groups.", size, count,
        error=fw.ShapeError, remedy="Give a value for each group, as agg and map do.",
    )  # fmt: skip
    if isinstance(given, Nullable):
        there = fw.gather(given.valid, index, default=False)
        return Nullable(_read(given.values, index, partial), there)
    found = _read(given, index, partial)
    return found if partial is None else Nullable(found, index >= 0)


def _read(x: Any, index: Any, partial: Any) -> Any:
    """The elements at indices; anything where one may be -1."""
    if hasattr(x, "ticks"):
        return x.like(_read(x.ticks, index, partial))
    return x[index] if partial is None else fw.gather(x, index, default=0)


@fw.operation(static="chosen", name="agg", any_dtype=True)
def _aggregated(groups: Groups, functions: Any, chosen: tuple[int | None, ...]) -> Any:
    found: dict[str, Any] = {}
    for (name, function), number in zip(functions.items(), chosen, strict=True):
        data = groups.data if number is None else (groups.data[number],)
        found[name] = _aggregate(dataclasses.replace(groups, data=data), function, name)
    return found


def _aggregate(groups: Groups, function: Any, name: str) -> Any:
    """A function of each group, by the shortest way that is known for it."""
    known = function if isinstance(function, str) else FUNCTIONS.get(function)
    if known == "count" and not groups.data:
        return groups.sizes
    if len(groups.data) != 1 or known is None:
        return groups.map(function)
    dtype = str(getattr(_unmasked(groups.data[0]), "dtype", "")).partition("64[")[0]
    what, meant = MEANT.get(dtype, ("", LEAST))
    if known not in meant:
        raise fw.ArgumentError.here(
            f"agg got {known!r} for {name}: {known} of {what} has no meaning.",
            "Group numbers: s.len(), or s.to_numbers()." if dtype == "str" else
            "Group integers: np.asarray(t).view(np.int64), or t.ticks in a jitted function.",
        )
    if dtype == "str":
        return _of_text(groups, known)
    if known in BY_INDEX and not isinstance(groups.data[0], fw.Ragged | tuple | dict):
        return _by_index(groups, known)
    if known in OF_ROWS:
        return _of_known(OF_ROWS[known], groups.rows, LEAST[known])
    return groups.map(function)


ORDERED = ("min", "max", "first", "last", "count", "n_unique")
MEANT = {"datetime": ("times", ORDERED), "timedelta": ("spans of time", (*ORDERED, "sum", "mean")),
         "str": ("strings", ORDERED)}  # fmt: skip
"""What elements are that are no numbers, by dtype, and their aggregates."""


def _unmasked(value: Any) -> Any:
    return value.values if isinstance(value, Nullable) else value


def _of_text(groups: Groups, name: str) -> Any:
    """A named aggregate of strings, by numbers that are ordered as they are."""
    numbers, texts = coded(groups.data[0])
    found = _aggregate(dataclasses.replace(groups, data=(numbers,)), name, name)
    return found if name in ("count", "n_unique") else decoded(found, texts)


def _by_index(groups: Groups, name: Any) -> Any:
    """A named aggregate of elements that are added to their groups where they are."""
    x, index, valid = groups.data[0], groups.index, None
    if isinstance(x, Nullable):
        x, valid = x.values, x.valid
        index = fw.where(valid, index, -1)
    ticks = plain(x)
    elements = Elements(ticks, index, groups.offsets.shape[0] - 1)
    found = BY_INDEX[name](elements)
    if ticks is not x and name != "count":
        found = x.like(elements.shared(elements.sum(ticks)) if name == "mean" else found)
    if valid is None or not LEAST[name]:
        return found
    return Nullable(found, elements.sizes >= LEAST[name])


class Elements(NamedTuple):
    """Values in the order in which they are given, and the group of each, -1 for none."""

    x: Any
    index: Any
    count: Any

    def folded(self, op: Any, start: Any, x: Any) -> Any:
        """The values of each group, combined."""
        room = fw.full((self.count, *x.shape[1:]), x.dtype.type(start))
        return fw.reduce_by_index(room, op, start, self.index, x)

    def sum(self, x: Any) -> Any:
        """The sum in each group, in the dtype of `fw.sum`."""
        return self.folded(fw.add, 0, x.astype(fw.sum(x[:0]).dtype))

    def extreme(self, op: Any, is_min: bool) -> Any:
        """The least or greatest value in each group."""
        return self.folded(op, worst(self.x.dtype, is_min), self.x)

    @property
    def sizes(self) -> Any:
        """How many elements each group has."""
        return fw.histogram(self.count, self.index)

    def shared(self, total: Any, less: int = 0) -> Any:
        """Sums divided by the sizes of their groups, or by fewer; integers are rounded down."""
        sizes = fw.reshape((self.sizes - less).astype(total.dtype), (-1,) + (1,) * (total.ndim - 1))
        is_whole = fw.isdtype(total.dtype, "integral")
        return total // fw.maximum(sizes, 1) if is_whole else total / sizes

    def mean(self, x: Any) -> Any:
        """The mean in each group."""
        return self.shared(self.sum(x.astype(fw.mean(x[:0]).dtype)))

    def std(self) -> Any:
        """The standard deviation in each group, of n - 1."""
        x = self.x.astype(fw.mean(self.x[:0]).dtype)
        away = x - fw.gather(self.mean(x), self.index, default=0)
        return fw.sqrt(self.shared(self.sum(away * away), 1))

    def end(self, op: Any, start: Any) -> Any:
        """The value of the first or the last element of each group."""
        place = self.folded(op, start, fw.iota(self.x.shape[0]))
        return fw.gather(self.x, place, default=0)


def _of_known(function: Callable[[Any], Any], rows: Any, least: int) -> Any:
    """A function of rows without what is missing; missing where fewer than `least` are there."""
    if not isinstance(rows.values, Nullable):
        return function(rows)
    known = rows.drop_none()
    return Nullable(function(known), known.lengths >= least) if least else function(known)


BY_INDEX: dict[Any, Callable[[Elements], Any]] = {
    "sum": lambda e: e.sum(e.x),
    "mean": lambda e: e.mean(e.x),
    "min": lambda e: e.extreme(fw.minimum, is_min=True),
    "max": lambda e: e.extreme(fw.maximum, is_min=False),
    "count": lambda e: e.sizes,
    "first": lambda e: e.end(fw.minimum, 2**63 - 1),
    "last": lambda e: e.end(fw.maximum, -1),
    "std": lambda e: e.std(),
}
OF_ROWS: dict[Any, Callable[[Any], Any]] = {
    "median": lambda rows: fw.median(rows, axis=1),
    "n_unique": lambda rows: n_unique(rows, axis=1),
}
LEAST = dict.fromkeys([*BY_INDEX, *OF_ROWS], 1) | {"sum": 0, "count": 0, "n_unique": 0, "std": 2}
"""How many elements must be there for a result that is not missing."""
FUNCTIONS = {fw.sum: "sum", fw.mean: "mean", fw.min: "min", fw.max: "max", fw.median: "median"}
"""Functions that say the same as a name."""
