"""examples/shapes.py draws the points that the paper's programs give, in their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import flatweave as fw

f32 = np.float32
points = st.tuples(st.integers(-40, 40), st.integers(-40, 40))
lines = st.lists(st.tuples(points, points), max_size=6)
triangles = st.lists(st.tuples(points, points, points), max_size=5)
circles = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 30)),
                   max_size=4)  # fmt: skip


def slope(p, q):
    """The paper's figure 2."""
    if q[0] == p[0]:
        return f32(1 if q[1] > p[1] else -1)
    return f32(q[1] - p[1]) / f32(abs(q[0] - p[0]))


def compare(a, b):
    """The direction from a to b."""
    return (b > a) - (a > b)


def plain_line(p, q):
    """The points of a line, in order."""
    for i in range(1 + max(abs(q[0] - p[0]), abs(q[1] - p[1]))):
        if abs(p[0] - q[0]) > abs(p[1] - q[1]):
            yield p[0] + compare(p[0], q[0]) * i, p[1] + int(np.rint(slope(p, q) * f32(i)))
        else:
            sl = slope(p[::-1], q[::-1])
            yield p[0] + int(np.rint(sl * f32(i))), p[1] + compare(p[1], q[1]) * i


def dxdy(a, b):
    """The paper's inverse slope."""
    return f32(0) if a[1] == b[1] else f32(b[0] - a[0]) / f32(b[1] - a[1])


def plain_triangle(corners):
    """The lines of a triangle, from top to bottom."""
    p, q, r = corners
    p, q = (q, p) if q[1] < p[1] else (p, q)
    q, r = (r, q) if r[1] < q[1] else (q, r)
    p, q = (q, p) if q[1] < p[1] else (p, q)
    for i in range(r[1] - p[1] + 1):
        if i <= q[1] - p[1]:
            ends = [p[0] + int(np.rint(s * f32(i))) for s in (dxdy(p, q), dxdy(p, r))]
        else:
            up = f32(r[1] - p[1] - i)
            ends = [r[0] - int(np.rint(s * up)) for s in (dxdy(r, p), dxdy(r, q))]
        yield (ends[0], p[1] + i), (ends[1], p[1] + i)


def rows(found):
    """Points as a list of pairs."""
    return list(zip(np.asarray(found.x).tolist(), np.asarray(found.y).tolist(), strict=True))


def grid_of(found, height, width):
    """A grid with ones at points."""
    grid = np.zeros((height, width), np.uint8)
    for x, y in found:
        grid[y, x] = 1
    return grid


def test_the_lines_are_those_of_the_paper(example, target):
    """Figure 2's functions in plain Python give the same points in the same order."""
    shapes = example("shapes")
    drawn = fw.jit(shapes.points_of_lines)

    @given(lines)
    def check(given_lines):
        expected = [point for line in given_lines for point in plain_line(*line)]
        assert rows(drawn(shapes.lines_from(given_lines))) == expected

    check()


def test_the_triangles_are_those_of_the_paper(example, target):
    """Two expansions in a row are two loops in plain Python."""
    shapes = example("shapes")
    drawn = fw.jit(lambda given: shapes.points_of_lines(shapes.lines_of_triangles(given)))

    @given(triangles)
    def check(corners):
        expected = [
            point for three in corners for line in plain_triangle(three)
            for point in plain_line(*line)
        ]  # fmt: skip
        assert rows(drawn(shapes.triangles_from(corners))) == expected

    check()


def test_figure_four(example, target):
    """The paper's three triangles, in its grid of 30 x 62."""
    shapes = example("shapes")
    three = [
        ((5, 10), (2, 28), (18, 20)),
        ((42, 6), (58, 10), (25, 22)),
        ((8, 3), (15, 15), (35, 7)),
    ]
    lines_found = fw.jit(shapes.lines_of_triangles)(shapes.triangles_from(three))
    expected = [line for corners in three for line in plain_triangle(corners)]

    grid = shapes.draw_triangles(shapes.triangles_from(three), 30, 62)

    assert list(zip(rows(lines_found.p), rows(lines_found.q), strict=True)) == expected
    assert three == shapes.TRIANGLES
    assert np.array_equal(
        grid, grid_of([p for line in expected for p in plain_line(*line)], 30, 62)
    )


@pytest.mark.sampled
@pytest.mark.parametrize("number", [0, 1, 127, 129])
def test_many_triangles_on_any_number_of_threads(example, threads, number):
    """Among them mere points, which expand to one line of one point."""
    shapes = example("shapes")
    corners = np.random.default_rng(number).integers(0, 50, (number, 3, 2)).tolist()
    corners = [[three[0]] * 3 if k % 5 == 0 else three for k, three in enumerate(corners)]
    found = [p for three in corners for line in plain_triangle(three) for p in plain_line(*line)]

    grid = shapes.draw_triangles(shapes.triangles_from(corners), 50, 50)

    assert np.array_equal(grid, grid_of(found, 50, 50))


def test_discs_and_rings(example, target):
    """A disc is what lies within a circle, a ring the outermost points of its rows and columns."""
    shapes = example("shapes")

    @given(circles)
    def check(given_circles):
        made = shapes.circles_from(given_circles)
        y, x = np.mgrid[-40:41, -40:41]
        inside = np.zeros((81, 81), bool)
        outline = np.zeros((81, 81), bool)
        for cx, cy, radius in given_circles:
            disc = (x - cx) ** 2 + (y - cy) ** 2 <= radius * (radius + 1)
            core = np.pad(disc, 1)
            core = core[:-2, 1:-1] & core[2:, 1:-1] & core[1:-1, :-2] & core[1:-1, 2:]
            inside |= disc
            outline |= disc & ~core
        moved = shapes.Circle(shapes.Point(made.centre.x + 40, made.centre.y + 40), made.radius)
        assert np.array_equal(np.asarray(shapes.draw_discs(moved, 81, 81)) != 0, inside)
        assert np.array_equal(np.asarray(shapes.draw_rings(moved, 81, 81)) != 0, outline)

    check()


def test_points_outside_of_the_grid_are_dropped(example, target):
    """On every side."""
    shapes = example("shapes")
    crossing = shapes.lines_from([((-5, 2), (9, 2)), ((1, -5), (1, 9)), ((-3, -3), (-1, -2))])

    grid = np.asarray(shapes.draw_lines(crossing, 4, 4))

    assert grid.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]]


def test_the_program_writes_its_pictures(example, tmp_path, capsys):
    """`python examples/shapes.py FOLDER` ends with 0."""
    shapes = example("shapes")

    assert shapes.main([str(tmp_path)]) == 0

    written = capsys.readouterr().out.split()
    assert [path.split("/")[-1] for path in written] == [
        "lines.png", "triangles.png", "circles.png"
    ]  # fmt: skip
    assert [Image.open(path).size for path in written] == [(840, 360), (744, 360), (744, 360)]
