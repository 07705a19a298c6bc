"""Intervals that overlap or are near, and points that are near: rows of indices.

    overlaps(starts, ends, starts2, ends2)     for each interval those that overlap it
    nearest(starts, ends, starts2, ends2)      the nearest one, and how far it is
    neighbors(points, radius)                  for each point those within the radius

Second intervals are sorted by where they start: candidates begin where the greatest end so far
passes the start, and end where starts pass the end. Points are sorted by cells of a grid as wide as
the radius: candidates are runs of cells along the first axis.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import flatweave as fw
from flatweave.tables.keys import far, first_not, one_length, ticks
from flatweave.tables.verbs import made


def _interval_arrays(who: str, *ends: Any) -> tuple[Any, ...]:
    """Starts and ends of both tables, none of which ends before it starts."""
    found = ticks(who, *ends)
    for k, which in enumerate(("first", "second")):
        first, last = found[2 * k : 2 * k + 2]
        one_length([first, last], who, f"{which} starts and ends")
        fw.check(
            first <= last, f"{which} interval {{0}} of {who} ends before it starts, or is NaN.",
            remedy="Exchange its ends, or leave it out.",
        )  # fmt: skip
    return found


@fw.operation()
def overlaps(starts: Any, ends: Any, starts2: Any, ends2: Any) -> Any:
    """For each interval the indices of the second ones that overlap it, ascending, as a row.

    Intervals are half-open, `[start, end)`; one without any number overlaps nothing. Rows are not
    stored until they are read: `fw.map` over them fuses.

    Types: `starts: t[n], ends: t[n], starts2: t[m], ends2: t[m] ->` n rows of `i64`. Raises
    ArgumentError for an interval that ends before it starts, ShapeError for different lengths.
    Source: bedtools' `intersect`.

        >>> fw.overlaps([0, 5], [3, 6], [2, 0, 4], [9, 1, 5])
        Ragged([[0, 1], [0]], dtype=int64)
    """
    first, last, first2, last2 = _interval_arrays("overlaps", starts, ends, starts2, ends2)
    begin, end, order = fw.sort((first2, last2, fw.iota(first2.shape[0])), key=lambda e: e[0])
    reach = fw.cummax(end)
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


@fw.operation()
def nearest(starts: Any, ends: Any, starts2: Any, ends2: Any) -> Any:
    """For each interval the nearest of the second ones, and the gap: (index, distance).

    The distance is 0 if they touch or overlap; for integers its dtype is i64. Of equally near ones
    the lowest index is taken; (-1, -1) if there is no other interval.

    Types: `starts: t[n], ends: t[n], starts2: t[m], ends2: t[m] -> i64[n], t[n]`. Raises
    ArgumentError for an interval that ends before it starts, ShapeError for different lengths.
    Source: bedtools' `closest`.

        >>> fw.nearest([0, 5], [3, 6], [8, 4], [9, 5])
        (Array([1, 1], dtype=int64), Array([1, 0], dtype=int64))
    """
    first, last, first2, last2 = _interval_arrays("nearest", starts, ends, starts2, ends2)
    m = first2.shape[0]
    begin, end, order = fw.sort((first2, last2, fw.iota(m)), key=lambda e: e[0])
    ended, by_end = fw.sort_by_key(last2, fw.iota(m))
    low = fw.searchsorted(fw.cummax(end), first, side="left")
    high = fw.searchsorted(begin, last, side="right")
    before = fw.searchsorted(ended, first, side="left")
    none = 2**63 - 1

    def one(start: Any, stop: Any, low: Any, high: Any, before: Any) -> Any:
        inside = fw.reduce(
            fw.minimum, none,
            fw.map(lambda p: fw.where(end[p] >= start, order[p], none),
                   low + fw.iota(fw.maximum(high - low, 0))),
        )  # fmt: skip
        nearest_end = fw.gather(ended, before - 1, default=0)
        left = fw.gather(by_end, fw.where(before > 0, fw.searchsorted(ended, nearest_end), -1),
                         default=none)  # fmt: skip
        right = fw.gather(order, high, default=none)
        to_left = far(start, nearest_end)
        to_right = far(fw.gather(begin, high, default=0), stop)
        takes_right = (left == none) | (
            (right != none) & ((to_right < to_left) | ((to_right == to_left) & (right < left)))
        )
        index = fw.where(takes_right, right, left)
        gap = fw.where(takes_right, to_right, to_left)
        gap = gap if fw.isdtype(gap.dtype, "real floating") else gap.astype(fw.i64)
        found, distance = fw.where(inside < none, inside, index), fw.where(inside < none, 0, gap)
        return fw.where(found == none, -1, found), fw.where(found == none, -1, distance)

    return fw.map(one, first, last, low, high, before)


@fw.operation()
def neighbors(points: Any, radius: Any, others: Any = None, box: Any = None) -> Any:
    """For each point the indices of the points within the radius, ascending, as a row.

    Of `others`, or of the same points, the point itself left out: then each pair is in both rows.
    A distance equal to the radius is within. `box` has the lengths after which space repeats
    itself, one for each axis: a distance is that of the nearest copies.

    Types: `points: t[n, d] or t[n], radius: t, others: t[m, d], box: t[d] ->` n rows of `i64`, for
    1 to 4 dimensions. Raises ArgumentError for a negative radius and a box whose sides are not
    above 0, ShapeError for other dimensions. Source: `scipy.spatial.KDTree.query_ball_point`.

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
        sides = fw.stack(box) if isinstance(box, tuple) else fw.asarray(box)
        sides = fw.reshape(sides, -1).astype(here.dtype)
        fw.check(fw.asarray(sides.shape[0] == here.shape[1]),
                 "neighbors got points of {0} dimensions and a box of {1}.", here.shape[1],
                 sides.shape[0], error=fw.ShapeError,
                 remedy="Give a length for each dimension: box=(10.0, 10.0).")  # fmt: skip
        fw.check(fw.all(sides > 0), "a side of the box of neighbors is not above 0.",
                 remedy="Give the lengths after which points repeat.")  # fmt: skip
    grid = _grid(there, distance, sides)
    keys, order, cells, theirs = _by_cell(grid, there)
    # points of a cell follow each other, so that the candidates of one are in caches for the next
    own, cells, mine = (order, cells, theirs) if others is None else _by_cell(grid, here)[1:]
    position = _positions(keys, grid.total)
    n, runs = here.shape[0], grid.runs(here.shape[1])

    def run(s: Any) -> Any:
        start, stop = grid.run([cell[s // runs] for cell in cells], s % runs)
        return s // runs, position(start), position(stop)

    def near(i: Any, p: Any) -> Any:
        square = 0
        for k in range(AXES):
            gap = grid.gap(mine[k][i], theirs[k][p], k)
            square = square + gap * gap
        found = square <= distance * distance
        return found & (i != p) if others is None else found

    rows = _rows(n, fw.map(run, fw.iota(n * runs)), near, order)
    return rows[fw.scatter(fw.full(n, 0), own, fw.iota(n))]


def _by_cell(grid: _Grid, points: Any) -> tuple[Any, ...]:
    """Points cell by cell: the numbers of their cells, which they are, their cells along each axis,
    and their coordinates."""
    coordinates = _coordinates(points)
    cells = tuple(grid.cell(x, k) for k, x in enumerate(coordinates))
    keys, order = fw.sort_by_key(grid.key(cells), fw.iota(points.shape[0]))
    moved = [tuple(fw.gather(x, order) for x in each) for each in (cells, coordinates)]
    return keys, order, *moved


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


AXES = 4
"""Points of fewer dimensions have a coordinate of 0, and one cell, along the others."""

MOST = 2.0**14
"""Cells along an axis: their number for 4 axes fits an i64."""


def _coordinates(points: Any) -> tuple[Any, ...]:
    """The coordinates of points, an array for each axis."""
    d = points.shape[1]
    axes = tuple(fw.minimum(k, d - 1) for k in range(AXES))
    return tuple(
        fw.map(lambda i, k=k: fw.where(k < d, points[i, axes[k]], 0), fw.iota(points.shape[0]))
        for k in range(AXES)
    )


@dataclasses.dataclass(frozen=True)
class _Grid:
    """Cells at least as wide as the radius: neighbours of a point are in its cell or next to it."""

    low: list[Any]  # where cells begin, along each axis
    width: list[Any]
    counts: list[Any]
    sides: list[Any] | None  # of the box

    @property
    def total(self) -> Any:
        """The number of cells."""
        return math.prod(self.counts)

    def cell(self, coordinates: Any, k: int) -> Any:
        """The cell of each coordinate along axis k; -2 or one after the last if it is far outside.
        """
        def one(x: Any) -> Any:
            place, last = x - self.low[k], self.counts[k] - 1
            if self.sides is not None:
                place = place - self.sides[k] * fw.floor(place / self.sides[k])
            found = fw.floor(place / self.width[k])
            found = fw.where(found == found, fw.clip(found, -2, last + 2), -2).astype(fw.i64)
            return found if self.sides is None else fw.clip(found, 0, last)

        return fw.map(one, coordinates)

    def gap(self, x: Any, y: Any, k: int) -> Any:
        """From one coordinate to another along axis k, of the nearest copies in a box."""
        gap = x - y
        if self.sides is None:
            return gap
        return gap - self.sides[k] * fw.round(gap / self.sides[k])

    def key(self, cells: Any) -> Any:
        """The number of a cell; cells along the first axis follow each other."""
        return sum(cell * math.prod(self.counts[:k]) for k, cell in enumerate(cells))

    def runs(self, d: Any) -> Any:
        """How many runs of cells surround a cell."""
        others = fw.where(d > 2, fw.where(d > 3, 27, 9), fw.where(d > 1, 3, 1))
        return others if self.sides is None else 2 * others

    def run(self, cell: list[Any], q: Any) -> tuple[Any, Any]:
        """The q-th run of cells around one: from which number to below which.

        A run has three cells along the first axis. In a box a second one has the cell at the other
        side.
        """
        most, (first, *others) = self.counts[0] - 1, cell
        start, stop = fw.maximum(first - 1, 0), fw.minimum(first + 1, most)
        absent = start > stop
        if self.sides is not None:
            again, q = q % 2 == 1, q // 2
            absent = absent | (again & ((most < 2) | ((first > 0) & (first < most))))
            opposite = fw.where(first == 0, most, 0)
            start, stop = fw.where(again, opposite, start), fw.where(again, opposite, stop)
        steps = []
        for k, at in enumerate(others, start=1):
            count, step, q = self.counts[k], q % 3, q // 3
            there = at + fw.where(step == 2, -1, step)
            if self.sides is not None:  # with fewer than three cells two steps may meet
                absent, there = absent | (count <= step), (there + count) % count
            absent = absent | (there < 0) | (there >= count)
            steps.append(there)
        start, stop = self.key([start, *steps]), self.key([stop, *steps]) + 1
        return fw.where(absent, 0, start), fw.where(absent, 0, stop)


def _grid(points: Any, radius: Any, sides: Any) -> _Grid:
    """The cells of points."""
    d = points.shape[1]

    def of_axes(values: Any, other: Any) -> list[Any]:
        return [fw.where(k < d, values[fw.minimum(k, d - 1)], other) for k in range(AXES)]

    if sides is not None:
        counts = fw.clip(fw.floor(sides / fw.maximum(radius, sides / MOST)), 1, MOST)
        return _Grid(of_axes(fw.zeros_like(sides), 0), of_axes(sides / counts, 1),
                     of_axes(counts.astype(fw.i64), 1), of_axes(sides, 1))  # fmt: skip
    known = fw.where(fw.isfinite(points), points, 0)
    low, high = fw.min(known, axis=0, initial=fw.inf), fw.max(known, axis=0, initial=-fw.inf)
    width = fw.maximum(radius, (high - low) / MOST)
    width = fw.where(width > 0, width, 1)
    span = fw.where(high >= low, fw.floor((high - low) / width) + 1, 1)
    return _Grid(of_axes(fw.where(high >= low, low, 0), 0), of_axes(width, 1),
                 of_axes(span.astype(fw.i64), 1), None)  # fmt: skip


def _positions(keys: Any, total: Any) -> Any:
    """A function that finds the first of ascending keys not below a number up to `total`.

    A table has the position for every number, or for every 2, 4, 8 .. where keys are few: then a
    binary search goes on between two of its positions.
    """
    m = keys.shape[0]
    excess = fw.maximum(total.astype(fw.f64) / (2 * m + 2), 1)
    shift = fw.ceil(fw.log2(excess)).astype(fw.i64)
    table = fw.searchsorted(keys, fw.iota((total >> shift) + 2) << shift, side="left")

    def position(number: Any) -> Any:
        bucket = number >> shift
        low = table[bucket]
        high = fw.where(bucket << shift == number, low, table[bucket + 1])
        return first_not(lambda p: keys[p] < number, low, high)

    return position
