"""examples/nests/divide.py and points.py: hulls, centres, neighbours, attraction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw

places = st.tuples(st.integers(-6, 6), st.integers(-6, 6))


def test_hulls_of_points_in_a_row_and_on_a_heap(example, target):
    """Few distinct points: many points are equal, many are on one line."""
    divide = example("nests.divide")

    @given(st.lists(places, min_size=1, max_size=30))
    def check(points):
        xs, ys = (np.array(part) for part in zip(*points, strict=True))
        found = list(zip(*(np.asarray(x).tolist() for x in divide.quickhull(xs, ys)), strict=True))
        hull = divide.plain_hull(points)
        assert found[: len(hull)] == hull
        assert set(found) == set(hull)  # a single point is both ends of its two edges

    check()


@pytest.mark.parametrize("size", [3, 129, 5000])
def test_hulls_for_every_number_of_threads(example, threads, size):
    """The corners that the program flattened by hand finds."""
    points = np.random.default_rng(size).normal(0, 1000, (2, size)).astype(np.int64)
    quickhull = example("quickhull")

    found = example("nests.divide").quickhull(*points)
    (corners, _) = quickhull.quickhull(quickhull.Point(*points))

    assert np.array_equal(np.stack(found), np.stack(corners))


def test_a_centre_without_points_stays(example, target):
    """It is far from all."""
    points = np.array([[0.0, 0], [0, 2], [4, 0]])
    centres = np.array([[0.0, 0], [5, 0], [90, 90]])

    found = example("nests.points").kmeans(points, centres, 3)

    assert np.array_equal(found, [[0, 1], [4, 0], [90, 90]])


@pytest.mark.sampled
@pytest.mark.parametrize("size", [0, 1, 130])
def test_neighbours(example, target, size):
    """The nearest first; within reach perhaps none but itself."""
    points, draw = example("nests.points"), np.random.default_rng(size)
    some, others = draw.random((size, 3)), draw.random((70, 3))
    distances = points.numpy_distances(some, others)

    nearest = points.nearest(some, others, 4)
    near = points.near(some, others, 0.3)

    assert np.array_equal(nearest, np.argsort(distances, axis=1, kind="stable")[:, :4])
    assert near.tolist() == [np.flatnonzero(row < 0.09).tolist() for row in distances]


@pytest.mark.parametrize("size", [0, 1, 129])
def test_pulls(example, target, size):
    """All others, no others, and some."""
    points = example("nests.points")
    bodies = tuple(np.random.default_rng(size).random((4, size)))
    pairs = np.random.default_rng(1).random((size, size)) < 0.1
    neighbours = fw.ragged(np.nonzero(pairs)[1], lengths=pairs.sum(axis=1))

    assert np.allclose(points.pulls(bodies), points.numpy_pulls(bodies))
    assert np.allclose(points.pulls_of(bodies, neighbours), points.numpy_pulls(bodies, pairs))
