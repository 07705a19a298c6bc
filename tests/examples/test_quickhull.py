"""examples/quickhull.py gives the corners that sorting and a stack give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

points = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=40)
SIZES = [3, 127, 128, 129, 1023, 1025]


def test_points_on_a_small_grid(example, target):
    """Many are on the hull's edges, equal, or all on one line: only corners are returned."""
    quickhull = example("quickhull")

    @given(points)
    def check(places):
        x, y = np.array(places, np.float64).T
        assert np.array_equal(quickhull.hull(x, y), quickhull.plain_hull(x, y))

    check()


@pytest.mark.parametrize("size", SIZES)
def test_points_on_a_circle_are_all_corners(example, threads, size):
    """Every segment holds points until the last iteration."""
    quickhull = example("quickhull")
    angles = np.random.default_rng(size).permutation(size) * (2 * np.pi / size)
    x, y = np.cos(angles), np.sin(angles)

    corners = quickhull.hull(x, y)

    assert len(corners) == size
    assert np.array_equal(corners, quickhull.plain_hull(x, y))


def test_a_cloud(example, target):
    """Integers and floats."""
    quickhull = example("quickhull")
    cloud = quickhull.cloud(5000)

    assert np.array_equal(quickhull.hull(*cloud), quickhull.plain_hull(*cloud))
    x, y = (np.round(100 * part).astype(np.int64) for part in cloud)
    assert np.array_equal(quickhull.hull(x, y), quickhull.plain_hull(x, y))


def test_one_point_and_a_line(example, target):
    """A hull of one corner, and one of two."""
    hull = example("quickhull").hull
    three = np.full(3, 2.0)

    assert hull(three, three).tolist() == [[2, 2]]
    assert hull(np.arange(4.0), -np.arange(4.0)).tolist() == [[0, 0], [3, -3]]


@pytest.mark.parametrize(
    "x, y, message",
    [([], [], "no points"), ([1.0, np.nan], [0.0, 0.0], "not finite"),
     ([1.0], [np.inf], "not finite")],
)  # fmt: skip
def test_points_without_a_hull(example, x, y, message):
    """They are refused before anything runs."""
    with pytest.raises(ValueError, match=message):
        example("quickhull").hull(np.array(x), np.array(y))


def test_the_program_draws_the_hull(example, tmp_path, capsys):
    """`python examples/quickhull.py 2000 FOLDER` ends with 0."""
    assert example("quickhull").main(["2000", str(tmp_path)]) == 0

    assert "2000 points" in capsys.readouterr().out
    picture = Image.open(tmp_path / "quickhull.png").convert("RGB")
    assert picture.size == (800, 800)
    assert {(255, 255, 255), (0xEE, 0xF2, 0xFA)} < {c for _, c in picture.getcolors(1 << 20)}
