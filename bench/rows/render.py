"""A frame of the Stanford dragon by `examples/render.py`, and a serial rasteriser in Numba.

The dragon of 871,414 triangles is no part of the repository: it is read from `dragon-871k.npz` in
bench/data, or in `shared/data` next to the repository or above it. Other sizes take a torus knot.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.needs import Faster, PerSecond
from bench.row import Arrays, Call, Row
from bench.tools import Tools

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples"))  # each example is a separate program, in no package

import mesh as meshes  # noqa: E402
import render  # noqa: E402

DRAGON = 871_414
PLACES = [ROOT / "bench" / "data", *(folder / "shared" / "data" for folder in ROOT.parents)]
SIDE = 1080


def dragon() -> meshes.Mesh:
    """The mesh of the row."""
    for place in PLACES:
        if (path := place / "dragon-871k.npz").exists():
            return meshes.read(path)
    raise SystemExit("dragon-871k.npz is not here: put it into bench/data")


def knot(number: int) -> meshes.Mesh:
    """A trefoil of about `count` triangles: a tube that hides parts of itself."""
    around = max(3, math.isqrt(number // 32))
    along = max(3, number // (2 * around))
    t, a = np.meshgrid(
        np.arange(along) * 2 * np.pi / along, np.arange(around) * 2 * np.pi / around, indexing="ij"
    )
    path = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])
    ahead = np.stack(
        [np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)]
    )
    ahead /= np.linalg.norm(ahead, axis=0)
    side = np.stack([-ahead[1], ahead[0], 0 * t])
    side /= np.linalg.norm(side, axis=0)
    vertices = path + 0.5 * (np.cos(a) * side + np.sin(a) * np.cross(ahead, side, axis=0))
    k = np.arange(along * around).reshape(along, around)
    b, c, d = np.roll(k, -1, 0), np.roll(k, -1, 1), np.roll(np.roll(k, -1, 0), -1, 1)
    faces = [np.stack(three, axis=-1).reshape(-1, 3) for three in ((k, b, c), (c, b, d))]
    return meshes.mesh_of(vertices.reshape(3, -1).T, np.concatenate(faces))


def inputs(number: int) -> Arrays:
    """The mesh's arrays, the view, height and width."""
    mesh = dragon() if number == DRAGON else knot(number)
    view = render.view_of(render.ball_of(mesh), render.TURN, SIDE, SIDE)
    plain = [tuple(np.asarray(x) for x in part) for part in mesh]
    return *plain, tuple(view), np.int64(SIDE), np.int64(SIDE)


def program(vertices: Any, faces: Any, normals: Any, view: Any, height: Any, width: Any) -> Any:
    """One frame."""
    mesh = meshes.Mesh(meshes.Vector(*vertices), meshes.Face(*faces), meshes.Vector(*normals))
    return render.render(mesh, render.View(*view), height, width)


def peers(
    tools: Tools, vertices: Any, faces: Any, normals: Any, view: Any, height: int, width: int
) -> dict[str, Call]:
    """The same arithmetic, so that the same bits are expected."""
    mesh = meshes.Mesh(vertices, faces, meshes.Vector(*normals))
    found: dict[str, Call] = {
        "numpy": lambda: render.numpy_render(mesh, render.View(*view), height, width)
    }
    if tools.numba:
        rasterise = numba_rasteriser(tools.numba)
        corners = tuple(np.empty_like(x) for x in vertices)
        picture = np.empty(height * width, np.float32), np.empty(height * width, np.uint32)
        found["numba"] = lambda: rasterise(
            vertices, faces, normals, *view, height, width, corners, picture
        )
    return found


def numba_rasteriser(numba: Any) -> Any:
    """Corner by corner, then triangle by triangle, each pixel of its box against a z-buffer."""
    f32, u32 = np.float32, np.uint32
    grain, ambient, diffuse = f32(render.GRAIN), f32(render.AMBIENT), f32(render.DIFFUSE)
    background = render.BACKGROUND

    @numba.njit(inline="always")
    def edge(px, py, qx, qy, x, y):
        return (qy - py) * (x - px) - (qx - px) * (y - py)

    @numba.njit(inline="always")
    def first(least):
        return max(math.ceil(least), 0)

    @numba.njit(inline="always")
    def last(most, extent):
        return min(math.floor(most), extent - 1)

    @numba.njit(inline="always")
    def shade(nx, ny, nz, light, paint):
        cosine = nx * light[0] + ny * light[1] + nz * light[2]
        bright = np.sqrt(ambient + diffuse * max(cosine, f32(0)))
        red, green, blue = u32(paint[0] * bright), u32(paint[1] * bright), u32(paint[2] * bright)
        return red | green << u32(8) | blue << u32(16)

    @numba.njit(inline="always")
    def dot(row, x, y, z):
        return row[0] * x + row[1] * y + row[2] * z + row[3]

    @numba.njit
    def project(vertices, m, sx, sy, near):
        x, y, z = vertices
        for i in range(len(x)):
            near[i] = f32(1) / dot(m[2], x[i], y[i], z[i])
            sx[i] = np.rint(dot(m[0], x[i], y[i], z[i]) * near[i] * grain) / grain
            sy[i] = np.rint(dot(m[1], x[i], y[i], z[i]) * near[i] * grain) / grain

    @numba.njit
    def rasterise(vertices, faces, normals, matrix, light, paint, height, width, corners, picture):
        sx, sy, sn = corners
        depths, colours = picture
        project(vertices, matrix, sx, sy, sn)
        depths[:] = 0
        colours[:] = background
        for f in range(len(faces[0])):
            a, b, c = faces[0][f], faces[1][f], faces[2][f]
            ax, ay, bx, by, cx, cy = sx[a], sy[a], sx[b], sy[b], sx[c], sy[c]
            area = edge(ax, ay, bx, by, cx, cy)
            if not area > 0 or not min(sn[a], sn[b], sn[c]) > 0:
                continue
            left, right = first(min(ax, bx, cx)), last(max(ax, bx, cx), width)
            top, bottom = first(min(ay, by, cy)), last(max(ay, by, cy), height)
            if left > right or top > bottom:
                continue
            colour = shade(normals[0][f], normals[1][f], normals[2][f], light, paint)
            for row in range(top, bottom + 1):
                for column in range(left, right + 1):
                    x, y = f32(column), f32(row)
                    ea = edge(bx, by, cx, cy, x, y)
                    eb = edge(cx, cy, ax, ay, x, y)
                    ec = edge(ax, ay, bx, by, x, y)
                    if ea >= 0 and eb >= 0 and ec >= 0:
                        near = (ea * sn[a] + eb * sn[b] + ec * sn[c]) / area
                        k = row * width + column
                        if near > depths[k] or (near == depths[k] and colour > colours[k]):
                            depths[k], colours[k] = near, colour
        return colours.reshape(height, width)

    return rasterise


ROWS = [
    Row("render", f"3-D renderer, dragon of {DRAGON:,} triangles, {SIDE} x {SIDE}", DRAGON, 50_000,
        program, inputs, (Faster(1.5, "numba"), PerSecond(25, "frames")), peers,
        serial=("numba",))
]  # fmt: skip
