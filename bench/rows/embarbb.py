"""The benchmarks of EmbArBB (Svensson 2013, section 4.2.7): matrix products, Sobel, blurs."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

BINOMIAL = {3: (1, 2, 1), 5: (1, 4, 6, 4, 1), 7: (1, 6, 15, 20, 15, 6, 1)}
SLOPE = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)


def matrices(size: int) -> Arrays:
    """Two squares of numbers from 0 to 1."""
    return tuple(np.random.default_rng(31).random((2, size, size), np.float32))


def product_peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """OpenBLAS, on as many threads."""
    return {"numpy": lambda: a @ b}


def sobel(image: Any) -> Any:
    """How steeply the brightness of a grey image changes at each pixel."""

    def steep(n: Any) -> Any:
        gx = n[-1, 1] + 2 * n[0, 1] + n[1, 1] - n[-1, -1] - 2 * n[0, -1] - n[1, -1]
        gy = n[1, -1] + 2 * n[1, 0] + n[1, 1] - n[-1, -1] - 2 * n[-1, 0] - n[-1, 1]
        return fw.sqrt(gx * gx + gy * gy)

    return fw.stencil(steep, image, (3, 3))


def image(side: int) -> Arrays:
    """A square of numbers from 0 to 1."""
    return (np.random.default_rng(32).random((side, side), np.float32),)


def sobel_peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """SciPy's convolutions, and the root of their squares."""
    found: dict[str, Call] = {}
    if filters := tools.scipy("ndimage"):

        def both() -> Any:
            gx = filters.convolve(xs, SLOPE, mode="nearest")
            gy = filters.convolve(xs, np.ascontiguousarray(SLOPE.T), mode="nearest")
            return np.sqrt(gx * gx + gy * gy)

        found["scipy"] = both
    return found


def grey(side: int) -> Arrays:
    """A grey image of bytes."""
    return (np.random.default_rng(33).integers(0, 256, (side, side), np.uint8),)


def blur(size: int) -> Any:
    """A weighted mean of the square around each pixel, in whole numbers."""
    row, half = BINOMIAL[size], size // 2
    near = range(-half, half + 1)
    terms = [(i, j, row[i + half] * row[j + half]) for i in near for j in near]

    def mean(image: Any) -> Any:
        found = fw.stencil(lambda n: sum(w * n[i, j].astype(fw.u32) for i, j, w in terms),
                           image, (size, size))  # fmt: skip
        return (found // sum(row) ** 2).astype(fw.u8)

    return mean


def blur_peers(size: int) -> Any:
    """SciPy's convolution."""

    def peers(tools: Tools, image: Any) -> dict[str, Call]:
        if not (filters := tools.scipy("ndimage")):
            return {}
        weights = np.multiply.outer(BINOMIAL[size], BINOMIAL[size]).astype(np.uint32)
        total = weights.sum()

        def mean() -> Any:
            found = filters.convolve(image.astype(np.uint32), weights, mode="nearest")
            return (found // total).astype(np.uint8)

        return {"scipy": mean}

    return peers


ROWS = [
    Row("matmul", "matrix product f32 768 x 768", 768, 256, fw.matmul, matrices,
        (Faster(0.9, "numpy"),), product_peers, tolerance=1e-3, blas=True),
    Row("sobel", "Sobel f32 4096 x 4096", 4096, 1024, sobel, image, (Faster(3, "scipy"),),
        sobel_peers, tolerance=1e-4),
    *(Row(f"blur_{size}", f"{size} x {size} blur of bytes 4096 x 4096", 4096, 1024,
          blur(size), grey, (Faster(3, "scipy"),), blur_peers(size)) for size in BINOMIAL),
]  # fmt: skip
