"""A picture of a mesh: triangles expand to pixels, the nearest wins (van Gils 2023, section 5.2).

    python examples/render.py                     the Utah teapot: build/demo/teapot.png, .gif
    python examples/render.py MESH.npz [FOLDER]   another mesh, the pictures into this folder
    options: --size PIXELS --frames NUMBER

The corners are projected, triangles that face away or miss all pixels left out, and each
of the others expands to the pixels of its bounding box. What is nearest to the eye is found by
`permute` on pairs of nearness and colour: the pixels of the triangles are never stored.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mesh import Face, Mesh, Vector, read
from PIL import Image

import flatweave as fw

TEAPOT = Path(__file__).parent / "data" / "teapot.npz"
FOLDER = Path("build") / "demo"
SIZE, FRAMES = 1080, 36
GRAIN = 16  # corners are rounded to this part of a pixel: then f32 finds edges exactly
AMBIENT, DIFFUSE = 0.08, 0.92
BACKGROUND = np.uint32(0x2B2320)  # blue, green, red
WHITE = np.array([255, 250, 240], np.float32)
TURN = 0.6  # of the mesh about its upright axis, in a still picture
DISTANCE = 3.0  # from the eye to the centre of the mesh, in its radii


class View(NamedTuple):
    """A 3 x 4 matrix from points to pixels, the light's direction, and the mesh's colour."""

    matrix: Any
    light: Any
    paint: Any


class Ball(NamedTuple):
    """What holds a mesh, however it is turned."""

    centre: Any
    radius: Any


class Corner(NamedTuple):
    """A point on the picture; `near` is 1 / distance, which is linear there."""

    x: Any
    y: Any
    near: Any


class Triangle(NamedTuple):
    """Three corners, and one colour for all of it."""

    a: Corner
    b: Corner
    c: Corner
    colour: Any


class Box(NamedTuple):
    """The pixels that a triangle may cover."""

    left: Any
    top: Any
    width: Any
    height: Any


def project(p: Vector, matrix: Any) -> Corner:
    """Where a vertex is seen."""
    x, y, z = (row[0] * p.x + row[1] * p.y + row[2] * p.z + row[3] for row in rows(matrix))
    near = 1 / z
    return Corner(fw.round(x * near * GRAIN) / GRAIN, fw.round(y * near * GRAIN) / GRAIN, near)


def rows(matrix: Any) -> list[list[Any]]:
    """The twelve numbers of a matrix."""
    return [[matrix[i, j] for j in range(4)] for i in range(3)]


def shade(normal: Vector, view: View) -> Any:
    """The colour of a face by Lambert's law: 8 bits each of red, green and blue."""
    cosine = normal.x * view.light[0] + normal.y * view.light[1] + normal.z * view.light[2]
    bright = fw.sqrt(AMBIENT + DIFFUSE * fw.maximum(cosine, 0))  # encoded for the screen
    red, green, blue = ((view.paint[k] * bright).astype(fw.u32) for k in range(3))
    return red | green << 8 | blue << 16


def edge(p: Corner, q: Corner, x: Any, y: Any) -> Any:
    """On which side of the line from p to q: above 0 inside of a triangle that is seen."""
    return (q.y - p.y) * (x - p.x) - (q.x - p.x) * (y - p.y)


def area(t: Triangle) -> Any:
    """Twice the area; below 0 if it faces away."""
    return edge(t.a, t.b, t.c.x, t.c.y)


def span(p: Any, q: Any, r: Any, extent: Any) -> tuple[Any, Any]:
    """The first pixel from the least of three numbers on, and how many up to the greatest."""
    last = (extent - 1).astype(fw.f32)
    first = fw.clip(fw.ceil(fw.minimum(fw.minimum(p, q), r)), 0, last + 1)
    behind = fw.clip(fw.floor(fw.maximum(fw.maximum(p, q), r)), -1, last) + 1
    return first.astype(fw.i32), fw.maximum(behind - first, 0).astype(fw.i32)


def box(t: Triangle, height: Any, width: Any) -> Box:
    """The pixels around a triangle, as far as they are on the picture."""
    left, wide = span(t.a.x, t.b.x, t.c.x, width)
    top, high = span(t.a.y, t.b.y, t.c.y, height)
    return Box(left, top, wide, high)


