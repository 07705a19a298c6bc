"""PageRank and breadth-first search on an R-MAT graph whose edges are in chunks, where they are
drawn.

    python examples/cluster graph                 2^16 edges
    python examples/cluster graph 26              2^26 edges

An edge is a row of two arrays, which stay on the workers. What is known of the vertices is whole:
each turn it goes to every chunk, each chunk adds up, or finds the least of, what its edges bring to
their targets, and these copies are combined in the order of the chunks.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rmat

import flatweave as fw

EDGES = 16  # 2 to this
EDGES_PER_VERTEX = 16
DAMPING, TURNS = 0.85, 10
FAR = 1 << 30


@fw.jit
def edges(seed: Any, blocks: Any, each: Any, scale: Any) -> Any:
    """Sources and targets of random edges, `each` for every block."""

    def block(k: Any) -> Any:
        return fw.generate(each, lambda j: rmat.edge(seed, scale, k * each + j))

    packed = fw.reshape(fw.map(block, blocks), (-1,))
    return packed >> 32, packed & rmat.TARGET


@fw.jit
def pagerank(source: Any, target: Any, vertices: Any) -> Any:
    """The rank of each vertex, after some iterations from equal ones."""
    degrees = fw.histogram(vertices, source)

    def turn(_: Any, ranks: Any) -> Any:
        shares = ranks / fw.maximum(degrees, 1)
        brought = fw.histogram(vertices, target, shares[source], fw.add, 0.0)
        stuck = fw.sum(fw.where(degrees == 0, ranks, 0.0))
        return (1 - DAMPING) / vertices + DAMPING * (brought + stuck / vertices)

    return fw.fori_loop(0, TURNS, turn, fw.full(vertices, 1 / vertices))


@fw.jit
def levels(source: Any, target: Any, vertices: Any, root: Any) -> Any:
    """How many edges from the root to each vertex; FAR for those that it does not reach."""

    def turn(state: Any) -> Any:
        level, known, _ = state
        claims = fw.where(known[source] == level, level + 1, FAR)
        reached = fw.permute(fw.minimum, known, target, claims)
        return level + 1, reached, fw.any(reached != known)

    first = fw.where(fw.iota(vertices) == root, 0, FAR)
    return fw.while_loop(lambda state: state[2], turn, (0, first, True))[1]


def cases(
    folder: Path, quick: bool, power: int | str = EDGES
) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    power = 10 if quick else int(power)
    scale = power - 4
    vertices, each = 1 << scale, 1 << max(power - 6, 0)
    blocks = np.arange(1 << min(power, 6))
    title = f"R-MAT, 2^{power} edges"

    def both(blocks: Any, job: Callable) -> Any:
        return job(*edges(np.uint64(1), blocks, each, scale), vertices)

    def search(source: Any, target: Any, vertices: int) -> Any:
        return levels(source, target, vertices, 0)

    for name, job in (("PageRank", pagerank), ("breadth-first search", search)):
        yield (
            name, title, lambda job=job: both(fw.Chunked.cut(blocks, 8), job),
            lambda job=job: both(blocks, job),
        )  # fmt: skip
