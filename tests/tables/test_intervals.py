"""Intervals that overlap, the nearest ones, and points that are near, against all pairs."""

import itertools

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(9)


def intervals(n, kind=int):
    starts = RNG.integers(0, 30, n)
    lengths = np.where(RNG.random(n) < 0.1, 25, RNG.integers(0, 4, n))
    return starts.astype(kind), (starts + lengths).astype(kind)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (1, 1), (30, 17)])
def test_overlaps_are_those_of_all_pairs(kind, sizes):
    """Half-open; empty ones overlap nothing; long ones hide no later ones."""
    (a, b), (c, d) = (intervals(n, kind) for n in sizes)
    wanted = [
        [j for j in range(c.size) if a[i] < d[j] and c[j] < b[i] and a[i] < b[i] and c[j] < d[j]]
        for i in range(a.size)
    ]

    assert fw.overlaps(a, b, c, d).tolist() == wanted


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (1, 1), (30, 9)])
def test_the_nearest_interval_is_that_of_all_pairs(sizes):
    """The lowest index of equally near ones."""
    (a, b), (c, d) = (intervals(n) for n in sizes)
    gaps = [[max(c[j] - b[i], a[i] - d[j], 0) for j in range(c.size)] for i in range(a.size)]
    wanted = [(int(np.argmin(row)), min(row)) if row else (-1, -1) for row in gaps]

    index, distance = fw.nearest(a, b, c, d)

    assert list(zip(index.tolist(), distance.tolist(), strict=True)) == wanted


def test_intervals_in_a_jitted_function():
    """How many overlap each: rows are not stored."""
    count = fw.jit(lambda *ends: fw.map(lambda row: row.shape[0], fw.overlaps(*ends)))

    assert count(*intervals(5), np.zeros(3, int), np.full(3, 99)).shape == (5,)


def near(p, q, radius, box, same):
    """By all pairs."""
    gap = p[:, None] - q[None]
    if box is not None:
        gap = gap - box * np.round(gap / box)
    holds = (gap**2).sum(-1) <= radius**2
    return [[j for j in np.flatnonzero(row).tolist() if not same or i != j]
            for i, row in enumerate(holds)]  # fmt: skip


@pytest.mark.parametrize(
    "d", [1, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_neighbours_are_those_of_all_pairs(d):
    """Of any radius, in a box or not; with other points, too."""
    for n, radius in itertools.product((0, 1, 12), (0.0, 0.3, 2.0)):
        p = RNG.integers(0, 9, (n, d)) / 8
        q = RNG.random((7, d)) * 3 - 1
        for box in (None, np.linspace(0.5, 2.0, d)):
            assert fw.neighbors(p, radius, box=box).tolist() == near(p, p, radius, box, True)
            assert fw.neighbors(p, radius, q, box).tolist() == near(p, q, radius, box, False)
        sides = (1, *box[1:])
        assert fw.neighbors(p, radius, box=sides).tolist() == near(p, p, radius, sides, True)


def test_points_far_apart_take_no_more_cells():
    """Cells grow where points are few and far."""
    p = np.array([[0.0, 0.0], [1e-9, 0.0], [1e12, 5.0]])

    assert fw.neighbors(p, 1e-6).tolist() == [[1], [0], []]
    assert fw.neighbors(np.array([0.0, 1.0, 1.5]), 1.0).tolist() == [[1], [0, 2], [1]]


@pytest.mark.parametrize("radius", [1e-4, 0.01, np.inf])
def test_neighbours_in_clusters_are_those_of_all_pairs(radius):
    """Few points in very many cells, and all of them within reach."""
    p = RNG.integers(0, 3, (40, 2)) + RNG.integers(0, 9, (40, 2)) * 2.0**-10

    assert fw.neighbors(p, radius).tolist() == near(p, p, radius, None, True)


def test_compiled_neighbours_are_those_of_all_pairs():
    """In a box and outside of one: 300 points in three dimensions."""
    p = RNG.random((300, 3))
    for radius, box in ((0.2, None), (0.2, np.ones(3)), (0.4, np.ones(3))):
        found = fw.jit(lambda p, r, b: fw.neighbors(p, r, box=b), target="cpu")(p, radius, box)
        assert found.tolist() == near(p, p, radius, box, True)


@pytest.mark.parametrize("dtype", ["u1", "u4", "i1", "i4"])
def test_the_nearest_of_small_integers(dtype):
    """Of unsigned ones, too; distances are i64."""
    info = np.iinfo(dtype)
    at = [np.array(x, dtype) for x in ([info.min], [info.min + 1], [info.max - 1], [info.max])]
    index, distance = fw.nearest(*at)

    assert index.tolist() == [0]
    assert distance.dtype == np.int64
    assert distance.tolist() == [int(info.max) - int(info.min) - 2]
    nobody = np.array([], dtype)
    assert [x.tolist() for x in fw.nearest(*at[:2], nobody, nobody)] == [[-1], [-1]]