def pixels(t: Triangle, height: Any, width: Any) -> Any:
    """How many pixels a triangle may cover: none if it faces away or has a corner behind us."""
    around = box(t, height, width)
    in_front = fw.minimum(fw.minimum(t.a.near, t.b.near), t.c.near) > 0
    return fw.where((area(t) > 0) & in_front, around.width * around.height, 0)


def pixel(t: Triangle, i: Any, height: Any, width: Any) -> Any:
    """Row and column (-1 outside of the triangle), nearness and colour of pixel i of the box."""
    around = box(t, height, width)
    i = i.astype(fw.i32)
    row = i // around.width
    x, y = around.left + i - row * around.width, around.top + row
    at = x.astype(fw.f32), y.astype(fw.f32)
    a, b, c = edge(t.b, t.c, *at), edge(t.c, t.a, *at), edge(t.a, t.b, *at)
    near = (a * t.a.near + b * t.b.near + c * t.c.near) / area(t)
    inside = (a >= 0) & (b >= 0) & (c >= 0)
    return fw.where(inside, y, -1), x, (near, t.colour)


def nearer(p: Any, q: Any) -> Any:
    """Of two elements the one nearer to the eye, of equals the brighter: whichever comes first."""
    first = (p[0] > q[0]) | ((p[0] == q[0]) & (p[1] >= q[1]))
    return fw.where(first, p[0], q[0]), fw.where(first, p[1], q[1])


@fw.jit
def render(mesh: Mesh, view: View, height: Any, width: Any) -> Any:
    """The colour of every pixel."""
    corners = fw.map(lambda p: project(p, view.matrix), mesh.vertices)

    def triangle(face: Face, normal: Vector) -> Triangle:
        return Triangle(
            *(Corner(*(part[k] for part in corners)) for k in face), shade(normal, view)
        )

    triangles = fw.filter(
        lambda t: pixels(t, height, width) > 0, fw.map(triangle, mesh.faces, mesh.normals)
    )
    y, x, elements = fw.expand(
        lambda t: pixels(t, height, width), lambda t, i: pixel(t, i, height, width), triangles
    )
    far = fw.full((height, width), np.float32(0)), fw.full((height, width), BACKGROUND)
    return fw.permute(nearer, far, (y, x), elements)[1]


def ball_of(mesh: Mesh) -> Ball:
    """The ball about the middle of a mesh that holds all of it."""
    vertices = np.stack([np.asarray(axis) for axis in mesh.vertices])
    centre = (vertices.min(axis=1) + vertices.max(axis=1)) / 2
    return Ball(centre, np.linalg.norm(vertices - centre[:, None], axis=0).max() or 1.0)


def view_of(ball: Ball, turn: float, height: int, width: int) -> View:
    """All of a ball from a little above, turned about its upright axis."""
    centre, radius = ball
    turned = about_x(0.35) @ about_y(turn)
    place = np.column_stack([turned, -turned @ centre]) / radius
    seen = np.diag([1.0, -1.0, -1.0]) @ place + [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, DISTANCE]]
    zoom = min(height, width) / 2 * math.sqrt(DISTANCE**2 - 1)  # a ball of the radius just fits
    lens = np.array([[zoom, 0, (width - 1) / 2], [0, zoom, (height - 1) / 2], [0, 0, 1]])
    light = np.array([-0.4, 0.5, 0.8]) @ turned
    return View((lens @ seen).astype("f"), (light / np.linalg.norm(light)).astype("f"), WHITE)


def about_x(angle: float) -> np.ndarray:
    """A rotation that tips what is in front down."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_y(angle: float) -> np.ndarray:
    """A rotation about the upright axis."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def photograph(colours: Any) -> Image.Image:
    """The picture of the rendered colours."""
    parts = np.asarray(colours).astype("<u4").view(np.uint8)
    return Image.fromarray(parts.reshape(*colours.shape, 4)[:, :, :3])


def spin(mesh: Mesh, size: int, frames: int) -> Iterator[Image.Image]:
    """The mesh from all sides."""
    ball = ball_of(mesh)
    for k in range(frames):
        view = view_of(ball, 2 * math.pi * k / frames, size, size)
        yield photograph(render(mesh, view, size, size))


