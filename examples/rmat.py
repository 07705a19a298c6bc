"""A random graph with the hubs and clusters of real ones: R-MAT (Chakrabarti and others 2004).

    python examples/rmat.py                       a picture of the matrix of 2^16 vertices
    python examples/rmat.py SCALE [FOLDER]        2^SCALE vertices, the picture into this folder

An edge is a one in the matrix of all sources and targets. It falls down a quadtree: at each level
a random number says into which quarter, and one bit of the source and one of the target are known.

    +------+------+        source bit 0, target bit 0    with probability 0.57
    | 0.57 | 0.19 |                      target bit 1                     0.19
    +------+------+        source bit 1, target bit 0                     0.19
    | 0.19 | 0.05 |                      target bit 1                     0.05
    +------+------+

The random number of a level is a hash of the seed, the edge and the level: no edge waits for
another, and the same seed gives the same graph on every machine. A graph is a `fw.Ragged`: row v
holds the neighbours of vertex v.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw

FOLDER = Path("build") / "demo"
EDGES_PER_VERTEX = 16
QUARTERS = tuple(int(share * 2**32) for share in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
GOLDEN, FIRST, SECOND = (
    np.uint64(factor)
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
TARGET = 2**32 - 1  # the half of a packed edge that says where it goes


def random_bits(counter: Any) -> Any:
    """64 bits for each counter: SplitMix64 (Steele and others 2014)."""
    x = counter * GOLDEN
    x = (x ^ (x >> 30)) * FIRST
    x = (x ^ (x >> 27)) * SECOND
    return x ^ (x >> 31)


def edge(seed: Any, scale: Any, number: Any) -> Any:
    """An edge among 2^scale vertices, its source and its target packed into 64 bits."""

    def fall(level: Any, ends: Any) -> Any:
        source, target = ends
        counter = (number * 64 + level + 1).astype(fw.u64)
        drawn = random_bits(counter ^ random_bits(seed)) >> 32
        a, b, c = (drawn >= share for share in QUARTERS)
        down, right = b, (a & ~b) | c
        return 2 * source + down.astype(fw.i64), 2 * target + right.astype(fw.i64)

    source, target = fw.fori_loop(0, scale, fall, (0, 0))
    return (source << 32) | target


@fw.jit
def packed_edges(seed: Any, scale: Any, count: Any) -> Any:
    """So many edges."""
    return fw.generate(count, lambda number: edge(seed, scale, number))


@fw.jit
def rows(vertices: Any, edges: Any) -> Any:
    """The graph of packed edges; an edge that comes twice counts once."""
    edges = fw.sort(edges)
    is_new = fw.map(lambda i: (i == 0) | (edges[i] != edges[i - 1]), fw.iota(edges.shape[0]))
    kept, _ = fw.filter(lambda edge: edge[1], (edges, is_new))
    degrees = fw.histogram(vertices, kept >> 32)
    return fw.ragged((kept & TARGET).astype(fw.i32), lengths=degrees)


def rmat(scale: int, edges: int | None = None, seed: int = 1) -> fw.Ragged:
    """The neighbours of each of 2^scale vertices; with this many edges before equal ones merge."""
    count = edges if edges is not None else EDGES_PER_VERTEX << scale
    drawn = packed_edges(np.uint64(seed), scale, count)
    return rows(1 << scale, drawn)


@fw.jit
def density(graph: Any, side: Any) -> Any:
    """How many edges fall into each cell of the matrix drawn with this many cells a side."""
    vertices = graph.lengths.shape[0]

    def cell(v: Any, i: Any) -> Any:
        return v * side // vertices, graph[v][i].astype(fw.i64) * side // vertices

    at = fw.expand(lambda v: graph[v].shape[0], cell, fw.iota(vertices))
    return fw.permute(fw.add, fw.full((side, side), 0), at, 1)


def draw(graph: fw.Ragged, folder: Path, side: int = 512) -> Path:
    """Write the picture of a graph's matrix, each cell the brighter the more edges; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    light = np.log1p(np.asarray(density(graph, side)))
    path = folder / "rmat.png"
    from PIL import Image  # the graph programs need none

    Image.fromarray((255 * light / max(light.max(), 1)).astype(np.uint8)).save(path)
    return path


def main(argv: list[str]) -> int:
    """Make a graph, say what it looks like, write its picture."""
    scale = int(argv[0]) if argv else 16
    rmat(1)  # compile
    start = time.perf_counter()
    graph = rmat(scale)
    seconds = time.perf_counter() - start
    degrees = np.asarray(graph.lengths)
    print(f"{len(graph)} vertices, {graph.values.size} edges: {seconds:.3f} s")
    print(f"{np.mean(degrees == 0):.0%} have no edge, one has {degrees.max()}")
    print(draw(graph, Path(argv[1]) if len(argv) > 1 else FOLDER))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
