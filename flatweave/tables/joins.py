"""Joins: the elements of two tables that have equal keys.

    j = fw.join(left, right)          right keys in order, each left one looked up in it
    j.rows                            for each left element the right ones, read where they are used
    j.left, j.right                   the pairs, in order

The matches of a left element are a part of that order. Keys are looked up in a table with a slot
for each possible key, or in their hashes, which ascend.
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
    parts_of,
    plain,
    ticks,
)
from flatweave.tables.nullable import Nullable, has_text, is_text
from flatweave.tables.numbering import by_number, hash_of, numbered, offsets_of, slot_of, table_of
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
        return _side(self, is_right=False)

    @property
    def right(self) -> Any:
        """The right index of each pair."""
        return _side(self, is_right=True)


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
    rank = numbered(both, False, who).rank
    rank = rank - fw.min(rank, initial=2**63 - 1)
    return rank[:n], rank[n:], fw.max(rank, initial=-1) + 1


@fw.operation(static="how", name="join")
def _joined(left: Any, right: Any, how: str) -> Any:
    n, m = (plain(side[0]).shape[0] for side in (left, right))
    mine, theirs = _one_column(left, right)
    kept = None if (gone := is_missing(right)) is None else fw.iota(m)[fw.logical_not(gone)]
    first, counts, order = matches(mine, theirs, kept)
    missing = is_missing(left)
    if missing is not None:
        counts = fw.where(missing, 0, counts)
    if how in ("semi", "anti"):
        return fw.iota(n)[counts > 0 if how == "semi" else counts == 0]
    matched = None
    if how in ("right", "full", "outer"):
        # where a run of keys that match begins, its end
        ends = fw.scatter(fw.full(order.shape, 0), fw.where(counts > 0, first, -1), first + counts)
        reached = fw.scan(fw.maximum, 0, ends) > fw.iota(order.shape[0])
        matched = fw.scatter(fw.full(m, False), order, reached)
    return Join(first, counts, order, matched, True if how in ("left", "full", "outer") else None)


def _one_column(left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    """A column of keys for each side: one of integers or of text as it is, others numbered."""
    if len(left) == 1:
        known = (key.values if isinstance(key, Nullable) else key for key in (*left, *right))
        a, b = (parts_of(key)[0] for key in known)
        if is_text(a) or not fw.isdtype(fw.concat([a[:0], b[:0]]).dtype, "real floating"):
            return a, b
    return together(left, right, "join")[:2]


@fw.operation(name="join")
def matches(left: Any, right: Any, kept: Any) -> Any:
    """Where the matches of each left key begin in the order of the right ones, how many they are,
    and that order, of all right keys or of those that are `kept`."""
    dtype = fw.concat([left[:0], right[:0]]).dtype
    mine, theirs = left.astype(dtype), (right if kept is None else right[kept]).astype(dtype)
    table: Any = table_of([theirs], mine.shape[0] + theirs.shape[0])

    def by_slot() -> Any:
        has_slot = far(mine, table.least[0]) < table.total.astype(fw.u64)
        slots = fw.where(has_slot, table.slots([mine]), -1)
        order, offsets = by_number(table.slots([theirs]), table.total)
        first = fw.gather(offsets, slots, default=0)
        return first, fw.gather(offsets, slots + 1, default=0) - first, order

    first, counts, order = fw.cond(table.fits, by_slot, lambda: _by_hash(mine, theirs))
    return first, counts, order if kept is None else kept[order]


SHARE = 4
"""Keys for each slot of a table of hashes: fewer take more memory, which is read at random."""


def _by_hash(mine: Any, theirs: Any) -> Any:
    """The same by hashes, which are equal only where keys are. Right ones ascend; a table says
    where those of each slot begin."""
    m = theirs.shape[0]
    hashes, order = fw.sort((fw.map(hash_of, theirs), fw.iota(m)), key=lambda e: e[0])
    size = fw.asarray(m // SHARE + 1)
    counts = fw.histogram(size, fw.map(lambda h: slot_of(h, size), hashes))
    offsets, longest = offsets_of(counts), fw.max(counts, initial=0)

    def at(p: Any) -> Any:
        return fw.gather(hashes, p, default=0)

    def look_up(key: Any) -> tuple[Any, Any]:
        sought = hash_of(key)
        slot = slot_of(sought, size)
        stop = offsets[slot + 1]
        first = first_not(lambda p: at(p) < sought, offsets[slot], stop, longest)
        holds = (first < stop) & (at(first) == sought)
        again = holds & (first + 1 < stop) & (at(first + 1) == sought)
        end = first_not(lambda p: at(p) == sought, first + 1, fw.where(again, stop, first + 1))
        return first, fw.where(holds, end - first, 0)

    return *fw.map(look_up, mine), order


@fw.operation()
def _rows(found: Join) -> Any:
    order, runs = found.order, (found.first, found.counts)
    values = fw.expand(lambda e: e[1], lambda e, k: order[e[0] + k], runs)
    return made(values, found.counts)


@fw.operation(static="is_right")
def _side(found: Join, is_right: bool) -> Any:
    """An index of each pair. Where each left element has one match at most, as where right keys are
    unique, pairs are a filter, and with all left elements a map."""
    order, keeps_left = found.order, found.keeps_left is not None
    elements = (fw.iota(found.counts.shape[0]), found.counts, found.first)

    def index(i: Any, count: Any, place: Any) -> Any:
        return fw.gather(order, fw.where(count > 0, place, -1), default=-1) if is_right else i

    def once() -> Any:
        kept = elements if keeps_left else fw.filter(lambda e: e[1] > 0, elements)
        return fw.map(index, *kept)

    def often() -> Any:
        return fw.expand(
            lambda e: fw.maximum(e[1], 1) if keeps_left else e[1],
            lambda e, k: index(e[0], e[1], e[2] + k), elements,
        )  # fmt: skip

    pairs = fw.cond(fw.max(found.counts, initial=0) <= 1, once, often, same=True)
    if found.matched is None:
        return pairs
    unmatched = fw.iota(found.matched.shape[0])[fw.logical_not(found.matched)]
    return fw.concat([pairs, unmatched if is_right else fw.full(unmatched.shape, -1)])


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
        def find(i: Any, low: Any, high: Any, most: Any = None) -> Any:
            def before(p: Any) -> Any:
                key = fw.gather(theirs, p if order is None else order[p], default=0)
                return key < mine[i] if strict else key <= mine[i]

            return first_not(before, low, high, most)

        if by is not None:
            return fw.map(find, fw.iota(n), starts, ends)
        heads = fw.map(lambda b: find(b * BLOCK, 0, m), fw.iota((n + BLOCK - 1) // BLOCK))
        longest = fw.max(fw.diff(heads, append=m), initial=0)

        def from_head(i: Any) -> Any:
            b = i // BLOCK
            return find(i, heads[b], fw.gather(heads, b + 1, default=m), longest)

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
