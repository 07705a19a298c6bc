"""The Mandelbrot set: four regions of 512 x 512 pixels, up to 512 iterations, f32."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kernels import mandelbrot

import flatweave as fw
from bench.row import Arrays, Call, Row
from bench.rows.kernels.array_tier import array_tier
from bench.tools import Tools


def region(name: str, n: int) -> Arrays:
    """How many rows, and from where to where."""
    return (np.int64(n), *(np.float32(edge) for edge in mandelbrot.REGIONS[name]))


def arrays(rows: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> Any:
    """The same in the array language: a loop for each element."""
    width, limit = mandelbrot.WIDTH, mandelbrot.LIMIT
    dx, dy = (x1 - x0) / width, (y1 - y0) / rows.astype(fw.f32)

    def pixel(k: Any) -> Any:
        cx = x0 + (k % width).astype(fw.f32) * dx
        cy = y1 - (k // width).astype(fw.f32) * dy

        def step(state: Any) -> Any:
            x, y, turns = state
            return x * x - y * y + cx, 2.0 * x * y + cy, turns + 1

        def inside(state: Any) -> Any:
            x, y, turns = state
            return (x * x + y * y < 4.0) & (turns < limit)

        zero = cx * 0.0
        return (fw.while_loop(inside, step, (zero, zero, 1))[2] % 16 * 16).astype(fw.u8)

    return fw.generate(rows * width, pixel)


def peers(name: str, tools: Tools, *args: Any) -> dict[str, Call]:
    """NumPy with all pixels in step."""
    numpys: dict[str, Call] = {
        "numpy": lambda: mandelbrot.numpy_draw(name, int(args[0])).ravel(),
    }
    return numpys | array_tier(arrays, *args)


ROWS = [
    Row(f"kernel_{name}", f"{name}: 512 x 512 pixels", 512, 4, mandelbrot.mandel,
        partial(region, name), (), partial(peers, name))
    for name in mandelbrot.REGIONS
]  # fmt: skip
