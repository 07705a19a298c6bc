"""Shortest paths along edges with lengths: all vertices of about one distance at once.

    python examples/shortest_paths.py                     a random graph, then Debian's
    python examples/shortest_paths.py PACKAGE PACKAGE     the lightest chain from one to the other

A vertex waits when it came nearer and its neighbours do not know yet. Each step takes those that
are at most a stride farther than the nearest one that waits, expands their edges, and combines the
distances that these give by the minimum.

        1       4           waiting        near, stride 1    expanded      less than known
    0 ----- 1 ----- 3       0: 0           0                 1: 1  2: 5    1: 1  2: 5
     \\      |      /        1: 1  2: 5     1                 2: 3  3: 5    2: 3  3: 5
    5 \\   2 |     / 1       2: 3  3: 5     2                 3: 4          3: 4
       `--- 2 ---'          3: 4           3

With a stride of 0 this is Dijkstra's algorithm, one distance at a time; with an infinite one it is
Bellman's and Ford's, everything at once and much of it too early; in between it is delta-stepping
(Meyer and Sanders 2003), its buckets not stored but looked up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bfs
import debian
import numpy as np
import rmat

import flatweave as fw

LONGEST, STRIDE = 100, 5.0  # of the random graph


class Edges(NamedTuple):
    """The values of a graph: where its edges go, and how long they are."""

    targets: Any
    lengths: Any


class Paths(NamedTuple):
    """For each vertex its distance from the root and the vertex before it; infinity and -1 for
    those that are not reached.
    """

    distances: Any
    parents: Any


def with_lengths(graph: fw.Ragged, lengths: Any) -> fw.Ragged:
    """A graph of `Edges`. Raises ValueError for a length that is not above 0."""
    if not np.all(np.asarray(lengths) > 0):
        raise ValueError(f"a path has no end where an edge has the length {np.min(lengths)}")
    return fw.ragged(Edges(graph.values, lengths), offsets=graph.offsets)


@fw.jit
def shortest_paths(graph: Any, root: Any, stride: Any) -> Paths:
    """The shortest paths from the root; row v of the graph are the edges from v.

    Raises IndexOutOfBounds for a root that is no vertex.
    """
    vertices = graph.lengths.shape[0]
    root = fw.iota(vertices)[root]  # one below 0 counts from the end

    def turn(state: Any) -> Any:
        known, waits = state
        limit = fw.min(fw.where(waits, known, np.inf)) + stride
        near = fw.filter(lambda v: waits[v] & (known[v] <= limit), fw.iota(vertices))
        reached, given = fw.expand(*steps(graph, known), near)
        better = fw.permute(fw.minimum, known, reached, given)
        return better, (better < known) | (waits & (known > limit))

    at_root = fw.iota(vertices) == root
    state = fw.where(at_root, 0.0, np.inf), at_root
    known, _ = fw.while_loop(lambda state: fw.any(state[1]), turn, state)
    return Paths(known, parents(graph, root, known))


def steps(graph: Any, known: Any) -> tuple[Callable, Callable]:
    """How many edges a vertex has; and where each goes, with the distance that it gives."""

    def step(v: Any, i: Any) -> Any:
        edges = graph[v]
        return edges.targets[i], known[v] + edges.lengths[i]

    return lambda v: graph[v].targets.shape[0], step


def parents(graph: Any, root: Any, known: Any) -> Any:
    """The greatest of the vertices from which an edge gives each vertex its distance."""
    count, step = steps(graph, known)

    def claim(v: Any, i: Any) -> Any:
        target, given = step(v, i)
        return fw.where((given == known[target]) & (given < np.inf), target, -1), v

    targets, sources = fw.expand(count, claim, fw.iota(known.shape[0]))
    nobody = fw.full(known.shape[0], -1)
    return fw.scatter(fw.permute(fw.maximum, nobody, targets, sources), root, root)


def numpy_distances(graph: fw.Ragged, root: int) -> np.ndarray:
    """Bellman's and Ford's algorithm in NumPy, from the vertices that came nearer."""
    offsets, targets = np.asarray(graph.offsets), np.asarray(graph.values.targets)
    lengths = np.asarray(graph.values.lengths)
    known = np.full(len(graph), np.inf)
    known[root], near = 0, np.array([root])
    while near.size:
        counts = offsets[near + 1] - offsets[near]
        before = np.cumsum(counts) - counts
        edges = np.arange(counts.sum()) + np.repeat(offsets[near] - before, counts)
        better = known.copy()
        np.minimum.at(better, targets[edges], np.repeat(known[near], counts) + lengths[edges])
        near, known = np.flatnonzero(better < known), better
    return known


def agrees(paths: Paths, distances: np.ndarray) -> bool:
    """Whether the distances are these."""
    return np.array_equal(np.asarray(paths.distances), distances)


def random_graph(scale: int) -> fw.Ragged:
    """A random graph with lengths of 1 to LONGEST."""
    graph = rmat.rmat(scale)
    lengths = np.random.default_rng(1).integers(1, LONGEST, graph.values.size, endpoint=True)
    return with_lengths(graph, lengths.astype(np.float64))


def race(graph: fw.Ragged) -> bool:
    """Search from the busiest vertex, here and in NumPy; whether both agree."""
    root = bfs.busiest(graph)
    shortest_paths(graph, root, STRIDE)  # compile
    start = time.perf_counter()
    paths = shortest_paths(graph, root, STRIDE)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    distances = numpy_distances(graph, root)
    numpy_seconds = time.perf_counter() - start
    reached = distances[distances < np.inf]
    print(f"{len(graph)} vertices, {graph.values.targets.size} edges of lengths 1 to {LONGEST}")
    print(f"from vertex {root}, {reached.size} are reached, the farthest at {reached.max():g}")
    print(f"flatweave: {1000 * seconds:.1f} ms, NumPy: {1000 * numpy_seconds:.1f} ms")
    return agrees(paths, distances)


def explain(found: debian.Packages, needs: str, needed: str) -> bool:
    """Print the chain from one package to another whose packages are smallest together."""
    sizes = np.maximum(np.asarray(found.sizes), 1).astype(np.float64)
    graph = with_lengths(found.graph, sizes[np.asarray(found.graph.values)])
    end = found.number(needed)
    paths = shortest_paths(graph, found.number(needs), np.median(sizes))
    chain = bfs.path(np.asarray(paths.parents), end)
    if not chain:
        print(f"{needs} does not need {needed}")
        return False
    print(" -> ".join(map(found.name, chain)) + f": {float(paths.distances[end]):.0f} KiB more")
    return True


def main(argv: list[str]) -> int:
    """Search both graphs, or look for a chain of dependencies: 0 when all is right and found."""
    right = bool(argv) or race(random_graph(18))
    try:
        found = debian.packages(*debian.available())
        return 0 if explain(found, *(argv or bfs.QUESTION)) and right else 1
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1


def cases(scale: int = 18) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    graph = random_graph(scale)
    root = bfs.busiest(graph)
    yield (
        "shortest paths",
        f"{len(graph)} vertices, {graph.values.targets.size} edges",
        lambda: shortest_paths(graph, root, STRIDE),
        lambda: numpy_distances(graph, root),
        agrees,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