def draw(mesh: Mesh, path: Path, size: int, frames: int) -> list[Path]:
    """Write a picture and, with more than one frame, an animation of a third of its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    still, moving = path.with_suffix(".png"), path.with_suffix(".gif")
    photograph(render(mesh, view_of(ball_of(mesh), TURN, size, size), size, size)).save(still)
    if frames < 2:
        return [still]
    first, *rest = spin(mesh, max(size // 3, 1), frames)
    first.save(moving, save_all=True, append_images=rest, duration=3000 // frames, loop=0)
    return [still, moving]


def frames_per_second(mesh: Mesh, size: int, least: float = 0.5) -> float:
    """How many pictures from all sides one second makes."""
    ball, number = ball_of(mesh), 0
    render(mesh, view_of(ball, 0, size, size), size, size)  # compile
    start = time.perf_counter()
    while time.perf_counter() - start < least:
        render(mesh, view_of(ball, 0.1 * number, size, size), size, size)
        number += 1
    return number / (time.perf_counter() - start)


def numpy_render(mesh: Mesh, view: View, height: int, width: int) -> np.ndarray:
    """The same in NumPy: every candidate pixel is stored, with a dozen values each."""
    x, y, z = mesh.vertices
    matrix, light, paint = view
    x, y, z = (row[0] * x + row[1] * y + row[2] * z + row[3] for row in matrix)
    near = 1 / z
    x, y = (np.round(part * near * GRAIN) / GRAIN for part in (x, y))
    xs, ys, nears = (np.stack([part[k] for k in mesh.faces]) for part in (x, y, near))

    def edges(px: Any, py: Any) -> list[Any]:
        ends = [(1, 2), (2, 0), (0, 1)]
        return [(ys[q] - ys[p]) * (px - xs[p]) - (xs[q] - xs[p]) * (py - ys[p]) for p, q in ends]

    areas = edges(xs[2], ys[2])[2]
    left, top = (np.clip(np.ceil(part.min(axis=0)), 0, None) for part in (xs, ys))
    wide = np.clip(np.minimum(np.floor(xs.max(axis=0)), width - 1) + 1 - left, 0, None)
    high = np.clip(np.minimum(np.floor(ys.max(axis=0)), height - 1) + 1 - top, 0, None)
    sizes = ((areas > 0) & (nears.min(axis=0) > 0)) * (wide * high).astype(np.int64)

    face = np.repeat(np.arange(len(sizes)), sizes)
    row, column = np.divmod(
        np.arange(len(face)) - (np.cumsum(sizes) - sizes)[face], wide[face].astype(np.int64)
    )
    px, py = (left[face] + column).astype("f"), (top[face] + row).astype("f")
    xs, ys, nears = xs[:, face], ys[:, face], nears[:, face]
    a, b, c = edges(px, py)
    depth = (a * nears[0] + b * nears[1] + c * nears[2]) / areas[face]
    cosine = sum(part * to for part, to in zip(mesh.normals, light, strict=True))
    bright = np.sqrt(AMBIENT + DIFFUSE * np.maximum(cosine, 0))
    red, green, blue = ((part * bright).astype(np.uint32) for part in paint)
    colour = (red | green << 8 | blue << 16)[face]

    inside = (a >= 0) & (b >= 0) & (c >= 0)
    keys = depth[inside].view(np.uint32).astype(np.uint64) << 32 | colour[inside]
    picture = np.full(height * width, BACKGROUND, np.uint64)
    np.maximum.at(picture, (py * width + px)[inside].astype(np.int64), keys)
    return picture.astype(np.uint32).reshape(height, width)


def main(argv: list[str]) -> int:
    """Render a mesh; 1 for other files."""
    parser = argparse.ArgumentParser(description="a picture of a mesh")
    parser.add_argument("mesh", nargs="?", type=Path, default=TEAPOT)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--frames", type=int, default=FRAMES)
    options = parser.parse_args(argv)
    try:
        mesh = read(options.mesh)
    except (OSError, ValueError) as failure:
        print(failure, file=sys.stderr)
        return 1
    speed = frames_per_second(mesh, options.size)
    print(f"{mesh.faces.a.size:,} triangles, {options.size} x {options.size} pixels")
    print(f"flatweave: {speed:.1f} frames per second")
    for path in draw(mesh, options.folder / options.mesh.name, options.size, options.frames):
        print(path)
    return 0


def cases(size: int = SIZE) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    mesh = read(TEAPOT)
    view = view_of(ball_of(mesh), TURN, size, size)
    plain = Mesh(*(type(part)(*map(np.asarray, part)) for part in mesh))
    yield (
        "3-D renderer",
        f"teapot, {size} x {size} pixels",
        lambda: render(mesh, view, size, size),
        lambda: numpy_render(plain, view, size, size),
        np.array_equal,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
