"""Quickhull: the convex hull of a set of points, all edges at once (Blelloch 1990, NESL).

    python examples/quickhull.py                  100,000 points: build/demo/quickhull.png
    python examples/quickhull.py 5000 [FOLDER]    5,000 points, the picture into this folder

The points outside one edge of the hull form a segment. An iteration finds the farthest of every
segment, which is a corner of the hull: the edge expands to two. Of the points only those outside of
one of the two are kept, in two segments. It ends when no point is outside.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw
from quicksort import segments, split

import flatweave as fw

FOLDER = Path("build") / "demo"
POINTS = 100_000
SIDE, FINE = 800, 2  # the picture is drawn larger by `FINE` and made smaller: smooth lines


class Point(NamedTuple):
    """A point in the plane."""

    x: Any
    y: Any


class Reach(NamedTuple):
    """A point, how far outside of an edge it lies, and how far along it."""

    outside: Any
    along: Any
    x: Any
    y: Any


def nowhere(seen: Reach) -> Reach:
    """What every point is farther than, in the dtype of the points."""
    dtype = np.dtype(seen.outside.dtype)
    least = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    return Reach(least, least, 0, 0)


def outside(p: Point, q: Point, point: Point) -> Any:
    """Above 0 when a point is on the right of the way from p to q."""
    return (point.x - p.x) * (q.y - p.y) - (point.y - p.y) * (q.x - p.x)


def reach(point: Point, p: Point, q: Point) -> Reach:
    """A point as it is seen from an edge."""
    along = (point.x - p.x) * (q.x - p.x) + (point.y - p.y) * (q.y - p.y)
    return Reach(outside(p, q, point), along, point.x, point.y)


def farther(a: Reach, b: Reach) -> Reach:
    """The farther one; of equals the last one along, which is a corner and no point between two."""
    first = (a.outside > b.outside) | ((a.outside == b.outside) & (a.along >= b.along))
    return Reach(*(fw.where(first, u, v) for u, v in zip(a, b, strict=True)))


def farthest(points: Point, direction: tuple[int, int], turn: tuple[int, int]) -> Point:
    """The last point in a direction; of equals the last one in another."""
    (dx, dy), (tx, ty) = direction, turn
    seen = fw.map(lambda p: Reach(dx * p.x + dy * p.y, tx * p.x + ty * p.y, p.x, p.y), points)
    found = fw.reduce(farther, nowhere(seen), seen)
    return Point(found.x, found.y)


def ends(corners: Point, edge: Any) -> tuple[Point, Point]:
    """The corners of an edge; the last edge goes back to the first corner."""
    behind = fw.where(edge + 1 < corners.x.shape[0], edge + 1, 0)
    return Point(*(x[edge] for x in corners)), Point(*(x[behind] for x in corners))


def kept(points: Point, edges: Any) -> tuple[Point, Any]:
    """The points that have an edge, -1 being none; their edges."""
    x, y, edges = fw.filter(lambda p: p[2] >= 0, (*points, edges))
    return Point(x, y), edges


@fw.jit
def quickhull(points: Point) -> Any:
    """The corners of the hull, counter-clockwise from the leftmost, and the iterations."""
    left = farthest(points, (-1, 0), (0, -1))
    right = farthest(points, (1, 0), (0, 1))
    corners = Point(*(fw.generate(2, lambda i, k=k: fw.where(i == 0, left[k], right[k]))
                      for k in range(2)))  # fmt: skip
    below = fw.map(lambda p: fw.where(outside(left, right, p) > 0, 0, -1), points)
    above = fw.map(lambda p: fw.where(outside(right, left, p) > 0, 1, -1), points)
    halves = kept(points, below), kept(points, above)
    rest = Point(*(fw.concat([half[0][k] for half in halves]) for k in range(2)))
    edges = fw.concat([half[1] for half in halves])

    def is_open(state: Any) -> Any:
        return state[2].shape[0] > 0

    def turn(state: Any) -> Any:
        corners, points, edges, turns = state
        flags = fw.map(
            lambda i, edge: (i == 0) | (edges[fw.maximum(i - 1, 0)] != edge),
            fw.iota(edges.shape[0]), edges,
        )  # fmt: skip
        segment, starts = segments(flags)
        seen = fw.map(lambda p, edge: reach(p, *ends(corners, edge)), points, edges)
        far = fw.segmented_reduce(farther, nowhere(seen), flags, seen)

        # the segment of every edge, -1 when nothing is outside of it; each other edge is split
        size = corners.x.shape[0]
        of_edge = fw.scatter(fw.full(size, -1), edges[starts], fw.iota(starts.shape[0]))
        parts = fw.map(lambda s: fw.where(s >= 0, 2, 1), of_edge)
        numbers = fw.scan(fw.add, 0, parts, exclusive=True)

        def corner(edge: Any, part: Any) -> Point:
            s = fw.maximum(of_edge[edge], 0)
            old, new = Point(*(x[edge] for x in corners)), Point(far.x[s], far.y[s])
            return Point(*(fw.where(part == 0, a, b) for a, b in zip(old, new, strict=True)))

        def side(point: Point, edge: Any, s: Any) -> Any:
            p, q = ends(corners, edge)
            middle = Point(far.x[s], far.y[s])
            first, second = outside(p, middle, point) > 0, outside(middle, q, point) > 0
            return fw.where(first, 0, fw.where(second, 1, 2))

        sides = fw.map(side, points, edges, segment)
        places, _ = split(flags, sides, 3)
        after = fw.map(lambda e, s: fw.where(s < 2, numbers[e] + s, -1), edges, sides)
        points = Point(*(fw.scatter(x, places, x) for x in points))
        points, edges = kept(points, fw.scatter(edges, places, after))
        corners = fw.expand(lambda e: parts[e], corner, fw.iota(size))
        return corners, points, edges, turns + 1

    corners, _, _, turns = fw.while_loop(is_open, turn, (corners, rest, edges, 0))
    return corners, turns


def hull(xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """The corners as an array n x 2; raises ValueError where there is no hull."""
    if not xs.size:
        raise ValueError("there are no points, and so there is no hull")
    if not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise ValueError("some point is not finite")
    corners = np.stack([np.asarray(x) for x in quickhull(Point(xs, ys))[0]], axis=1)
    return corners[:1] if np.array_equal(corners[0], corners[1]) else corners


def plain_hull(xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """The same by sorting and a stack (Andrew 1979), one point after the other."""
    points = sorted(set(zip(xs.tolist(), ys.tolist(), strict=True)))
    if len(points) == 1:
        return np.array(points)

    def half(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for point in points:
            while len(chain) > 1 and outside(*map(Point._make, (*chain[-2:], point))) >= 0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return np.array(half(points) + half(points[::-1]))


def cloud(number: int) -> Point:
    """Points of three normal distributions."""
    draw = np.random.default_rng(1977)
    middle = np.array([[-2.0, -0.5], [1.5, 1.0], [0.5, -2.0]])[draw.integers(0, 3, number)]
    return Point(*(middle + draw.normal(0, 0.7, (number, 2))).T.copy())


def draw(points: Point, corners: np.ndarray, folder: Path) -> Path:
    """Write a picture of the points and their hull; its path."""
    places = np.stack(points, axis=1)
    low, high = places.min(axis=0), places.max(axis=0)
    scale = 0.9 * SIDE * FINE / (high - low).max()

    def on_paper(places: np.ndarray) -> np.ndarray:
        middle = (places - (low + high) / 2) * [1, -1]
        return SIDE * FINE / 2 + middle * scale

    picture = Image.new("RGB", (SIDE * FINE, SIDE * FINE), "white")
    pen = ImageDraw.Draw(picture)
    pen.polygon([tuple(p) for p in on_paper(corners)], fill="#eef2fa")
    pen.point([tuple(p) for p in on_paper(places)], fill="#8aa0c8")
    pen.line([tuple(p) for p in on_paper(corners[[*range(len(corners)), 0]])], "#1e3c78", 2 * FINE)
    for x, y in on_paper(corners):
        pen.ellipse([x - 4 * FINE, y - 4 * FINE, x + 4 * FINE, y + 4 * FINE], fill="#c8371e")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "quickhull.png"
    picture.resize((SIDE, SIDE), Image.Resampling.BOX).save(path)
    return path


def main(argv: list[str]) -> int:
    """Draw the hull of random points, compare with the plain one: 0 when they agree."""
    points = cloud(int(argv[0]) if argv else POINTS)
    quickhull(Point(*(x[:10] for x in points)))  # compile
    start = time.perf_counter()
    corners, turns = hull(*points), int(quickhull(points)[1])
    seconds = (time.perf_counter() - start) / 2
    start = time.perf_counter()
    expected = plain_hull(*points)
    plain_seconds = time.perf_counter() - start
    print(f"{points.x.size} points, {len(corners)} corners in {turns} turns")
    print(f"flatweave: {seconds:.3f} s, plain Python: {plain_seconds:.3f} s")
    print(draw(points, corners, Path(argv[1]) if len(argv) > 1 else FOLDER))
    return 0 if np.array_equal(corners, expected) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
