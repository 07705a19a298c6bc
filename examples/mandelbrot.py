"""The Mandelbrot set: a loop for every pixel.

    python examples/mandelbrot.py                 build/demo/mandelbrot.png
    python examples/mandelbrot.py FOLDER          the picture into this folder

Neighbouring pixels need different numbers of iterations; the compiler runs a vector
of pixels at a time and lets those that are done wait.
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

FOLDER = Path("build") / "demo"
HEIGHT, WIDTH, LIMIT = 1000, 1500, 200


@fw.jit
def mandelbrot(height: Any, width: Any, limit: Any) -> Any:
    """For each pixel, the iterations until z = z * z + c leaves the circle of radius 2."""

    def pixel(i: Any, j: Any) -> Any:
        real = 3.0 * j / width - 2.2
        imaginary = 2.0 * i / height - 1.0

        def inside(state: Any) -> Any:
            x, y, turns = state
            return (x * x + y * y <= 4.0) & (turns < limit)

        def step(state: Any) -> Any:
            x, y, turns = state
            return x * x - y * y + real, 2.0 * x * y + imaginary, turns + 1

        return fw.while_loop(inside, step, (0.0, 0.0, 0))[2]

    return fw.generate((height, width), pixel)


def numpy_mandelbrot(height: int, width: int, limit: int) -> np.ndarray:
    """The same in NumPy: all pixels in step, those that left set aside."""
    real = np.broadcast_to(3.0 * np.arange(width) / width - 2.2, (height, width)).ravel()
    imaginary = np.repeat(2.0 * np.arange(height) / height - 1.0, width)
    turns = np.full(height * width, limit)
    at = np.arange(height * width)
    x, y = np.zeros(height * width), np.zeros(height * width)
    for turn in range(limit):
        inside = x * x + y * y <= 4.0
        turns[at[~inside]] = turn
        at, x, y, real, imaginary = (part[inside] for part in (at, x, y, real, imaginary))
        x, y = x * x - y * y + real, 2.0 * x * y + imaginary
    return turns.reshape(height, width)


def palette(limit: int) -> np.ndarray:
    """A colour for each number of iterations; black for the set itself."""
    along = np.sqrt(np.arange(limit + 1) / limit)[:, None]
    waves = 0.5 - 0.5 * np.cos(2 * np.pi * (along * [1.0, 1.3, 1.7] + [0.0, 0.05, 0.15]))
    colours = (255 * waves).astype(np.uint8)
    colours[limit] = 0
    return colours


def draw(turns: Any, limit: int, folder: Path) -> Path:
    """Write the picture; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(palette(limit)[np.asarray(turns)]).save(folder / "mandelbrot.png")
    return folder / "mandelbrot.png"


def is_close(ours: Any, numpys: np.ndarray) -> bool:
    """Whether nearly all pixels are equal: at the border, one rounding more changes a pixel."""
    return bool(np.mean(np.asarray(ours) != numpys) < 1e-3)


def main(argv: list[str]) -> int:
    """Draw the set, compare with NumPy: 0 when they agree."""
    mandelbrot(8, 8, LIMIT)  # compile
    start = time.perf_counter()
    turns = mandelbrot(HEIGHT, WIDTH, LIMIT)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = numpy_mandelbrot(HEIGHT, WIDTH, LIMIT)
    numpy_seconds = time.perf_counter() - start
    print(f"{WIDTH} x {HEIGHT} pixels, at most {LIMIT} turns")
    print(f"flatweave: {seconds:.3f} s, NumPy: {numpy_seconds:.3f} s")
    print(draw(turns, LIMIT, Path(argv[0]) if argv else FOLDER))
    return 0 if is_close(turns, expected) else 1


def cases(height: int = HEIGHT) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    width = height * 3 // 2
    yield (
        "Mandelbrot",
        f"{width} x {height} pixels, {LIMIT} turns, f64",
        lambda: mandelbrot(height, width, LIMIT),
        lambda: numpy_mandelbrot(height, width, LIMIT),
        is_close,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
