"""Intervals that overlap or are near, and points that are near: rows of indices.

    overlaps(starts, ends, starts2, ends2)     for each interval those that overlap it
    nearest(starts, ends, starts2, ends2)      the nearest one, and how far it is
    neighbors(points, radius)                  for each point those within the radius

Second intervals are sorted by where they start: candidates begin where the greatest end so far
passes the start, and end where starts pass the end. Points are sorted by cells of a grid as wide as
the radius: candidates are runs of cells along the first axis.
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.tables.keys import one_length
from flatweave.tables.verbs import made


def _interval_arrays(starts: Any, ends: Any, who: str, which: str) -> tuple[Any, Any]:
    """Starts and ends, none of which ends before it starts."""
    first, last = (x.ticks if hasattr(x, "ticks") else fw.asarray(x) for x in (starts, ends))
    one_length([first, last], who, f"{which} starts and ends")
    fw.check(
        first <= last, f"{which} interval {{0}} of {who} ends before it starts, or is NaN.",
        remedy="Exchange its ends, or leave it out.",
    )  # fmt: skip
    return first, last


@fw.operation()
def overlaps(starts: Any, ends: Any, starts2: Any, ends2: Any) -> Any:
    """For each interval the indices of the second ones that overlap it, ascending, as a row.

    Intervals are half-open, `[start, end)`; one without any number overlaps nothing. Rows are not
    stored until they are read: `fw.map` over them fuses.

    Types: `starts: t[n], ends: t[n], starts2: t[m], ends2: t[m] ->` n rows of `i64`. Raises
    ArgumentError for an interval that ends before it starts, ShapeError for different lengths.

        >>> fw.overlaps([0, 5], [3, 6], [2, 0, 4], [9, 1, 5])
        Ragged([[0, 1], [0]], dtype=int64)
    """
    first, last = _interval_arrays(starts, ends, "overlaps", "first")
    first2, last2 = _interval_arrays(starts2, ends2, "overlaps", "second")
    begin, end, order = fw.sort((first2, last2, fw.iota(first2.shape[0])), key=lambda e: e[0])
    reach = _reach(end)
    low = fw.searchsorted(reach, first, side="right")
    high = fw.where(first < last, fw.maximum(fw.searchsorted(begin, last, side="left"), low), low)

    n = first.shape[0]

    def holds(i: Any, p: Any) -> Any:
        return (end[p] > first[i]) & (begin[p] < end[p])

    return _rows(n, (fw.iota(n), low, high), holds, order)


def _rows(n: Any, runs: tuple[Any, Any, Any], holds: Any, order: Any) -> Any:
    """For each of n owners the indices that hold among runs of sorted candidates, ascending.

    A run is its owner, and from where to where its candidates are.
    """
    pairs = fw.expand(lambda e: e[2] - e[1], lambda e, k: (e[0], e[1] + k), runs)
    owner, place = fw.filter(lambda e: holds(*e), pairs)
    return fw.sort(made(order[place], fw.histogram(n, owner)), axis=1)


def _reach(ends: Any) -> Any:
    """The greatest end so far."""
    from_below = -fw.inf if fw.isdtype(ends.dtype, "real floating") else fw.iinfo(ends.dtype).min
    return fw.scan(fw.maximum, from_below, ends)


@fw.operation()
def nearest(starts: Any, ends: Any, starts2: Any, ends2: Any) -> Any:
    """For each interval the nearest of the second ones, and the gap: (index, distance).

    The distance is 0 if they touch or overlap. Of equally near ones the lowest index is taken;
    (-1, -1) where there is none.

    Types: `starts: t[n], ends: t[n], starts2: t[m], ends2: t[m] -> i64[n], t[n]`. Raises
    ArgumentError for an interval that ends before it starts, ShapeError for different lengths.

        >>> fw.nearest([0, 5], [3, 6], [8, 4], [9, 5])
        (Array([1, 1], dtype=int64), Array([1, 0], dtype=int64))
    """
    first, last = _interval_arrays(starts, ends, "nearest", "first")
    first2, last2 = _interval_arrays(starts2, ends2, "nearest", "second")
    m = first2.shape[0]
    begin, end, order = fw.sort((first2, last2, fw.iota(m)), key=lambda e: e[0])
    ended, by_end = fw.sort_by_key(last2, fw.iota(m))
    low = fw.searchsorted(_reach(end), first, side="left")
    high = fw.searchsorted(begin, last, side="right")
    before = fw.searchsorted(ended, first, side="left")
    far = 2**63 - 1

    def one(start: Any, stop: Any, low: Any, high: Any, before: Any) -> Any:
        inside = fw.reduce(
            fw.minimum, far,
            fw.map(lambda p: fw.where(end[p] >= start, order[p], far),
                   low + fw.iota(fw.maximum(high - low, 0))),
        )  # fmt: skip
        nearest_end = fw.gather(ended, before - 1, default=0)
        left = fw.gather(by_end, fw.where(before > 0, fw.searchsorted(ended, nearest_end), -1),
                         default=far)  # fmt: skip
        right = fw.gather(order, high, default=far)
        to_left = start - nearest_end
        to_right = fw.gather(begin, high, default=0) - stop
        takes_right = (left == far) | (
            (right != far) & ((to_right < to_left) | ((to_right == to_left) & (right < left)))
        )
        index = fw.where(takes_right, right, left)
        gap = fw.where(takes_right, to_right, to_left)
        found, distance = fw.where(inside < far, inside, index), fw.where(inside < far, 0, gap)
        return fw.where(found == far, -1, found), fw.where(found == far, -1, distance)

    return fw.map(one, first, last, low, high, before)


@fw.operation()
def neighbors(points: Any, radius: Any, others: Any = None, box: Any = None) -> Any:
    """For each point the indices of the points within the radius, ascending, as a row.

    Of `others`, or of the same points, the point itself left out: then each pair is in both rows.
    A distance equal to the radius is within. `box` has the lengths after which space repeats
    itself, one for each axis: a distance is that of the nearest copies.

    Types: `points: t[n, d] or t[n], radius: t, others: t[m, d], box: t[d] ->` n rows of `i64`, for
    1 to 4 dimensions. Raises ArgumentError for a negative radius and a box whose sides are not
    above 0, ShapeError for other dimensions.

        >>> fw.neighbors([0.0, 1.0, 3.0], 1.0)
        Ragged([[1], [0], []], dtype=int64)
    """
    here = _points(points)
    there = here if others is None else _points(others)
    fw.check(fw.asarray(here.shape[1] == there.shape[1]),
             "neighbors got points of {0} dimensions and others of {1}.", here.shape[1],
             there.shape[1], error=fw.ShapeError, remedy="Give points of one space.")  # fmt: skip
    distance = fw.asarray(radius)
    fw.check(distance >= 0, "the radius of neighbors is negative, or NaN.",
             remedy="Give the distance up to which points are neighbours.")  # fmt: skip
    sides = None
    if box is not None:
        sides = fw.reshape(fw.asarray(box), -1).astype(here.dtype)
        fw.check(fw.all(sides > 0), "a side of the box of neighbors is not above 0.",
                 remedy="Give the lengths after which points repeat.")  # fmt: skip
    low, width, counts = _grid(there, distance, sides)
    strides = fw.cumprod(fw.concat([fw.full(1, 1), counts]))[:-1]
    keys, order = fw.sort_by_key(
        fw.sum(_cells(there, low, width, counts, sides) * strides, axis=1),
        fw.iota(there.shape[0]),
    )
    cells = _cells(here, low, width, counts, sides)

    n, count = here.shape[0], _power(cells.shape[1] - (sides is None))

    def near(i: Any, p: Any) -> Any:
        j = order[p]
        gap = here[i] - there[j]
        if sides is not None:
            gap = gap - sides * fw.round(gap / sides)
        found = fw.sum(gap * gap) <= distance * distance
        return found & (i != j) if others is None else found

    def run(s: Any) -> Any:
        i = s // count
        low, high = _run(cells[i], s % count, counts, strides, keys, sides is not None)
        return i, low, high

    return _rows(n, fw.map(run, fw.iota(n * count)), near, order)


def _points(points: Any) -> Any:
    """Points as floats, with an axis of dimensions."""
    array = fw.asarray(points)
    array = array if fw.isdtype(array.dtype, "real floating") else array.astype(fw.f64)
    if array.ndim == 1:
        return fw.reshape(array, (-1, 1))
    if array.ndim != 2:
        raise fw.ShapeError.here(
            f"neighbors needs points, got an array of {array.ndim} axes.",
            "Give an array of shape (n, d), or (n,) for one dimension.",
        )
    fw.check(
        fw.asarray((array.shape[1] >= 1) & (array.shape[1] <= 4)),
        "neighbors needs points of 1 to 4 dimensions, got {0}.", array.shape[1],
        error=fw.ShapeError, remedy="Take the coordinates that matter: points[:, :3].",
    )  # fmt: skip
    return array


MOST = 2.0**14
"""Cells along an axis: their number for 4 axes fits an i64."""


def _grid(points: Any, radius: Any, sides: Any) -> tuple[Any, Any, Any]:
    """Where cells begin, how wide they are, at least the radius, and how many there are."""
    if sides is not None:
        counts = fw.clip(fw.floor(sides / fw.maximum(radius, sides / MOST)), 1, MOST)
        return fw.zeros_like(sides), sides / counts, counts.astype(fw.i64)
    known = fw.where(fw.isfinite(points), points, 0)
    low, high = fw.min(known, axis=0, initial=fw.inf), fw.max(known, axis=0, initial=-fw.inf)
    width = fw.maximum(radius, (high - low) / MOST)
    width = fw.where((width > 0) & (width < fw.inf), width, 1)
    span = fw.where(high >= low, fw.floor((high - low) / width) + 1, 1)
    return fw.where(high >= low, low, 0), width, span.astype(fw.i64)


def _cells(points: Any, low: Any, width: Any, counts: Any, sides: Any) -> Any:
    """The cell of each point along each axis; -2 for a point far outside."""
    place = points - low
    if sides is not None:
        place = place - sides * fw.floor(place / sides)
    found = fw.clip(fw.floor(place / width), -2, counts + 1)
    found = fw.where(found == found, found, -2).astype(fw.i64)
    return found if sides is None else fw.clip(found, 0, counts - 1)


def _run(
    cell: Any, q: Any, counts: Any, strides: Any, keys: Any, wraps: bool
) -> tuple[Any, Any]:
    """The sorted points in the q-th run of cells around one: from where to where.

    A run goes along the first axis, where keys follow each other; in a box each cell is a run.
    """
    axes = fw.iota(cell.shape[0])
    first = axes == 0
    digit = fw.map(lambda a: q // fw.where(a == 0, 1, _power(a - (not wraps))) % 3 - 1, axes)
    if wraps:  # with fewer than three cells a step to the other side meets the same one again
        bad = fw.any(((counts < 3) & (digit < 0)) | ((counts < 2) & (digit > 0)))
        low = high = fw.sum((cell + digit + counts) % counts * strides)
    else:
        other = fw.where(first, cell, cell + digit)
        start = fw.where(first, fw.maximum(cell - 1, 0), other)
        stop = fw.where(first, fw.minimum(cell + 1, counts - 1), other)
        bad = fw.any((start > stop) | (start < 0) | (stop >= counts))
        low, high = fw.sum(start * strides), fw.sum(stop * strides)
    begin = fw.searchsorted(keys, low, side="left")
    return begin, fw.where(bad, begin, fw.searchsorted(keys, high, side="right"))


def _power(n: Any) -> Any:
    """3 to the n, for n up to 4."""
    return fw.where(n == 0, 1, fw.where(n == 1, 3, fw.where(n == 2, 9, fw.where(n == 3, 27, 81))))
