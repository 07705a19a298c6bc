"""The Mandelbrot set: a block for each row, a thread for each pixel, a loop in each.

    python examples/kernels mandelbrot              compared with NumPy
    python examples/kernels/mandelbrot.py FOLDER    its picture, and three enlargements, as PNG

`generate` is used at two levels: of rows by blocks, and of the pixels of a row by threads. After
Svensson (2013, 3.5.4), whose four regions and colours these are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

WIDTH, LIMIT = 512, 512
FOLDER = Path("build") / "demo"
REGIONS = {
    "mandel": (-2.0, 1.2, -1.2, 1.2),
    "mandel1": (-0.691060, -0.690906, 0.387103, 0.387228),
    "mandel2": (-0.793114, -0.723005, 0.037822, 0.140974),
    "mandel3": (-0.745464, -0.745388, 0.112967, 0.113030),
}
"""From where to where in x, and in y."""


def escape(cx: Any, cy: Any) -> Any:
    """The iterations until z = z * z + c leaves the circle of radius 2."""

    def step(state: Any) -> Any:
        x, y, turns = state
        return x * x - y * y + cx, 2.0 * x * y + cy, turns + 1

    def inside(state: Any) -> Any:
        x, y, turns = state
        return (x * x + y * y < 4.0) & (turns < LIMIT)

    zero = cx * 0.0
    return fk.seq_until(step, inside, (zero, zero, 1))[2]


def picture(name: str) -> Any:
    """The kernel of a square picture whose pixels are bytes."""

    def pixels(rows: fw.i64, x0: fw.f32, x1: fw.f32, y0: fw.f32, y1: fw.f32) -> Any:
        dx, dy = (x1 - x0) / WIDTH, (y1 - y0) / rows.astype(fw.f32)

        def pixel(i: Any, j: Any) -> Any:
            turns = escape(x0 + j.astype(fw.f32) * dx, y1 - i.astype(fw.f32) * dy)
            return (turns % 16 * 16).astype(fw.u8)

        return fk.generate(rows, lambda i: fk.generate(WIDTH, lambda j: pixel(i, j)))

    pixels.__name__ = name
    return fk.kernel(pixels, threads=WIDTH)


mandel = picture("mandel")
KERNELS = dict.fromkeys(REGIONS, mandel)


def draw(name: str, rows: int = WIDTH) -> np.ndarray:
    """A region as bytes, row by row."""
    region = (np.float32(edge) for edge in REGIONS[name])
    return np.asarray(mandel(rows, *region)).reshape(rows, WIDTH)


def numpy_draw(name: str, rows: int = WIDTH) -> np.ndarray:
    """The same in NumPy: all pixels in step, those that left set aside."""
    x0, x1, y0, y1 = (np.float32(edge) for edge in REGIONS[name])
    dx, dy = (x1 - x0) / np.float32(WIDTH), (y1 - y0) / np.float32(rows)
    cx = np.tile(x0 + np.arange(WIDTH, dtype=np.float32) * dx, rows)
    cy = np.repeat(y1 - np.arange(rows, dtype=np.float32) * dy, WIDTH)
    turns, at = np.full(rows * WIDTH, LIMIT), np.arange(rows * WIDTH)
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    for turn in range(1, LIMIT):
        inside = x * x + y * y < 4
        turns[at[~inside]] = turn
        at, x, y, cx, cy = (part[inside] for part in (at, x, y, cx, cy))
        x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
    return (turns % 16 * 16).astype(np.uint8).reshape(rows, WIDTH)


def main(folder: Path) -> None:
    """Write the pictures."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for name in REGIONS:
        Image.fromarray(draw(name)).save(folder / f"{name}.png")
        print(folder / f"{name}.png")


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    rows = 2 if quick else WIDTH
    for name in REGIONS:
        yield (
            name, f"{rows} x {WIDTH} pixels, f32", partial(draw, name, rows),
            partial(numpy_draw, name, rows), np.array_equal,
        )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
