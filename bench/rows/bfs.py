"""Breadth-first search by `examples/bfs.py` on an R-MAT graph, from the vertex of most edges.

Where several vertices of a level lead to another, contenders may choose different parents: what is
compared is each vertex's distance from the root.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import bfs
import rmat


def program(graph: Any, root: Any) -> Any:
    """The parents; the root is its own."""
    return bfs.bfs(graph, root).parents


def inputs(vertices: int) -> Arrays:
    """Sixteen edges for each vertex, equal ones merged."""
    graph = rmat.rmat(vertices.bit_length() - 1)
    return graph, bfs.busiest(graph)


def levels(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Each vertex's distance from the root, by the parents; -1 where no way leads there."""
    (parents,) = arrays
    vertices = np.arange(len(parents))
    found = np.where(parents == vertices, 0, -1)
    while (new := (found < 0) & (parents >= 0) & (found[np.maximum(parents, 0)] >= 0)).any():
        found[new] = found[parents[new]] + 1
    return [found]


def peers(tools: Tools, graph: Any, root: int) -> dict[str, Call]:
    """All of them look at one vertex after the other; NumPy at one level."""
    offsets, neighbours, n = np.asarray(graph.offsets), np.asarray(graph.values), len(graph)
    parents, queue = np.zeros(n, np.int32), np.zeros(n, np.int32)
    found: dict[str, Call] = {}
    if native := tools.c("bfs.c"):
        search = native.bind("bfs", offsets, neighbours, parents, queue, n, root)
        found["C queue"] = lambda: (search(), parents)[1]
    sparse, csgraph = tools.scipy("sparse"), tools.scipy("sparse.csgraph")
    if sparse and csgraph:
        ones = np.ones(len(neighbours))  # csgraph converts other types
        matrix = sparse.csr_array((ones, neighbours, offsets.astype(np.int32)), (n, n))
        found["scipy csgraph"] = lambda: rooted(*csgraph.breadth_first_order(matrix, root))
    if tools.numba:
        loop = numba_loop(tools.numba)
        found["numba queue"] = lambda: loop(offsets, neighbours, parents, queue, root)
    if not found:
        found["numpy"] = lambda: bfs.numpy_bfs(graph, root)[1]
    return found


def rooted(order: np.ndarray, before: np.ndarray) -> np.ndarray:
    """SciPy's predecessors, the root its own."""
    before[order[0]] = order[0]
    return before


def numba_loop(numba: Any) -> Any:
    """The queue of the C program."""

    @numba.njit
    def loop(offsets, neighbours, parents, queue, root):
        parents[:] = -1
        parents[root] = queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for e in range(offsets[v], offsets[v + 1]):
                w = neighbours[e]
                if parents[w] < 0:
                    parents[w] = v
                    queue[tail] = w
                    tail += 1
        return parents

    return loop


ROWS = [
    Row("bfs", "BFS with parents, R-MAT 2^20 vertices, 2^24 edges", 1 << 20, 1 << 16, program,
        inputs, (Faster(1, "C queue"), Faster(1.2, "scipy")), peers, stream="read",
        same_bits=True, compared=levels)
]  # fmt: skip
