"""Connected components: every edge that joins two trees hooks one onto the other.

    python examples/components.py                 Debian's packages, then a random graph
    python examples/components.py SCALE           a random graph of 2^SCALE vertices

Each vertex begins as a tree. In an iteration every edge offers the root at one of its ends,
the greater, the root at the other; of all offers a root takes the least, so there is no circle.
Then all trees are made flat by pointer jumping, edges move from vertices to roots, and those inside
one tree are dropped. Few edges outlive the first iteration: the array of the rest shrinks each
time until it is empty (after Shiloach and Vishkin 1982).

    edges 0-2  2-3  1-3  4-5      offers   2: 0   3: 2 or 1   5: 4      trees   0<-2   1<-3   4<-5
    moved 0-0  0-1  1-1  4-4      left     0-1
                                  offers   1: 0                         trees   0<-1 2 3      4<-5
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import debian
import numpy as np
import rmat

import flatweave as fw


def flat(roots: Any) -> Any:
    """Trees in which every vertex points at its root, by jumps over ever longer distances."""

    def jump(state: Any) -> Any:
        roots, _ = state
        above = roots[roots]
        return above, fw.any(above != roots)

    return fw.while_loop(lambda state: state[1], jump, (roots, True))[0]


def hooked(roots: Any, a: Any, b: Any) -> Any:
    """The trees after each edge from a root a to a root b made its offer."""
    return flat(fw.permute(fw.minimum, roots, fw.maximum(a, b), fw.minimum(a, b)))


def left(roots: Any, a: Any, b: Any) -> Any:
    """The edges moved to the roots, without those inside one tree."""
    return fw.filter(lambda edge: edge[0] != edge[1], (roots[a], roots[b]))


@fw.jit
def components(graph: Any) -> Any:
    """For each vertex the least one that a path connects it with, edges taken in both directions.

    Row v of the graph are v's neighbours.
    """
    vertices = fw.iota(graph.lengths.shape[0])

    def edges() -> Any:
        return fw.expand(
            lambda v: graph[v].shape[0], lambda v, i: (v, graph[v][i].astype(fw.i64)), vertices
        )

    def turn(state: Any) -> Any:
        roots, (a, b) = state
        roots = hooked(roots, a, b)
        return roots, left(roots, a, b)

    roots = hooked(vertices, *edges())
    state = roots, left(roots, *edges())
    return fw.while_loop(lambda state: state[1][0].shape[0] > 0, turn, state)[0]


def numpy_components(graph: fw.Ragged) -> np.ndarray:
    """Label propagation in NumPy: the least label along each edge, and of the label's own label."""
    sources = np.repeat(np.arange(len(graph)), np.asarray(graph.lengths))
    targets = np.asarray(graph.values)
    labels, before = np.arange(len(graph)), None
    while before is None or not np.array_equal(labels, before):
        before = labels.copy()
        np.minimum.at(labels, targets, before[sources])
        np.minimum.at(labels, sources, before[targets])
        labels = labels[labels]
    return labels


def agrees(labels: Any, others: np.ndarray) -> bool:
    """Whether the components are the same."""
    return np.array_equal(np.asarray(labels), others)


def race(graph: fw.Ragged, what: str) -> tuple[bool, np.ndarray]:
    """Find the components, here and in NumPy; whether both agree, and the labels."""
    components(graph)  # compile
    start = time.perf_counter()
    labels = components(graph)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    others = numpy_components(graph)
    numpy_seconds = time.perf_counter() - start
    sizes = np.bincount(others)
    print(f"{what}: {len(graph)} vertices, {graph.values.size} edges")
    print(f"{np.count_nonzero(sizes)} components; the largest has {sizes.max()} vertices,", end=" ")
    print(f"{np.count_nonzero(sizes == 1)} have one")
    print(f"flatweave: {1000 * seconds:.1f} ms, NumPy: {1000 * numpy_seconds:.1f} ms")
    return agrees(labels, others), others


def main(argv: list[str]) -> int:
    """Find the components of both graphs, compare with NumPy: 0 when they agree."""
    right = True
    if not argv:
        found = debian.packages(*debian.available())
        right, labels = race(found.graph, "Debian")
        sizes = np.bincount(labels)
        for label in np.argsort(-sizes)[1:4]:
            names = [found.name(number) for number in np.flatnonzero(labels == label)[:4]]
            print(f"  {sizes[label]} of {', '.join(names)} ..")
    return 0 if race(rmat.rmat(int(argv[0]) if argv else 18), "R-MAT")[0] and right else 1


def cases(scale: int = 18) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    graph = rmat.rmat(scale)
    yield (
        "connected components",
        f"{len(graph)} vertices, {graph.values.size} edges",
        lambda: components(graph),
        lambda: numpy_components(graph),
        agrees,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
