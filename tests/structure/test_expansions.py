"""Programs that expand into a grid: what an expansion gives is used at once, and never stored."""

import re
import sys

import pytest

from flatweave.base.config import config
from tests.shape.tree import ROOT


@pytest.fixture
def example(monkeypatch):
    """Gives the module of an example by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return lambda name: sys.modules.get(name) or __import__(name)


def extents(stages):
    """The different extents of the arrays of rank 1 that a program stores."""
    return {found for line in stages.manifest for found in re.findall(r"\[([^,\]]+)\]", line)}


def opened(program, *args):
    """The stages of a program for the CPU."""
    with config.scoped(target="cpu"):
        return program.stages(*args)


def test_lines_to_points(example):
    """Ends of the lines' points, the cleared grid, and the points into the grid."""
    shapes = example("shapes")
    stages = opened(shapes.draw_lines, shapes.lines_from(shapes.LINES), 30, 70)

    assert stages.kernels == 3
    assert len(extents(stages)) == 1  # nothing is as long as the points


def test_triangles_to_lines_to_points(example):
    """Twice the ends, the lines, the grid, and the points: the lines alone are in memory."""
    shapes = example("shapes")
    stages = opened(shapes.draw_triangles, shapes.triangles_from(shapes.TRIANGLES), 30, 62)

    assert stages.kernels == 4
    assert len(extents(stages)) == 2  # the triangles and the lines, not the points


def test_a_landscape_stores_no_point(example):
    """Heights, triangles and their ends, lines and their ends, the sky, and the points."""
    landscape = example("landscape")
    stages = opened(landscape.landscape, landscape.from_above(), 8, 20, 30)

    assert stages.kernels == 5
    assert len(extents(stages)) == 2  # the triangles and the lines, not the points


def test_the_renderer_stores_no_pixel(example):
    """Corners, triangles, ends, the cleared picture, and pixels that go into it as they expand."""
    render = example("render")
    mesh = render.read(render.TEAPOT)
    stages = opened(render.render, mesh, render.view_of(render.ball_of(mesh), 0.0, 20, 30), 20, 30)

    assert stages.kernels == 5
    assert len(extents(stages)) == 2  # corners and triangles
    assert sum("height" in line for line in stages.manifest) == 2  # nearness and colour
    sweeps = re.split(r"\n    (?=\S)", stages.text["fused"])
    (merging,) = (sweep for sweep in sweeps if "scatter_reduce" in sweep)
    assert "truediv" in merging  # a pixel's nearness is computed where it is merged
