"""k-means: points in the plane, in chunks; the centres go to every chunk.

    python examples/cluster k_means

An iteration is a step over the chunks: each chunk finds the nearest centre of its points, and adds
up those of each centre; the sums of all chunks are combined, and the client has the new centres.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def program(x: Any, y: Any, centres: Any, turns: Any) -> Any:
    """The centres after some iterations, and the number of points of each."""
    k = centres.shape[0]

    def turn(_: Any, state: Any) -> Any:
        centres, _ = state

        def nearest(px: Any, py: Any) -> Any:
            far = fw.map(lambda c: (c[0] - px) ** 2 + (c[1] - py) ** 2, centres)
            return fw.argmin(far)

        near = fw.map(nearest, x, y)
        counts = fw.histogram(k, near)
        sums = fw.histogram(k, near, (x, y), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0.0, 0.0))
        many = fw.maximum(counts, 1)
        return fw.map(lambda sx, sy, n: fw.stack([sx / n, sy / n]), *sums, many), counts

    return fw.fori_loop(0, turns, turn, (centres, fw.zeros(k, fw.i64)))


def points(folder: Path, number: int, clusters: int) -> tuple[list[Path], np.ndarray]:
    """Files of the coordinates of points around some centres; and initial centres."""
    draw = np.random.default_rng(5)
    places = draw.uniform(-10, 10, (clusters, 2))
    found = places[draw.integers(0, clusters, number)] + draw.normal(size=(number, 2))
    paths = [folder / "x.npy", folder / "y.npy"]
    for path, column in zip(paths, found.T, strict=True):
        np.save(path, np.ascontiguousarray(column))
    return paths, found[:clusters]


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    number, turns = (1_000, 2) if quick else (4_000_000, 10)
    paths, first = points(folder, number, 8)
    x, y = (fw.Chunked.open(path, -(-number // 8)) for path in paths)
    yield (
        "k-means",
        f"{number:,} points, 8 centres, {turns} turns",
        lambda: program(x, y, first, turns),
        lambda: program(*map(np.load, paths), first, turns),
    )
