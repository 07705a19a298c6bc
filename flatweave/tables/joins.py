"""Joins: the elements of two tables that have equal keys.

    j = fw.join(left, right)          both key columns numbered together
    j.rows                            for each left element the right ones, read where they are used
    j.left, j.right                   the pairs, in order

Right elements are put in the order of their keys: the matches of a left element are a part of it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import flatweave as fw
from flatweave.tables.keys import (
    ascend,
    both_sides,
    coded,
    columns,
    encoded,
    far,
    first_not,
    in_unit_of,
    is_missing,
    one_length,
    plain,
    ticks,
)
from flatweave.tables.nullable import has_text
from flatweave.tables.numbering import by_number, some_numbers
from flatweave.tables.selection import changed, one_of
from flatweave.tables.verbs import made

HOW = ("inner", "left", "right", "full", "outer", "semi", "anti")
DIRECTIONS = ("backward", "forward", "nearest")

BLOCK = 32
"""An as-of join searches the whole right side for one left element in each block of this length."""


@dataclasses.dataclass(frozen=True, eq=False)
class Join:
    """What `fw.join` gives: `rows`, the indices of the right elements that match each left one,
    and `left` and `right`, the indices of the pairs, or -1.

    Types: `rows: Ragged of i64, left: i64[pairs], right: i64[pairs]`. Source: SQL's joins.

        >>> pairs = fw.join([1, 2], [2, 1, 2])
        >>> pairs.left.tolist(), pairs.right.tolist(), pairs.rows.tolist()
        ([0, 1, 1], [1, 0, 2], [[1], [0, 2]])
    """

    first: Any  # i64[n], where the matches of each left element begin in `order`
    counts: Any  # i64[n], how many they are
    order: Any  # i64[m], the right elements by key
    matched: Any  # bool[m], which right elements match; None where nothing asks
    keeps_left: Any = None  # set where unmatched left elements are pairs, too

    @property
    def rows(self) -> Any:
        """For each left element the indices of the right ones that match it, as a row."""
        return _rows(self)

    @property
    def left(self) -> Any:
        """The left index of each pair: in order, unmatched right elements last."""
        return _sides(self)[0]

    @property
    def right(self) -> Any:
        """The right index of each pair."""
        return _sides(self)[1]


def join(left: Any, right: Any, how: str = "inner") -> Any:
    """The pairs of elements of two tables whose keys are equal.

    Keys are as for `group_by`, tuples for several columns. The result has `.rows`, a Ragged of the
    right indices for each left element, and `.left` and `.right`, the indices of the pairs in order
    of the left element, then of the right one. `how="left"` has left elements without a match, too,
    with a right index of -1; `"right"` has those of the right, last; `"full"` or `"outer"` both.
    `"semi"` and `"anti"` give the indices of the left elements with a match and without. Missing
    keys match nothing, NaN matches NaN. Pairs are not stored until they are read: `fw.map` over
    `.rows` fuses.

    Types: `left: k[n], right: k[m] ->` n rows, and pairs `i64[p]`. Raises ArgumentError for another
    `how`, ShapeError for key columns of different lengths or another number of them,
    ExtentOverflowError where the pairs are too many to count. Source: SQL's joins; `pandas.merge`.

        >>> pairs = fw.join([1, 2, 2], [2, 3, 2], how="left")
        >>> pairs.rows
        Ragged([[], [0, 2], [0, 2]], dtype=int64)
        >>> pairs.left.tolist(), pairs.right.tolist()
        ([0, 1, 1, 2, 2], [-1, 0, 2, 0, 2])
    """
    one_of(how, HOW, f"join has no way {how!r}.")
    return _joined(*both_sides(left, right, "join"), how=how)


def together(left: tuple[Any, ...], right: tuple[Any, ...], who: str) -> tuple[Any, Any, Any]:
    """The number of the key of each left element, and of each right one; how many numbers there
    may be."""
    one_length(list(map(plain, left)), who, "keys")
    n = plain(left[0]).shape[0]
    both = tuple(coded(fw.concat([a, b]))[0] for a, b in zip(left, right, strict=True))
    index, count = some_numbers(both, who)
    return index[:n], index[n:], count


@fw.operation(static="how", name="join")
def _joined(left: Any, right: Any, how: str) -> Any:
    mine, theirs, count = together(left, right, "join")
    n = mine.shape[0]
    order, offsets = by_number(theirs, count)
    first = offsets[mine]
    counts = offsets[mine + 1] - first
    missing = is_missing(left)
    if missing is not None:
        counts = fw.where(missing, 0, counts)
    if how in ("semi", "anti"):
        return fw.iota(n)[counts > 0 if how == "semi" else counts == 0]
    matched = None
    if how in ("right", "full", "outer"):
        of_left = mine if missing is None else fw.where(missing, -1, mine)
        occurs = fw.scatter(fw.full(count, False), of_left, fw.full(n, True))
        matched = occurs[theirs]
    return Join(first, counts, order, matched, True if how in ("left", "full", "outer") else None)


@fw.operation()
def _rows(found: Join) -> Any:
    order, runs = found.order, (found.first, found.counts)
    values = fw.expand(lambda e: e[1], lambda e, k: order[e[0] + k], runs)
    return made(values, found.counts)


@fw.operation()
def _sides(found: Join) -> Any:
    """The pairs. Where each left element has one match at most, as where right keys are unique,
    they are a filter, and with all left elements a map."""
    first, counts, order = found.first, found.counts, found.order
    n, keeps_left = counts.shape[0], found.keeps_left is not None
    elements = (fw.iota(n), counts, first)

    def right_of(count: Any, place: Any) -> Any:
        return fw.gather(order, fw.where(count > 0, place, -1), default=-1)

    def once() -> Any:
        kept = elements if keeps_left else fw.filter(lambda e: e[1] > 0, elements)
        return kept[0], fw.map(right_of, kept[1], kept[2])

    def often() -> Any:
        return fw.expand(
            lambda e: fw.maximum(e[1], 1) if keeps_left else e[1],
            lambda e, k: (e[0], right_of(e[1], e[2] + k)), elements,
        )  # fmt: skip

    left, right = fw.cond(fw.max(counts, initial=0) <= 1, once, often, same=True)
    if found.matched is None:
        return left, right
    alone = fw.iota(found.matched.shape[0])[fw.logical_not(found.matched)]
    return fw.concat([left, fw.full(alone.shape, -1)]), fw.concat([right, alone])


def join_asof(
    left: Any, right: Any, *, by: Any = None, direction: str = "backward", tolerance: Any = None,
    allow_exact_matches: bool = True,
) -> Any:  # fmt: skip
    """For each left element the index of the last right one at or before it, -1 where none is.

    `direction="forward"` takes the first right element at or after it, `"nearest"` the nearer of
    both, of equally near ones the one before. Of equal keys on the right "backward" takes the last,
    "forward" the first. `by` is a pair of keys, of the left and of the right: elements match where
    they are equal. A match is at most `tolerance` away; without `allow_exact_matches` equal keys do
    not match. Both sides ascend, with `by` within each of its keys.

    Types: `left: k[n], right: k[m] -> i64[n]`. Raises ArgumentError for keys that descend or are
    NaN, for another direction and for a negative tolerance, ShapeError for different lengths.
    Source: polars' `join_asof`.

        >>> fw.join_asof([1, 5, 9], [2, 4, 9, 9])
        Array([-1,  1,  3], dtype=int64)
        >>> fw.join_asof([1, 5, 9], [2, 4, 9, 9], direction="forward", tolerance=1)
        Array([ 0, -1,  2], dtype=int64)
    """
    one_of(direction, DIRECTIONS, f"join_asof has no direction {direction!r}.")
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise fw.ArgumentError.here(
            "join_asof has one key column that ascends on each side, and got a tuple.",
            "Give the keys that must be equal as by=(left, right).",
        )
    if any(encoded(key) or has_text(key) for key in (left, right)):
        raise fw.DTypeError.here(
            "join_asof got text or dictionary-encoded keys, which are not near each other.",
            "Give numbers or times; text may be in by=(left, right).",
        )
    (mine,), (theirs,) = columns(left)[0], columns(right)[0]
    if by is not None and (not isinstance(by, tuple | list) or len(by) != 2):
        raise fw.ArgumentError.here(
            "by of join_asof is a pair of keys.", "Give those of the left and of the right."
        )
    groups = None if by is None else both_sides(by[0], by[1], "join_asof")
    if tolerance is not None:
        tolerance = in_unit_of(mine, tolerance, "the tolerance of join_asof", floor=True)
    return _asof(mine, theirs, groups, tolerance, direction=direction,
                 exact=bool(allow_exact_matches))  # fmt: skip


@fw.operation(static="direction exact", name="join_asof")
def _asof(
    left: Any, right: Any, by: Any, tolerance: Any, direction: str, exact: bool
) -> Any:
    mine, theirs = ticks("join_asof", left, right)
    n, m = mine.shape[0], theirs.shape[0]
    if by is None:
        own, order, starts, ends = None, None, fw.full(n, 0), fw.full(n, m)
        own_begins, begins = None, None
    else:
        one_length([mine, *map(plain, by[0])], "join_asof", "keys")
        one_length([theirs, *map(plain, by[1])], "join_asof", "keys")
        my_group, their_group, count = together(by[0], by[1], "join_asof")
        (own, _), (order, offsets) = by_number(my_group, count), by_number(their_group, count)
        own_begins, begins = changed(my_group[own]), changed(their_group[order])
        starts, ends = offsets[my_group], offsets[my_group + 1]
    ascend(mine, "left keys of join_asof", own, own_begins)
    ascend(theirs, "right keys of join_asof", order, begins)
    if tolerance is not None:
        tolerance = plain(tolerance)
        fw.check(tolerance >= 0, "the tolerance of join_asof is negative.",
                 remedy="Give the distance that a match has at most.")  # fmt: skip

    def search(strict: bool) -> Any:
        """How many right elements, in their order, are before each left one."""
        def find(i: Any, low: Any, high: Any) -> Any:
            def before(p: Any) -> Any:
                key = theirs[p if order is None else order[p]]
                return key < mine[i] if strict else key <= mine[i]

            return first_not(before, low, high)

        if by is not None:
            return fw.map(find, fw.iota(n), starts, ends)
        heads = fw.map(lambda b: find(b * BLOCK, 0, m), fw.iota((n + BLOCK - 1) // BLOCK))

        def from_head(i: Any) -> Any:
            b = i // BLOCK
            return find(i, heads[b], fw.gather(heads, b + 1, default=m))

        return fw.map(from_head, fw.iota(n))

    found = []
    if direction != "forward":
        at = search(strict=not exact) - 1
        found.append(fw.where(at >= starts, at, -1))
    if direction != "backward":
        at = search(strict=exact)
        found.append(fw.where(at < ends, at, -1))
    away = [_distance(mine, theirs, order, at) for at in found]
    best, distance = found[0], away[0]
    if len(found) == 2:
        nearer = (found[1] >= 0) & ((found[0] < 0) | (away[1] < away[0]))
        best, distance = fw.where(nearer, found[1], best), fw.where(nearer, away[1], distance)
    if tolerance is not None:
        if not fw.isdtype(tolerance.dtype, "real floating"):
            tolerance = tolerance.astype(distance.dtype)
        best = fw.where(distance <= tolerance, best, -1)
    gone = None if by is None else is_missing(by[0])
    return _element(order, best if gone is None else fw.where(gone, -1, best))


def _element(order: Any, position: Any) -> Any:
    """The element at a position in an order, -1 for none; without an order the position."""
    return position if order is None else fw.gather(order, position, default=-1)


def _distance(mine: Any, theirs: Any, order: Any, at: Any) -> Any:
    """How far the element at a position is, of none as far as can be."""
    def one(value: Any, p: Any) -> Any:
        other = fw.gather(theirs, _element(order, p), default=0)
        return far(fw.maximum(value, other), fw.minimum(value, other))

    return fw.map(one, mine, at)
