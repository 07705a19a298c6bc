"""A landscape of coloured triangles, the nearest on top (Elsman and others 2019, section 7).

    python examples/landscape.py                  build/demo/landscape.png
    python examples/landscape.py FOLDER           the picture into this folder

As in shapes.py, triangles expand to horizontal lines and lines to points. Here each point also has
a distance and a colour, and `reduce_by_index` keeps the nearest one of every pixel: a z-buffer.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mesh import Vector, normal
from render import about_x, nearer, photograph
from shapes import nearest

import flatweave as fw

FOLDER = Path("build") / "demo"
HEIGHT, WIDTH, FIELDS = 600, 900, 320
OCTAVES = 7
EXTENT, ZOOM = 5.0, 1.2
SKY = np.uint32(0xE8C89A)  # blue, green, red
SEA = 0.42
# up to a height: the red, green and blue of what grows there
ZONES = [(0.42, (52, 92, 140)), (0.445, (214, 196, 140)), (0.56, (92, 138, 62)),
         (0.66, (70, 100, 58)), (0.76, (126, 116, 106)), (9.0, (245, 246, 250))]  # fmt: skip


class Spot(NamedTuple):
    """A pixel, and how near it is: 1 / distance."""

    x: Any
    y: Any
    near: Any


class Triangle(NamedTuple):
    """Three corners and a colour."""

    p: Spot
    q: Spot
    r: Spot
    colour: Any


class Line(NamedTuple):
    """Two ends in one row, and a colour."""

    p: Spot
    q: Spot
    colour: Any


# triangles to lines to points


def at(p: Spot, q: Spot, steps: Any, of: Any) -> tuple[Any, Any]:
    """Column and nearness after some of the steps from p to q."""
    part = steps.astype(fw.f32) / fw.maximum(of, 1).astype(fw.f32)
    column = p.x + nearest((q.x - p.x).astype(fw.f32) * part)
    return column, p.near + (q.near - p.near) * part


def ordered(a: Spot, b: Spot) -> tuple[Spot, Spot]:
    """The upper of two corners, then the other."""
    swap = b.y < a.y
    upper = Spot(*(fw.where(swap, v, u) for u, v in zip(a, b, strict=True)))
    return upper, Spot(*(fw.where(swap, u, v) for u, v in zip(a, b, strict=True)))


def normalise(triangle: Triangle) -> Triangle:
    """The corners from top to bottom."""
    p, q, r, colour = triangle
    p, q = ordered(p, q)
    q, r = ordered(q, r)
    p, q = ordered(p, q)
    return Triangle(p, q, r, colour)


def lines_in_triangle(triangle: Triangle) -> Any:
    """One line for every row that the triangle touches."""
    return triangle.r.y - triangle.p.y + 1


def get_line_in_triangle(triangle: Triangle, i: Any) -> Line:
    """Row i from the top: one end on the long side, the other above or below the middle corner."""
    p, q, r, colour = triangle
    i = i.astype(fw.i32)
    y = p.y + i
    long = at(p, r, i, r.y - p.y)
    upper, lower = at(p, q, i, q.y - p.y), at(q, r, y - q.y, r.y - q.y)
    short = (fw.where(y < q.y, a, b) for a, b in zip(upper, lower, strict=True))
    (x1, near1), (x2, near2) = long, short
    return Line(Spot(x1, y, near1), Spot(x2, y, near2), colour)


def points_in_line(line: Line) -> Any:
    """Both ends, and the points between."""
    return 1 + fw.abs(line.q.x - line.p.x)


def get_point_in_line(line: Line, i: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """Row and column of point i, its nearness and colour."""
    p, q, colour = line
    x, near = at(p, q, i.astype(fw.i32), fw.abs(q.x - p.x))
    return p.y, x, (near, colour)


def paint(triangles: Triangle, sky: Any) -> Any:
    """What is seen of the triangles in front of the sky."""
    lines = fw.expand(lines_in_triangle, get_line_in_triangle, fw.map(normalise, triangles))
    y, x, points = fw.expand(points_in_line, get_point_in_line, lines)
    far = fw.full(sky.shape, np.float32(0)), sky
    return fw.reduce_by_index(far, nearer, (0.0, 0), (y, x), points)[1]


# the land


def chance(i: Any, j: Any) -> Any:
    """A number from 0 to 1 for every grid point, always the same."""
    h = i.astype(fw.u32) * np.uint32(0x9E3779B1) ^ j.astype(fw.u32) * np.uint32(0x85EBCA77)
    h = (h ^ h >> 15) * np.uint32(0x2C1B3C6D)
    h = (h ^ h >> 12) * np.uint32(0x297A2D39)
    return (h ^ h >> 15).astype(fw.f32) / 2.0**32


def noise(x: Any, y: Any) -> Any:
    """Chance at grid points, smooth between them."""
    i, j = fw.floor(x), fw.floor(y)
    u, v = (t * t * (3 - 2 * t) for t in (x - i, y - j))
    i, j = i.astype(fw.i32), j.astype(fw.i32)
    near, far = (
        chance(i, j + k) * (1 - u) + chance(i + 1, j + k) * u for k in (0, 1)
    )  # fmt: skip
    return near * (1 - v) + far * v


def land(x: Any, z: Any) -> Any:
    """The height at a point: noise on noise, each of half the size; the sea is flat."""
    total = sum(
        noise((x + 3) * 2.0**k + 37 * k, (z + 11) * 2.0**k) * 0.5**k for k in range(OCTAVES)
    )
    return fw.maximum(total / (2 - 0.5 ** (OCTAVES - 1)), SEA)


def zone(height: Any) -> tuple[Any, Any, Any]:
    """The colour of a height."""
    *lower, (_, top) = ZONES
    colour = top
    for limit, below in reversed(lower):
        colour = tuple(fw.where(height <= limit, b, c) for b, c in zip(below, colour, strict=True))
    return colour


def seen(place: Vector, matrix: Any, height: Any, width: Any) -> Spot:
    """The pixel of a point; `matrix` rotates it so that z is its distance."""
    x, y, z = (sum(matrix[k, j] * place[j] for j in range(3)) + matrix[k, 3] for k in range(3))
    near = 1 / z
    scale = ZOOM * width.astype(fw.f32) * near
    column, row = width // 2 + nearest(x * scale), height // 2 + nearest(y * scale)
    return Spot(column.astype(fw.i32), row.astype(fw.i32), near)


@fw.jit
def landscape(matrix: Any, fields: Any, height: Any, width: Any) -> Any:
    """The colours of a picture of `fields` x `fields` squares of land, two triangles each."""

    def place(i: Any, j: Any) -> tuple[Any, Any]:
        return tuple(k.astype(fw.f32) * EXTENT / fields.astype(fw.f32) for k in (i, j))

    heights = fw.generate((fields + 1, fields + 1), lambda i, j: land(*place(i, j)))

    def corner(i: Any, j: Any) -> Vector:
        x, z = place(i, j)
        return Vector(x, heights[i, j], z)

    def triangle(k: Any) -> Triangle:
        i, j, h = k // 2 // fields, k // 2 % fields, k % 2
        a, b, c = corner(i + h, j + h), corner(i + h, j + 1 - h), corner(i + 1 - h, j + h)
        up = normal(a, b, c)
        bright = fw.sqrt(0.15 + 0.85 * fw.maximum(up.x * -0.6 + up.y * 0.55 + up.z * -0.58, 0))
        red, green, blue = ((part * bright).astype(fw.u32) for part in zone((a.y + b.y + c.y) / 3))
        spots = (seen(corner, matrix, height, width) for corner in (a, b, c))
        return Triangle(*spots, red | green << 8 | blue << 16)

    triangles = fw.map(triangle, fw.iota(2 * fields * fields))
    return paint(triangles, fw.full((height, width), SKY))


def from_above() -> np.ndarray:
    """The eye before the land and above it, looking ahead and down: y down, z away."""
    turn = about_x(0.2) @ np.diag([1.0, -1.0, 1.0])
    eye = np.array([EXTENT / 2, 0.95, -0.95])
    return np.column_stack([turn, -turn @ eye]).astype("f")


def draw(folder: Path) -> Path:
    """Write the picture; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "landscape.png"
    photograph(landscape(from_above(), FIELDS, HEIGHT, WIDTH)).save(path)
    return path


def main(argv: list[str]) -> int:
    """Draw the landscape."""
    landscape(from_above(), 4, 8, 12)  # compile
    start = time.perf_counter()
    path = draw(Path(argv[0]) if argv else FOLDER)
    print(f"{2 * FIELDS**2} triangles: {time.perf_counter() - start:.3f} s with the picture")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
