"""Points: k-means, nearest ones, attraction of all and of near ones, the convex hull."""

from __future__ import annotations

from typing import Any

import numpy as np
from nests import divide, points

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

CENTRES, TURNS = 12, 10


def cloud(n: int) -> Arrays:
    """Points in a cube, and some of them as first centres."""
    given = np.random.default_rng(40).random((n, 3))
    return given, given[:CENTRES]


def kmeans(given: Any, centres: Any) -> Any:
    """The centres after ten iterations."""
    return points.kmeans(given, centres, TURNS)


def kmeans_peers(tools: Tools, given: Any, centres: Any) -> dict[str, Call]:
    """Numba finds labels on all cores and adds up on one; NumPy stores all distances: seconds, if
    there are many."""
    found: dict[str, Call] = {}
    if len(given) <= 10**5:
        found["numpy"] = lambda: points.numpy_kmeans(given, centres, TURNS)
    if numba := tools.numba:
        loop = numba_kmeans(numba)
        found["numba"] = lambda: loop(given, centres)
    return found


def numba_kmeans(numba: Any) -> Any:
    """Each turn."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(given, centres):
        labels = np.empty(len(given), np.int64)
        for _ in range(TURNS):
            for i in numba.prange(len(given)):
                least = np.inf
                for k in range(len(centres)):
                    distance = 0.0
                    for axis in range(3):
                        distance += (given[i, axis] - centres[k, axis]) ** 2
                    if distance < least:
                        least, labels[i] = distance, k
            sums, numbers = np.zeros_like(centres), np.zeros(len(centres))
            for i in range(len(given)):
                numbers[labels[i]] += 1
                for axis in range(3):
                    sums[labels[i], axis] += given[i, axis]
            centres = centres.copy()
            for k in range(len(centres)):
                if numbers[k]:
                    centres[k] = sums[k] / numbers[k]
        return centres

    return loop


def some(n: int) -> Arrays:
    """Points in a cube, all of them others."""
    given = np.random.default_rng(41).random((n, 3))
    return given, given


def nearest(given: Any, others: Any) -> Any:
    """The eight nearest of each."""
    return points.nearest(given, others, 8)


def nearest_peers(tools: Tools, given: Any, others: Any) -> dict[str, Call]:
    """NumPy stores all distances and sorts them."""

    def in_numpy() -> Any:
        distances = points.numpy_distances(given, others)
        return np.argsort(distances, axis=1, kind="stable")[:, :8]

    return {"numpy": in_numpy}


def bodies(n: int) -> Arrays:
    """Places and masses."""
    return (tuple(np.random.default_rng(42).random((4, n), np.float32)),)


def near_bodies(n: int) -> Arrays:
    """The same, each with some thirty of its neighbours in memory."""
    draw = np.random.default_rng(47)
    lengths = draw.poisson(30, n)
    places = np.repeat(np.arange(n), lengths) + draw.integers(-500, 501, lengths.sum())
    return *bodies(n), fw.ragged(np.clip(places, 0, n - 1).astype(np.int32), lengths=lengths)


def body_peers(tools: Tools, given: Any, neighbours: Any = None) -> dict[str, Call]:
    """Numba, a body at a time on all cores; all others, or those in its list."""
    if (numba := tools.numba) is None:
        return {}
    soft = np.float32(points.SOFT)
    lists = (None, None) if neighbours is None else (neighbours.values, neighbours.offsets)
    values, offsets = (None if part is None else np.asarray(part) for part in lists)

    @numba.njit(parallel=True, fastmath=True)
    def loop(x, y, z, mass, values, offsets):
        out = np.zeros((3, len(x)), np.float32)
        for i in numba.prange(len(x)):
            begin, end = (0, len(x)) if offsets is None else (offsets[i], offsets[i + 1])
            a = b = c = np.float32(0)
            for k in range(begin, end):
                j = k if values is None else values[k]
                u, v, w = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                distance = u * u + v * v + w * w + soft
                weight = mass[j] / (distance * np.sqrt(distance))
                a, b, c = a + weight * u, b + weight * v, c + weight * w
            out[0, i], out[1, i], out[2, i] = a, b, c
        return out[0], out[1], out[2]

    return {"numba": lambda: loop(*given, values, offsets)}


def heap(n: int) -> Arrays:
    """Normally distributed points, whole numbers."""
    return tuple(np.random.default_rng(43).normal(0, 10**6, (2, n)).astype(np.int64))


def hull_peers(tools: Tools, xs: Any, ys: Any) -> dict[str, Call]:
    """Qhull, whose corners begin elsewhere."""
    if (spatial := tools.scipy("spatial")) is None:
        return {}
    given = np.stack([xs, ys], axis=1).astype(np.float64)

    def in_scipy() -> Any:
        corners = spatial.ConvexHull(given).vertices
        first = np.lexsort((ys[corners], xs[corners]))[0]
        corners = np.roll(corners, -first)
        return xs[corners], ys[corners]

    return {"scipy": in_scipy}


ROWS = [
    Row("nest_kmeans", "k-means, 10^6 points in 3-d, 12 centres, 10 iterations", 10**6, 10**5,
        kmeans, cloud, (Faster(1, "numba"),), kmeans_peers, tolerance=1e-6),
    Row("nest_nearest", "8 nearest of 3,000 points, of each", 3000, 500, nearest, some,
        (Faster(1, "numpy"),), nearest_peers),
    Row("nest_bodies", "n-body f32, 2^14 bodies", 1 << 14, 1 << 11, points.pulls.__wrapped__,
        bodies, (Faster(1, "numba"),), body_peers, tolerance=1e-2),
    Row("nest_near_bodies", "n-body f32 of 10^5, some 30 neighbours each", 10**5, 10**4,
        points.pulls_of.__wrapped__, near_bodies, (Faster(1, "numba"),), body_peers,
        tolerance=1e-2),
    Row("nest_hull", "convex hull of 10^6 points, i64", 10**6, 10**5,
        divide.quickhull.__wrapped__, heap, (Faster(1, "scipy"),), hull_peers),
]  # fmt: skip
