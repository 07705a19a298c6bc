"""A photograph in sixteen colours: k-means over its pixels.

    python examples/kmeans.py                     the astronaut Eileen Collins (NASA)
    python examples/kmeans.py PHOTO [FOLDER]      another photograph, the picture into this folder

Each iteration finds the nearest of k colours for every pixel, and moves a colour to the mean of its
pixels: a map with a loop inside, whose result is not stored but added up by `reduce_by_index`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import flatweave as fw

PHOTO = Path(__file__).parent / "data" / "astronaut.png"
FOLDER = Path("build") / "demo"
COLOURS, TURNS = 16, 20


def nearest(pixel: Any, centres: Any) -> Any:
    """The number of the centre that is nearest to a pixel; of equals the first."""

    def look(k: Any, best: Any) -> Any:
        distance = sum((part - centre[k]) ** 2 for part, centre in zip(pixel, centres, strict=True))
        nearer = distance < best[0]
        return fw.where(nearer, distance, best[0]), fw.where(nearer, k, best[1])

    return fw.fori_loop(0, centres[0].shape[0], look, (np.inf, 0))[1]


def add(x: Any, y: Any) -> Any:
    """The sum of two colours, and of their numbers of pixels."""
    return tuple(a + b for a, b in zip(x, y, strict=True))


@fw.jit
def kmeans(pixels: Any, centres: Any, turns: Any) -> Any:
    """The centres after some iterations, and the number of each pixel's centre."""

    def turn(_: Any, centres: Any) -> Any:
        labels = fw.map(lambda pixel: nearest(pixel, centres), pixels)
        counted = fw.map(lambda pixel: (*pixel, 1.0), pixels)
        none = tuple(fw.full(centres[0].shape, 0.0) for _ in range(4))
        *sums, number = fw.reduce_by_index(none, add, (0.0,) * 4, labels, counted)
        return tuple(
            fw.where(number > 0, total / fw.maximum(number, 1), centre)
            for total, centre in zip(sums, centres, strict=True)
        )

    centres = fw.fori_loop(0, turns, turn, centres)
    return centres, fw.map(lambda pixel: nearest(pixel, centres), pixels)


def numpy_kmeans(
    pixels: tuple[np.ndarray, ...], centres: tuple[np.ndarray, ...], turns: int
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The same in NumPy: all distances are stored."""

    def labels() -> np.ndarray:
        parts = zip(pixels, centres, strict=True)
        return np.argmin(sum((part[:, None] - centre) ** 2 for part, centre in parts), axis=1)

    for _ in range(turns):
        near, k = labels(), len(centres[0])
        number = np.bincount(near, minlength=k)
        sums = [np.bincount(near, part, k) for part in pixels]
        centres = tuple(
            np.where(number > 0, total / np.maximum(number, 1), centre)
            for total, centre in zip(sums, centres, strict=True)
        )
    return centres, labels()


def read(path: Path) -> tuple[tuple[np.ndarray, ...], tuple[int, int]]:
    """The three parts of all pixels of a photograph, each 0 to 255; its height and width."""
    photo = np.asarray(Image.open(path).convert("RGB"))
    return tuple(np.moveaxis(photo, 2, 0).reshape(3, -1).astype(np.float64)), photo.shape[:2]


def spread(pixels: tuple[np.ndarray, ...], k: int) -> tuple[np.ndarray, ...]:
    """k pixels as first centres: evenly from dark to bright."""
    order = np.argsort(pixels[0] + pixels[1] + pixels[2], kind="stable")
    picked = order[np.linspace(0, order.size - 1, k).astype(np.int64)]
    return tuple(part[picked] for part in pixels)


def draw(centres: Any, labels: Any, shape: tuple[int, int], folder: Path) -> Path:
    """Write the photograph in the colours of the centres; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    colours = np.stack([np.asarray(part) for part in centres], axis=1).round().astype(np.uint8)
    path = folder / "kmeans.png"
    Image.fromarray(colours[np.asarray(labels)].reshape(*shape, 3)).save(path)
    return path


def is_close(ours: Any, numpys: Any) -> bool:
    """Whether two results have the same colours, and nearly all pixels the same one."""
    same = np.mean(np.asarray(ours[1]) != numpys[1]) < 1e-3
    return bool(same and np.allclose(np.stack(ours[0]), np.stack(numpys[0]), atol=0.1))


def main(argv: list[str]) -> int:
    """Write the picture, compare with NumPy: 0 when they agree."""
    pixels, shape = read(Path(argv[0]) if argv else PHOTO)
    first = spread(pixels, COLOURS)
    kmeans(pixels, first, 0)  # compile
    start = time.perf_counter()
    centres, labels = kmeans(pixels, first, TURNS)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = numpy_kmeans(pixels, first, TURNS)
    numpy_seconds = time.perf_counter() - start
    print(f"{shape[1]} x {shape[0]} pixels, {COLOURS} colours, {TURNS} turns")
    print(f"flatweave: {seconds:.3f} s, NumPy: {numpy_seconds:.3f} s")
    print(draw(centres, labels, shape, Path(argv[1]) if len(argv) > 1 else FOLDER))
    return 0 if is_close((centres, labels), expected) else 1


def cases(turns: int = TURNS) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    pixels, shape = read(PHOTO)
    first = spread(pixels, COLOURS)
    yield (
        "k-means",
        f"{shape[1]} x {shape[0]} pixels, {COLOURS} colours, {turns} turns",
        lambda: kmeans(pixels, first, turns),
        lambda: numpy_kmeans(pixels, first, turns),
        is_close,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
