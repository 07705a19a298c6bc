"""Points in space: groups of near ones, the nearest of each, and how they attract each other.

    python examples/nests points

Each is a map over points with a sum, a least one or an order over other points inside. Which others
these are may differ from point to point: a list of neighbours is a row of a Ragged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw

SOFT = 1e-3  # keeps a body from attracting itself infinitely


def distance(p: Any, q: Any) -> Any:
    """The squared distance of two points."""
    return fw.sum((p - q) ** 2)


def nearest_centre(point: Any, centres: Any) -> Any:
    """The number of the centre that is nearest to a point."""
    return fw.argmin(fw.map(lambda centre: distance(point, centre), centres))


@fw.jit
def kmeans(points: Any, centres: Any, turns: Any) -> Any:
    """The centres after some iterations: each moves to the mean of the points nearest to it."""

    def turn(_: Any, centres: Any) -> Any:
        labels = fw.map(lambda point: nearest_centre(point, centres), points)

        def moved(k: Any, centre: Any) -> Any:
            is_mine = labels == k
            total = fw.sum(fw.map(lambda p, mine: fw.where(mine, p, 0), points, is_mine), axis=0)
            number = fw.sum(is_mine)
            return fw.where(number > 0, total / fw.maximum(number, 1), centre)

        return fw.map(moved, fw.iota(centres.shape[0]), centres)

    return fw.fori_loop(0, turns, turn, centres)


@fw.jit
def nearest(points: Any, others: Any, k: Any) -> Any:
    """For each point the indices of the k others nearest to it, the nearest first."""
    return fw.map(lambda p: fw.argsort(fw.map(lambda q: distance(p, q), others))[:k], points)


@fw.jit
def near(points: Any, others: Any, reach: Any) -> Any:
    """For each point the indices of all others within reach: for some many, for some none."""
    places = fw.iota(others.shape[0])
    return fw.map(
        lambda p: fw.filter(lambda j: distance(p, others[j]) < reach * reach, places), points
    )


def pull(p: Any, q: Any) -> Any:
    """How a body q of mass q[3] attracts another one, by Newton's law."""
    x, y, z = (b - a for a, b in zip(p[:3], q[:3], strict=True))
    apart = x * x + y * y + z * z + SOFT
    weight = q[3] / (apart * fw.sqrt(apart))
    return weight * x, weight * y, weight * z


@fw.jit
def pulls(bodies: Any) -> Any:
    """How all bodies, (x, y, z, mass), attract each one."""
    return fw.map(lambda p: tuple(map(fw.sum, fw.map(lambda q: pull(p, q), bodies))), bodies)


@fw.jit
def pulls_of(bodies: Any, neighbours: Any) -> Any:
    """How each one's own neighbours attract it."""

    def of_one(p: Any, mine: Any) -> Any:
        return tuple(map(fw.sum, fw.map(lambda j: pull(p, tuple(x[j] for x in bodies)), mine)))

    return fw.map(of_one, bodies, neighbours)


def numpy_distances(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The squared distances of all pairs."""
    return ((points[:, None] - others) ** 2).sum(axis=2)


def numpy_kmeans(points: np.ndarray, centres: np.ndarray, turns: int) -> np.ndarray:
    """The same in NumPy: all distances are stored."""
    for _ in range(turns):
        labels = np.argmin(numpy_distances(points, centres), axis=1)
        parts = [points[labels == k] for k in range(len(centres))]
        centres = np.array([part.mean(axis=0) if len(part) else old
                            for part, old in zip(parts, centres, strict=True)])  # fmt: skip
    return centres


def numpy_pulls(bodies: tuple[np.ndarray, ...], pairs: np.ndarray | None = None) -> np.ndarray:
    """The same in NumPy, of all pairs or of those that a matrix of flags names."""
    places = np.stack(bodies[:3], axis=1)
    apart = places[None] - places[:, None]
    squared = (apart**2).sum(axis=2) + SOFT
    weights = bodies[3] / (squared * np.sqrt(squared))
    return (apart * (weights if pairs is None else weights * pairs)[:, :, None]).sum(axis=1).T


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    size, draw = 60 if quick else 1500, np.random.default_rng(17)
    points, centres = draw.random((10 * size, 3)), draw.random((12, 3))
    turns = 2 if quick else 10
    yield ("k-means", f"{10 * size:,} points, 12 centres, {turns} turns",
           lambda: kmeans(points, centres, turns), lambda: numpy_kmeans(points, centres, turns),
           np.allclose)  # fmt: skip
    some = points[:size]
    yield ("nearest neighbours", f"8 of {size:,}, of each", lambda: nearest(some, some, 8),
           lambda: np.argsort(numpy_distances(some, some), axis=1, kind="stable")[:, :8],
           np.array_equal)  # fmt: skip
    bodies = tuple(draw.random((4, size)))
    yield ("n-body", f"{size:,} bodies", lambda: pulls(bodies), lambda: numpy_pulls(bodies),
           np.allclose)  # fmt: skip
    mine = near(some, some, 0.2)
    pairs = numpy_distances(some, some) < 0.2 * 0.2
    yield ("n-body, neighbours", f"{size:,} bodies, {mine.values.size:,} pairs",
           lambda: pulls_of(bodies, mine), lambda: numpy_pulls(bodies, pairs),
           np.allclose)  # fmt: skip
