"""Joins: the elements of two tables that have equal keys; and windows: rows that may overlap.

    j = fw.join(left, right)          both key columns numbered together
    j.rows                            for each left element the right ones, read where they are used
    j.left, j.right                   the pairs, in order

Right elements are put in the order of their keys: the matches of a left element are a part of it.

    slices(xs, starts, ends)          map (s, e => xs[s:e]) starts ends
    rolling(xs, 3)                    the last three elements up to each one
    rolling_by(times, xs, width)      the elements of the last `width` of time

Nothing of a window is stored: what maps over them reads the array.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import flatweave as fw
from flatweave.tables.keys import (
    ascend,
    both_sides,
    coded,
    column,
    columns,
    encoded,
    far,
    first_not,
    in_unit_of,
    is_missing,
    one_length,
    plain,
    ticks,
    whole,
)
from flatweave.tables.nullable import has_text
from flatweave.tables.numbering import by_number, some_numbers
from flatweave.tables.selection import changed, one_of, worst
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


CLOSED = {  # the sides on which times equal to the ends of a window are searched
    "right": ("right", "right"), "left": ("left", "left"), "both": ("left", "right"),
    "neither": ("right", "left"),
}  # fmt: skip


@fw.operation(any_dtype=True)
def slices(xs: Any, starts: Any, ends: Any) -> Any:
    """Rows `xs[starts[i]:ends[i]]`, which may overlap. Maps over them fuse, and store none of them.

    Types: `xs: t[n, ..], starts: integer[k], ends: integer[k] ->` k rows. Raises IndexOutOfBounds
    unless `0 <= start <= end <= n`, ShapeError where there are more starts or ends.
    Source: Flatweave.

        >>> fw.slices([1, 2, 3, 4], [0, 1, 3], [2, 4, 3])
        Ragged([[1, 2], [2, 3, 4], []], dtype=int64)
    """
    array, first, last = fw.asarray(xs), fw.asarray(starts), fw.asarray(ends)
    one_length([first, last], "slices", "starts and ends")
    n = array.shape[0]
    fw.check((first >= 0) & (first <= last), "slice {0} begins at {1}, before 0 or after its end.",
             first, error=fw.IndexOutOfBounds, remedy=INSIDE)  # fmt: skip
    fw.check(last <= n, "slice {0} ends at {1}, after the end of the array.", last,
             error=fw.IndexOutOfBounds, remedy=INSIDE)  # fmt: skip
    return _cut(array, first, last)


INSIDE = "Bring the ends inside: fw.clip(ends, 0, n)."


def _cut(array: Any, starts: Any, ends: Any) -> Any:
    """Rows whose ends are known to be inside."""
    return fw.map(lambda start, end: array[start:end], starts, ends)


@fw.operation(any_dtype=True)
def rolling(xs: Any, size: Any, min_periods: Any = None) -> Any:
    """The window of the last `size` elements up to each one, cut at the start, as rows.

    Windows of fewer than `min_periods` elements are empty rows; by default that is `size`.

    Types: `xs: t[n, ..], size: integer ->` n rows. Raises ArgumentError for a size below 1.
    Source: `pandas.Series.rolling`.

        >>> fw.rolling([1, 2, 3, 4], 3)
        Ragged([[], [], [1, 2, 3], [2, 3, 4]], dtype=int64)
        >>> fw.sum(fw.rolling([1, 2, 3, 4], 3, min_periods=1), axis=1)
        Array([1, 3, 6, 9], dtype=int64)
    """
    array, length = fw.asarray(xs), whole(size, "the size of rolling")
    fw.check(length >= 1, "rolling needs windows of 1 element or more, got {0}.", length,
             remedy="Give the number of elements of a window.")  # fmt: skip
    least = length if min_periods is None else whole(min_periods, "min_periods of rolling")
    fw.check(least >= 0, "min_periods of rolling is negative: {0}.", least,
             remedy="Give the number of elements that a window has at least.")  # fmt: skip
    ends = fw.iota(array.shape[0]) + 1
    starts = fw.maximum(ends - length, 0)
    return _cut(array, fw.where(ends - starts < least, ends, starts), ends)


def rolling_by(times: Any, xs: Any, width: Any, closed: str = "right") -> Any:
    """The window of the elements whose time is at most `width` before that of each one, as rows.

    The window of the element at time t is `(t - width, t]`; `closed` is "right", "left", "both" or
    "neither". Elements of equal time are in the same windows.

    Types: `times: k[n], xs: t[n, ..], width: k ->` n rows. Raises ArgumentError for times that
    descend, for a negative width and for another `closed`, ShapeError for different lengths.
    Source: polars' `rolling`.

        >>> fw.rolling_by([0, 1, 1, 5], [1, 2, 3, 4], 2)
        Ragged([[1], [1, 2, 3], [1, 2, 3], [4]], dtype=int64)
    """
    one_of(closed, CLOSED, f"closed of rolling_by is no {closed!r}.")
    times, _ = column(times)
    width = in_unit_of(times, width, "the width of rolling_by")
    return _rolling_by(xs, times, width, closed=closed)


@fw.operation(static="closed", name="rolling_by", any_dtype=True)
def _rolling_by(xs: Any, times: Any, width: Any, closed: str) -> Any:
    array = fw.asarray(xs)
    now, then, span = map(plain, (times, times - width, width))
    one_length([now, array], "rolling_by", "times and elements")
    ascend(now, "times of rolling_by")
    fw.check(fw.asarray(span) >= 0, "the width of rolling_by is negative, or NaN.",
             remedy="Give a width of 0 or more.")  # fmt: skip
    first, last = CLOSED[closed]
    starts = fw.searchsorted(now, then, side=first)
    if not fw.isdtype(then.dtype, "real floating"):  # where no integer is early enough, from 0 on
        room = far(now, fw.asarray(worst(now.dtype, is_min=False)).astype(now.dtype))
        starts = fw.where(room < span.astype(fw.u64), 0, starts)
    ends = fw.searchsorted(now, now, side=last)
    return _cut(array, fw.minimum(starts, ends), ends)
