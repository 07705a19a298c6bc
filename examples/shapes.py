"""Lines, triangles and circles by expansion (Elsman and others 2019, sections 1 and 4.1).

    python examples/shapes.py                     build/demo/lines.png, triangles.png, circles.png
    python examples/shapes.py FOLDER              the pictures into this folder

A line expands to its points, and a triangle or a disc to its horizontal lines, each of another
length. Two expansions in a row make triangles into points; only the lines between them are stored,
and the points go straight into the grid.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import flatweave as fw

FOLDER = Path("build") / "demo"
CELL = 12  # pixels of the picture for a point of the grid
PAPER, INK, RULE = (255, 255, 255), (30, 60, 120), (222, 226, 234)


class Point(NamedTuple):
    """A point on the grid; y grows downwards."""

    x: Any
    y: Any


class Line(NamedTuple):
    """Two ends, both of them drawn."""

    p: Point
    q: Point


class Triangle(NamedTuple):
    """Three corners in any order."""

    p: Point
    q: Point
    r: Point


class Circle(NamedTuple):
    """A centre and a radius."""

    centre: Point
    radius: Any


def nearest(x: Any) -> Any:
    """The nearest integer."""
    return fw.round(x).astype(fw.i32)


# lines to points: figure 2 of the paper


def points_in_line(line: Line) -> Any:
    """How many points: one for each step along the longer side, and one more."""
    (x1, y1), (x2, y2) = line
    return 1 + fw.maximum(fw.abs(x2 - x1), fw.abs(y2 - y1))


def slope(p: Point, q: Point) -> Any:
    """How far y goes while x goes one step."""
    steps = fw.abs(q.x - p.x).astype(fw.f32)
    upright = fw.where(q.y > p.y, 1.0, -1.0).astype(fw.f32)
    return fw.where(q.x == p.x, upright, (q.y - p.y).astype(fw.f32) / steps)


def get_point_in_line(line: Line, i: Any) -> Point:
    """Step i from the first end: a whole step along the longer side."""
    p, q = line
    i, along = i.astype(fw.i32), i.astype(fw.f32)
    wide = Point(p.x + fw.sign(q.x - p.x) * i, p.y + nearest(slope(p, q) * along))
    high = Point(
        p.x + nearest(slope(Point(p.y, p.x), Point(q.y, q.x)) * along),
        p.y + fw.sign(q.y - p.y) * i,
    )
    is_wide = fw.abs(p.x - q.x) > fw.abs(p.y - q.y)
    return Point(*(fw.where(is_wide, a, b) for a, b in zip(wide, high, strict=True)))


def points_of_lines(lines: Line) -> Point:
    """The points of all lines."""
    return fw.expand(points_in_line, get_point_in_line, lines)


# triangles to lines: section 4.1


def ordered(a: Point, b: Point) -> tuple[Point, Point]:
    """The upper of two points, then the other."""
    swap = b.y < a.y
    return (
        Point(fw.where(swap, b.x, a.x), fw.where(swap, b.y, a.y)),
        Point(fw.where(swap, a.x, b.x), fw.where(swap, a.y, b.y)),
    )


def normalise(triangle: Triangle) -> Triangle:
    """The corners from top to bottom."""
    p, q, r = triangle
    p, q = ordered(p, q)
    q, r = ordered(q, r)
    p, q = ordered(p, q)
    return Triangle(p, q, r)


def lines_in_triangle(triangle: Triangle) -> Any:
    """One line for every row that the triangle touches."""
    return triangle.r.y - triangle.p.y + 1


def dxdy(a: Point, b: Point) -> Any:
    """How far x goes while y goes one step."""
    dx, dy = (b.x - a.x).astype(fw.f32), (b.y - a.y).astype(fw.f32)
    return fw.where(dy == 0, 0.0, dx / dy)


def get_line_in_triangle(triangle: Triangle, i: Any) -> Line:
    """Row i from the top: above the middle corner from p, below it from r."""
    p, q, r = triangle
    i = i.astype(fw.i32)
    y = p.y + i
    down, up = i.astype(fw.f32), (r.y - y).astype(fw.f32)
    upper = p.x + nearest(dxdy(p, q) * down), p.x + nearest(dxdy(p, r) * down)
    lower = r.x - nearest(dxdy(r, p) * up), r.x - nearest(dxdy(r, q) * up)
    is_upper = y <= q.y
    left, right = (fw.where(is_upper, a, b) for a, b in zip(upper, lower, strict=True))
    return Line(Point(left, y), Point(right, y))


def lines_of_triangles(triangles: Triangle) -> Line:
    """The horizontal lines of all triangles."""
    return fw.expand(lines_in_triangle, get_line_in_triangle, fw.map(normalise, triangles))


# circles: the same again


def lines_in_disc(circle: Circle) -> Any:
    """One line for every row."""
    return 2 * circle.radius + 1


def chord(radius: Any, offset: Any) -> Any:
    """Half the width of a circle so far from its centre: x^2 + y^2 <= r (r + 1)."""
    return fw.sqrt((radius * (radius + 1) - offset * offset).astype(fw.f32)).astype(fw.i32)


def get_line_in_disc(circle: Circle, i: Any) -> Line:
    """Row i from the top."""
    (x, y), radius = circle
    row = i.astype(fw.i32) - radius
    half = chord(radius, row)
    return Line(Point(x - half, y + row), Point(x + half, y + row))


def lines_of_discs(circles: Circle) -> Line:
    """The horizontal lines of all discs."""
    return fw.expand(lines_in_disc, get_line_in_disc, circles)


def points_in_ring(circle: Circle) -> Any:
    """Eight arcs, each as many steps wide as an eighth of the circle, ends included."""
    half = (circle.radius * (circle.radius + 1)).astype(fw.f32) / 2
    return 8 * (1 + fw.sqrt(half).astype(fw.i32))


def get_point_in_ring(circle: Circle, i: Any) -> Point:
    """Step i // 8 of arc i % 8: the arcs are mirror images of one."""
    (x, y), radius = circle
    i = i.astype(fw.i32)
    arc, along = i % 8, i // 8
    out = chord(radius, along)
    along = fw.where(arc & 1 == 0, along, -along)
    out = fw.where(arc & 2 == 0, out, -out)
    is_steep = arc & 4 == 0
    return Point(x + fw.where(is_steep, along, out), y + fw.where(is_steep, out, along))


