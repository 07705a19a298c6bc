"""The dragon drawn by tiles: each tile of a picture is a row of an array in chunks.

    python examples/cluster dragon                    the teapot
    python examples/cluster dragon MESH.npz           another mesh

The picture is nowhere as a whole until it is asked for: a worker draws the tiles of its chunk, and
keeps them. The mesh goes to every worker once. A tile is drawn as `render.py` draws a picture, of
the triangles that may cover one of its pixels.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import render
from mesh import Face, Mesh, Vector, read

import flatweave as fw


@fw.jit
def program(tops: Any, mesh: Mesh, view: render.View, height: Any, width: Any) -> Any:
    """The colours of tiles of `height` rows; `tops` are the tiles' first rows in the picture."""

    def tile(top: Any) -> Any:
        corners = fw.map(lambda p: render.project(p, view.matrix), mesh.vertices)

        def triangle(face: Face, normal: Vector) -> render.Triangle:
            x, y, near = corners
            here = (render.Corner(x[k], y[k] - top, near[k]) for k in face)
            return render.Triangle(*here, render.shade(normal, view))

        triangles = fw.filter(
            lambda t: render.pixels(t, height, width) > 0,
            fw.map(triangle, mesh.faces, mesh.normals),
        )
        y, x, elements = fw.expand(
            lambda t: render.pixels(t, height, width),
            lambda t, i: render.pixel(t, i, height, width),
            triangles,
        )
        far = fw.full((height, width), np.float32(0)), fw.full((height, width), render.BACKGROUND)
        return fw.permute(render.nearer, far, (y, x), elements)[1]

    return fw.map(tile, tops)


def cases(
    folder: Path, quick: bool, path: str | Path = render.TEAPOT
) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    size, tiles = (32, 4) if quick else (1024, 8)
    mesh = read(Path(path))
    view = render.view_of(render.ball_of(mesh), render.TURN, size, size)
    tops = np.arange(0, size, size // tiles).astype(np.float32)
    yield (
        "renderer",
        f"{mesh.faces.a.size:,} triangles, {tiles} tiles of {size // tiles} x {size} pixels",
        lambda: program(fw.Chunked.cut(tops, 1), mesh, view, size // tiles, size),
        lambda: np.asarray(render.render(mesh, view, size, size)).reshape(tiles, -1, size),
    )
