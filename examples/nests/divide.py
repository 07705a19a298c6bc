"""Divide and conquer as nests: quicksort and the convex hull (Blelloch 1990, NESL).

    python examples/nests divide

The remaining work is rows of a Ragged. In each iteration every row is divided into rows of rows,
of which the outer level is taken off. `examples/quicksort.py` and `examples/quickhull.py` are the
same programs flattened by hand: there flags say where rows begin, and scans where values go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def quicksort(xs: Any) -> Any:
    """The elements in order."""

    def divided(part: Any) -> Any:
        pivot = part[part.shape[0] // 2]
        sides = fw.map(lambda x: (x > pivot).astype(fw.i8) - (x < pivot).astype(fw.i8), part)
        return fw.map(lambda k: part[sides == k - 1], fw.iota(3))

    def turn(parts: Any) -> Any:
        parts = fw.map(divided, parts).values
        return parts[parts.lengths > 0]

    def is_unsorted(parts: Any) -> Any:
        return fw.any(fw.map(lambda part: fw.any(part[1:] < part[:-1]), parts))

    whole = fw.ragged(xs, lengths=fw.full(1, xs.shape[0]))
    return fw.while_loop(is_unsorted, turn, whole).values


def outside(p: Any, q: Any, r: Any) -> Any:
    """Above 0 when r is on the right of the way from p to q."""
    return (r[0] - p[0]) * (q[1] - p[1]) - (r[1] - p[1]) * (q[0] - p[0])


def farther(a: Any, b: Any) -> Any:
    """Of (outside, along, x, y) the farther one; of equals the last one along."""
    first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] >= b[1]))
    return tuple(fw.where(first, x, y) for x, y in zip(a, b, strict=True))


def divided(p: Any, q: Any, points: Any) -> Any:
    """An edge from p to q with the points outside of it: the corners of one or two edges from p
    on, and the points outside of each."""

    def seen(r: Any) -> Any:
        along = (r[0] - p[0]) * (q[0] - p[0]) + (r[1] - p[1]) * (q[1] - p[1])
        return outside(p, q, r), along, *r

    zero = 0 * p[0]
    corner = fw.reduce(farther, (zero, zero, *p), fw.map(seen, points))[2:]
    ways = fw.iota(fw.where(points[0].shape[0] > 0, 2, 1))

    def begin(k: Any) -> Any:
        return tuple(fw.where(k == 0, a, b) for a, b in zip(p, corner, strict=True))

    def left(k: Any) -> Any:
        end = tuple(fw.where(k == 0, b, c) for b, c in zip(corner, q, strict=True))
        return fw.filter(lambda r: outside(begin(k), end, r) > 0, points)

    return fw.map(begin, ways), fw.map(left, ways)


@fw.jit
def quickhull(xs: Any, ys: Any) -> Any:
    """The corners of the hull of points, counter-clockwise from the leftmost."""

    def farthest(way: int) -> Any:
        """The leftmost point or the rightmost one; of these the lowest or the highest one."""
        seen = fw.map(lambda x, y: (way * x, way * y, x, y), xs, ys)
        return fw.reduce(farther, tuple(part[0] for part in seen), seen)[2:]

    def is_open(state: Any) -> Any:
        return state[1][0].values.shape[0] > 0

    def turn(state: Any) -> Any:
        corners, points = state
        ends = tuple(fw.rotate(x, 1) for x in corners)
        corners, points = fw.map(divided, corners, ends, points)
        return tuple(x.values for x in corners), tuple(x.values for x in points)

    left, right = farthest(-1), farthest(1)
    corners = tuple(fw.concat([fw.full(1, a), fw.full(1, b)])
                    for a, b in zip(left, right, strict=True))  # fmt: skip
    sides = fw.map(lambda p, q: fw.filter(lambda r: outside(p, q, r) > 0, (xs, ys)),
                   corners, tuple(fw.rotate(x, 1) for x in corners))  # fmt: skip
    return fw.while_loop(is_open, turn, (corners, sides))[0]


def plain_hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners in order: Andrew's monotone chain, from the leftmost."""
    halves = []
    for way in (sorted(set(points)), sorted(set(points), reverse=True)):
        half: list[tuple[int, int]] = []
        for point in way:
            while len(half) > 1 and outside(half[-2], half[-1], point) >= 0:
                half.pop()
            half.append(point)
        halves += half[:-1]
    return halves or points[:1]


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy or plain Python, whether they agree."""
    size, draw = 1000 if quick else 200_000, np.random.default_rng(19)
    xs = draw.random(size)
    yield ("quicksort", f"{size:,} numbers", lambda: quicksort(xs), lambda: np.sort(xs),
           np.array_equal)  # fmt: skip
    points = draw.normal(0, 1000, (2, size)).astype(np.int64)
    yield ("quickhull", f"{size:,} points", lambda: quickhull(*points),
           lambda: plain_hull(list(zip(*points.tolist(), strict=True))),
           lambda ours, plain: np.array_equal(np.stack(ours, axis=1), plain))  # fmt: skip
