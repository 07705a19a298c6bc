"""Breadth-first search: each level is one expansion, straight into one permutation.

    python examples/bfs.py                        a random graph of 2^18 vertices, then Debian's
    python examples/bfs.py PACKAGE PACKAGE        how the first package comes to need the second

The neighbours of all vertices of a level are expanded. Each edge makes a claim, the level and who
makes it, in one integer; and of all claims that meet in a vertex, `permute` keeps the least. So a
vertex stays with the first level that reached it, and in that level with the least of its parents,
in whatever order the edges are looked at (after van Gils 2023, listing 11).

        0            level 0    frontier [0]         claims  1: (1, 0)  2: (1, 0)  3: (1, 0)
      / | \\
     1  2  3         level 1    frontier [1 2 3]     claims  4: (2, 1)  4: (2, 2)  4: (2, 3)
      \\ | /                                         stays   4: (2, 1)
        4            level 2    frontier [4]

Nothing as long as the edges of a level is stored. The vertices of the next level are found among
all vertices when the level had many edges, and else by a second look along its edges: the work of
a level grows with its edges alone, in graphs of thousands of levels too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import debian
import numpy as np
import rmat

import flatweave as fw

QUESTION = "0ad", "perl"  # why does a game need a programming language?
UNREACHED = 2**63 - 1
WIDE = 8  # the cost of following an edge, in visits of a vertex


class Tree(NamedTuple):
    """For each vertex its distance from the root, and the vertex before it; -1 for unreached."""

    levels: Any
    parents: Any


def next_level(graph: Any, level: Any, claims: Any, frontier: Any) -> Any:
    """The claims with those of this level's edges, and the vertices of the next level."""
    vertices = claims.shape[0]

    def edges() -> Any:
        def claim(v: Any, i: Any) -> Any:
            return graph[v][i], ((level + 1) << 32) | v.astype(fw.i64)

        return fw.expand(lambda v: graph[v].shape[0], claim, frontier)

    reached, made = edges()
    claims = fw.permute(fw.minimum, claims, reached, made)

    def among_vertices() -> Any:
        claimed = claims, fw.iota(vertices, frontier.dtype)
        return fw.filter(lambda vertex: vertex[0] >> 32 == level + 1, claimed)[1]

    def along_edges() -> Any:
        return fw.filter(lambda edge: claims[edge[0]] == edge[1], edges())[0]

    is_wide = WIDE * reached.shape[0] > vertices
    return claims, fw.cond(is_wide, among_vertices, along_edges)


@fw.jit
def bfs(graph: Any, root: Any) -> Tree:
    """The shortest paths from the root to all vertices; row v of the graph are v's neighbours.

    Raises IndexOutOfBounds for a root that is no vertex.
    """
    vertices = graph.lengths.shape[0]
    root = fw.iota(vertices, graph.values.dtype)[root]  # one below 0 counts from the end
    claims = fw.where(fw.iota(vertices) == root, root.astype(fw.i64), UNREACHED)

    def turn(state: Any) -> Any:
        level, claims, frontier = state
        return level + 1, *next_level(graph, level, claims, frontier)

    state = 0, claims, fw.full(1, root)
    _, claims, _ = fw.while_loop(lambda state: state[2].shape[0] > 0, turn, state)
    return tree_of(claims)


def tree_of(claims: Any) -> Tree:
    """Claims taken apart."""
    reached = claims != UNREACHED
    level, parent = claims >> 32, claims & 0xFFFFFFFF
    return Tree(*(fw.where(reached, x, -1).astype(fw.i32) for x in (level, parent)))


def numpy_bfs(graph: fw.Ragged, root: int) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy, level by level: of several parents the least."""
    offsets, neighbours = np.asarray(graph.offsets), np.asarray(graph.values)
    levels, parents = np.full((2, len(graph)), -1, np.int32)
    frontier, level = np.array([root]), 0
    levels[root], parents[root] = 0, root
    while frontier.size:
        counts = offsets[frontier + 1] - offsets[frontier]
        before = np.cumsum(counts) - counts
        edges = np.arange(counts.sum()) + np.repeat(offsets[frontier] - before, counts)
        found, source = neighbours[edges], np.repeat(frontier, counts)
        is_new = levels[found] < 0
        found, source = found[is_new][::-1], source[is_new][::-1]
        parents[found] = source  # the last one wins: that is the least
        frontier, level = np.unique(found), level + 1
        levels[frontier] = level
    return levels, parents


def path(parents: np.ndarray, vertex: int) -> list[int]:
    """The vertices from the root to this one; none where it is not reached."""
    if parents[vertex] < 0:
        return []
    found = [vertex]
    while parents[found[-1]] != found[-1]:
        found.append(int(parents[found[-1]]))
    return found[::-1]


def agrees(tree: Tree, other: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether two trees are the same."""
    return all(np.array_equal(np.asarray(a), b) for a, b in zip(tree, other, strict=True))


def busiest(graph: fw.Ragged) -> int:
    """The vertex with the most edges."""
    return int(np.argmax(np.asarray(graph.lengths)))


def tell_levels(tree: Tree, start: str) -> None:
    """How many vertices there are at each distance."""
    levels = np.asarray(tree.levels)
    counts = np.bincount(levels[levels >= 0])
    print(f"from {start}, {counts.sum()} of {levels.size} are reached; at each distance:")
    print("  " + " ".join(str(count) for count in counts))


def race(graph: fw.Ragged) -> bool:
    """Search from the busiest vertex, here and in NumPy; whether both agree."""
    root = busiest(graph)
    bfs(graph, root)  # compile
    start = time.perf_counter()
    tree = bfs(graph, root)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    other = numpy_bfs(graph, root)
    numpy_seconds = time.perf_counter() - start
    print(f"{len(graph)} vertices, {graph.values.size} edges")
    tell_levels(tree, f"vertex {root}")
    print(f"flatweave: {1000 * seconds:.1f} ms, NumPy: {1000 * numpy_seconds:.1f} ms")
    return agrees(tree, other)


def explain(found: debian.Packages, needs: str, needed: str) -> bool:
    """Print how one package comes to need another; whether it does."""
    tree = bfs(found.graph, found.number(needs))
    tell_levels(tree, needs)
    chain = path(np.asarray(tree.parents), found.number(needed))
    print(" -> ".join(map(found.name, chain)) if chain else f"{needs} does not need {needed}")
    return bool(chain)


def main(argv: list[str]) -> int:
    """Search both graphs, or look for a chain of dependencies: 0 when all is right and found."""
    right = bool(argv) or race(rmat.rmat(18))
    try:
        found = debian.packages(*debian.available())
        return 0 if explain(found, *(argv or QUESTION)) and right else 1
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 1


def cases(scale: int = 18) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    graph = rmat.rmat(scale)
    root = busiest(graph)
    yield (
        "breadth-first search",
        f"{len(graph)} vertices, {graph.values.size} edges",
        lambda: bfs(graph, root),
        lambda: numpy_bfs(graph, root),
        agrees,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
