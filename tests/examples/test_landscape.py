"""examples/landscape.py paints triangles as two loops in plain Python do, the nearest on top."""

import numpy as np
import pytest
from PIL import Image

import flatweave as fw
from flatweave.base.config import config

f32 = np.float32
SKY = 5


def at(p, q, steps, of):
    """Column and nearness after some steps from p to q."""
    part = f32(steps) / f32(max(of, 1))
    return p[0] + int(np.rint(f32(q[0] - p[0]) * part)), p[2] + (q[2] - p[2]) * part


def plain_points(corners):
    """The pixels of a triangle with their nearness: rows, and in each row points."""
    p, q, r = corners
    p, q = (q, p) if q[1] < p[1] else (p, q)
    q, r = (r, q) if r[1] < q[1] else (q, r)
    p, q = (q, p) if q[1] < p[1] else (p, q)
    for y in range(p[1], r[1] + 1):
        x1, near1 = at(p, r, y - p[1], r[1] - p[1])
        if y < q[1]:
            x2, near2 = at(p, q, y - p[1], q[1] - p[1])
        else:
            x2, near2 = at(q, r, y - q[1], r[1] - q[1])
        for i in range(1 + abs(x2 - x1)):
            yield y, *at((x1, y, near1), (x2, y, near2), i, abs(x2 - x1))


def plain_paint(triangles, colours, height, width):
    """The nearest of all, of equals the greatest colour."""
    seen = {}
    for corners, colour in zip(triangles, colours, strict=True):
        for y, x, near in plain_points(corners):
            if 0 <= y < height and 0 <= x < width:
                seen[y, x] = max(seen.get((y, x), (f32(0), SKY)), (near, colour))
    return np.array([[seen.get((y, x), (0, SKY))[1] for x in range(width)] for y in range(height)])


@pytest.mark.sampled
@pytest.mark.parametrize("number", [0, 1, 40])
def test_the_nearest_is_on_top(example, target, number):
    """Triangles that cross each other, reach over the edges, or are lines and points."""
    landscape = example("landscape")
    draw = np.random.default_rng(number)
    places = draw.integers(-6, 30, (number, 3, 2))
    nears = draw.integers(1, 9, (number, 3)).astype(f32) / f32(8)
    corners = [
        [(int(x), int(y), near) for (x, y), near in zip(*three, strict=True)]
        for three in zip(places, nears, strict=True)
    ]
    colours = draw.integers(10, 99, number, dtype=np.uint32)
    spots = [
        landscape.Spot(*places[:, k].T.astype(np.int32).copy(), nears[:, k].copy())
        for k in range(3)
    ]

    found = fw.jit(landscape.paint)(
        landscape.Triangle(*spots, colours), np.full((20, 24), SKY, np.uint32)
    )

    assert np.array_equal(found, plain_paint(corners, colours.tolist(), 20, 24))


@pytest.mark.sampled
def test_the_land_is_the_same_on_every_target(example, threads):
    """Land below and sky above; all of it is f32 arithmetic that every target rounds alike."""
    landscape = example("landscape")
    draw = landscape.landscape
    pictures = []
    for name in ("cpu", "interp"):
        with config.scoped(target=name):
            pictures.append(np.asarray(draw(landscape.from_above(), 24, 40, 60)))

    assert np.array_equal(*pictures)
    assert (pictures[0][0] == landscape.SKY).all()
    assert (pictures[0][-10:] != landscape.SKY).all()


def test_the_program_writes_the_picture(example, tmp_path, capsys, monkeypatch):
    """`python examples/landscape.py FOLDER` ends with 0."""
    landscape = example("landscape")
    monkeypatch.setattr(landscape, "FIELDS", 16)

    assert landscape.main([str(tmp_path)]) == 0

    assert "512 triangles" in capsys.readouterr().out
    assert Image.open(tmp_path / "landscape.png").size == (900, 600)
