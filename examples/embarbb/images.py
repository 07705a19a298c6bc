"""Grey images of bytes: a histogram and its picture, edges (Sobel), blurs of three sizes.

    python examples/embarbb images

Beyond the border the nearest pixel counts; EmbArBB does not say what counts there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw

BINOMIAL = {3: (1, 2, 1), 5: (1, 4, 6, 4, 1), 7: (1, 6, 15, 20, 15, 6, 1)}
RIGHT = ((-1, 1, 1), (0, 1, 2), (1, 1, 1), (-1, -1, -1), (0, -1, -2), (1, -1, -1))


@fw.jit
def histogram(image: Any) -> Any:
    """How many pixels there are of each brightness."""
    return fw.histogram(256, image.reshape(-1))


@fw.jit
def picture(counts: Any) -> Any:
    """Bars of a histogram: 256 x 256 bytes, the highest bar as high as the picture."""
    heights = (counts * 256) // fw.maximum(fw.max(counts), 1)
    return fw.generate((256, 256), lambda i, j: fw.where(255 - i < heights[j], 255, 0)).astype(
        fw.u8
    )


@fw.jit
def edges(image: Any) -> Any:
    """How steeply the brightness, 0 to 1, changes at each pixel, as bytes."""

    def steep(n: Any) -> Any:
        gx = sum(w * n[i, j] for i, j, w in RIGHT)
        gy = sum(w * n[j, i] for i, j, w in RIGHT)
        return fw.sqrt(gx * gx + gy * gy)

    found = fw.stencil(steep, image.astype(fw.f32) / 255, (3, 3))
    return (fw.minimum(found, 1) * 255).astype(fw.u8)


@fw.jit(static_argnames=("size",))
def blur(image: Any, size: int) -> Any:
    """A weighted mean of the square around each pixel, in whole numbers."""
    row, half = BINOMIAL[size], size // 2
    near = range(-half, half + 1)
    terms = [(i, j, row[i + half] * row[j + half]) for i in near for j in near]
    found = fw.stencil(lambda n: sum(w * n[i, j].astype(fw.u32) for i, j, w in terms), image,
                       (size, size))  # fmt: skip
    return (found // sum(row) ** 2).astype(fw.u8)


def around(image: np.ndarray, size: int, terms: Any) -> np.ndarray:
    """The weighted sum of shifted copies of an image."""
    half = size // 2
    padded = np.pad(image, half, mode="edge")
    h, w = image.shape
    return sum(
        weight * padded[half + i : half + i + h, half + j : half + j + w] for i, j, weight in terms
    )


def numpy_edges(image: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    grey = image.astype(np.float32) / np.float32(255)
    gx, gy = around(grey, 3, RIGHT), around(grey, 3, [(j, i, w) for i, j, w in RIGHT])
    return (np.minimum(np.sqrt(gx * gx + gy * gy), 1) * 255).astype(np.uint8)


def numpy_blur(image: np.ndarray, size: int) -> np.ndarray:
    """The same in NumPy."""
    row, half = BINOMIAL[size], size // 2
    near = range(-half, half + 1)
    terms = [(i, j, np.uint32(row[i + half] * row[j + half])) for i in near for j in near]
    return (around(image.astype(np.uint32), size, terms) // sum(row) ** 2).astype(np.uint8)


def numpy_picture(counts: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    heights = counts * 256 // max(counts.max(), 1)
    return np.where(255 - np.arange(256)[:, None] < heights, 255, 0).astype(np.uint8)


def nearly(ours: Any, numpys: Any) -> bool:
    """Equal but for one step of brightness, where a rounding differs."""
    difference = np.asarray(ours).astype(int) - np.asarray(numpys)
    return bool(np.abs(difference).max(initial=0) <= 1)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    side = 40 if quick else 2048
    image = np.random.default_rng(5).integers(0, 256, (side, side), np.uint8)
    counts = np.bincount(image.reshape(-1), minlength=256)
    given = f"{side} x {side} bytes"
    yield "histogram", given, lambda: histogram(image), lambda: counts, np.array_equal
    yield ("its picture", "256 bars", lambda: picture(counts), lambda: numpy_picture(counts),
           np.array_equal)  # fmt: skip
    yield "edges", given, lambda: edges(image), lambda: numpy_edges(image), nearly
    for size in BINOMIAL:
        yield (f"blur {size} x {size}", given, lambda size=size: blur(image, size),
               lambda size=size: numpy_blur(image, size), np.array_equal)  # fmt: skip