def points_of_rings(circles: Circle) -> Point:
    """The points of all circumferences."""
    return fw.expand(points_in_ring, get_point_in_ring, circles)


# drawing


def plot(points: Point, height: Any, width: Any) -> Any:
    """A grid with ones at the points; those outside are dropped."""
    empty = fw.full((height, width), np.uint8(0))
    return fw.scatter(empty, (points.y, points.x), 1)


@fw.jit
def draw_lines(lines: Line, height: Any, width: Any) -> Any:
    """A grid of lines."""
    return plot(points_of_lines(lines), height, width)


@fw.jit
def draw_triangles(triangles: Triangle, height: Any, width: Any) -> Any:
    """A grid of filled triangles."""
    return plot(points_of_lines(lines_of_triangles(triangles)), height, width)


@fw.jit
def draw_discs(circles: Circle, height: Any, width: Any) -> Any:
    """A grid of filled circles."""
    return plot(points_of_lines(lines_of_discs(circles)), height, width)


@fw.jit
def draw_rings(circles: Circle, height: Any, width: Any) -> Any:
    """A grid of circumferences."""
    return plot(points_of_rings(circles), height, width)


def columns(rows: Any) -> np.ndarray:
    """The numbers of each shape as a column: arrays of i32."""
    return np.array(rows, np.int32).T.copy()


def lines_from(rows: list[Any]) -> Line:
    """Lines given as ((x1, y1), (x2, y2))."""
    x, y = columns(rows).reshape(2, 2, -1)
    return Line(Point(x[0], y[0]), Point(x[1], y[1]))


def triangles_from(rows: list[Any]) -> Triangle:
    """Triangles given as three corners."""
    x, y = columns(rows).reshape(2, 3, -1)
    return Triangle(*(Point(x[k], y[k]) for k in range(3)))


def circles_from(rows: list[tuple[int, int, int]]) -> Circle:
    """Circles given as (x, y, radius)."""
    x, y, radius = columns(rows).reshape(3, -1)
    return Circle(Point(x, y), radius)


# figure 1: a grid of 30 x 70; figure 4: a grid of 30 x 62
LINES = [((58, 20), (2, 3)), ((27, 3), (2, 28)), ((5, 20), (20, 20)), ((4, 10), (6, 25)),
         ((26, 25), (26, 2)), ((58, 20), (52, 3))]  # fmt: skip
TRIANGLES = [((5, 10), (2, 28), (18, 20)), ((42, 6), (58, 10), (25, 22)),
             ((8, 3), (15, 15), (35, 7))]  # fmt: skip
DISCS = [(12, 14, 10), (32, 8, 5), (51, 17, 8), (31, 23, 3)]
RINGS = [(32, 8, 7), (51, 17, 10), (31, 23, 5)]


def picture(grid: Any, path: Path) -> Path:
    """Squares on ruled paper; the path."""
    cells = np.asarray(grid)[:, :, None] != 0
    squares = np.where(cells, np.uint8(INK), np.uint8(PAPER)).repeat(CELL, 0).repeat(CELL, 1)
    squares[::CELL] = squares[:, ::CELL] = RULE
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(squares).save(path)
    return path


def draw(folder: Path) -> list[Path]:
    """Write the three pictures."""
    discs, rings = circles_from(DISCS), circles_from(RINGS)
    circles = np.asarray(draw_discs(discs, 30, 62)) | np.asarray(draw_rings(rings, 30, 62))
    drawings: list[tuple[str, Callable[[], Any]]] = [
        ("lines", lambda: draw_lines(lines_from(LINES), 30, 70)),
        ("triangles", lambda: draw_triangles(triangles_from(TRIANGLES), 30, 62)),
        ("circles", lambda: circles),
    ]
    return [picture(grid(), folder / f"{name}.png") for name, grid in drawings]


def main(argv: list[str]) -> int:
    """Draw everything."""
    for path in draw(Path(argv[0]) if argv else FOLDER):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
