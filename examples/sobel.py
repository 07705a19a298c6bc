"""Edges and blur of a photograph by stencils: what surrounds a pixel decides what it becomes.

    python examples/sobel.py                      the astronaut Eileen Collins (NASA)
    python examples/sobel.py PHOTO [FOLDER]       another photograph, pictures into this folder

A stencil function receives the neighbourhood `n` of a pixel and reads it relative to the centre:
`n[-1, 0]` is the pixel above. Beyond the border the nearest pixel counts (boundary "clamp").
"""

from __future__ import annotations

import math
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
SIZES = (3, 5, 7)


@fw.jit
def grey(photo: Any) -> Any:
    """How bright each pixel of a colour photograph is to the eye, 0 to 255."""
    red, green, blue = (photo[:, :, channel].astype(fw.f32) for channel in range(3))
    return 0.299 * red + 0.587 * green + 0.114 * blue


@fw.jit
def sobel(image: Any) -> Any:
    """How steeply the brightness changes at each pixel."""

    def slope(n: Any) -> Any:
        right = n[-1, 1] + 2 * n[0, 1] + n[1, 1]
        left = n[-1, -1] + 2 * n[0, -1] + n[1, -1]
        below = n[1, -1] + 2 * n[1, 0] + n[1, 1]
        above = n[-1, -1] + 2 * n[-1, 0] + n[-1, 1]
        return fw.sqrt((right - left) ** 2 + (below - above) ** 2)

    return fw.stencil(slope, image, (3, 3))


def weights(size: int) -> list[float]:
    """A row of Pascal's triangle: 3 gives 1/4, 2/4, 1/4."""
    return [math.comb(size - 1, k) / 2 ** (size - 1) for k in range(size)]


def blur(image: Any, size: int) -> Any:
    """Each pixel as a mean of the square around it, near pixels counting more."""
    offsets = range(-(size // 2), size // 2 + 1)
    terms = list(zip(offsets, weights(size), strict=True))

    def mean(n: Any) -> Any:
        return sum(v * w * n[di, dj] for di, v in terms for dj, w in terms)

    return fw.stencil(mean, image, (size, size))


@fw.jit(static_argnames=("size",))
def blur_grey(image: Any, size: int) -> Any:
    """The blur of one channel."""
    return blur(image, size)


@fw.jit(static_argnames=("size",))
def blur_colours(photo: Any, size: int) -> Any:
    """The blur of the three channels of a photograph of bytes."""
    channels = (blur(photo[:, :, channel].astype(fw.f32), size) for channel in range(3))
    return tuple(fw.round(channel).astype(fw.u8) for channel in channels)


def shifted(image: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """The image shifted by every offset of a square, in rows."""
    padded = np.pad(image, size // 2, mode="edge")
    height, width = image.shape
    for i in range(size):
        for j in range(size):
            yield padded[i : i + height, j : j + width]


def numpy_sobel(image: np.ndarray) -> np.ndarray:
    """The same in NumPy."""
    nw, n, ne, w, _, e, sw, s, se = shifted(image, 3)
    right_left = (ne + 2 * e + se) - (nw + 2 * w + sw)
    below_above = (sw + 2 * s + se) - (nw + 2 * n + ne)
    return np.sqrt(right_left**2 + below_above**2)


def numpy_blur(image: np.ndarray, size: int) -> np.ndarray:
    """The same in NumPy."""
    row = np.array(weights(size), image.dtype)
    products = (row[:, None] * row).ravel()
    total = np.zeros_like(image)
    for weight, moved in zip(products, shifted(image, size), strict=True):
        total += weight * moved
    return total


def read(path: Path) -> np.ndarray:
    """A photograph as height x width x 3 bytes."""
    return np.asarray(Image.open(path).convert("RGB"))


def draw(photo: np.ndarray, folder: Path) -> list[Path]:
    """Write the edges and the blurred photographs; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    edges = np.minimum(np.asarray(sobel(grey(photo))), 255).astype(np.uint8)
    pictures = {"sobel.png": edges}
    for size in SIZES:
        colours = [np.asarray(each) for each in blur_colours(photo, size)]
        pictures[f"blur{size}.png"] = np.stack(colours, axis=-1)
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(folder / name)
    return [folder / name for name in pictures]


def is_close(ours: Any, numpys: np.ndarray) -> bool:
    """Whether two images are equal but for rounding."""
    return bool(np.allclose(ours, numpys, rtol=1e-4, atol=1e-2))


def main(argv: list[str]) -> int:
    """Write the pictures, compare with NumPy: 0 when they agree."""
    photo = read(Path(argv[0]) if argv else PHOTO)
    paths = draw(photo, Path(argv[1]) if len(argv) > 1 else FOLDER)
    start = time.perf_counter()
    image = np.asarray(grey(photo))
    edges, soft = sobel(image), [blur_grey(image, size) for size in SIZES]
    print(f"{photo.shape[1]} x {photo.shape[0]} pixels: {time.perf_counter() - start:.4f} s")
    print(*paths, sep="\n")
    right = is_close(edges, numpy_sobel(image)) and all(
        is_close(ours, numpy_blur(image, size)) for ours, size in zip(soft, SIZES, strict=True)
    )
    return 0 if right else 1


def cases(times: int = 8) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    image = np.tile(np.asarray(grey(read(PHOTO)), np.float32), (times, times))
    extent = f"{image.shape[1]} x {image.shape[0]} pixels, f32"
    yield "Sobel 3x3", extent, lambda: sobel(image), lambda: numpy_sobel(image), is_close
    for size in SIZES:
        yield (
            f"blur {size}x{size}",
            extent,
            lambda size=size: blur_grey(image, size),
            lambda size=size: numpy_blur(image, size),
            is_close,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
