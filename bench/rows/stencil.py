"""Stencils over an f32 image whose border repeats its edge: five points, and 7 x 7 weights."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, OfFloor, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools

PLUS = np.array([[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]], np.float32)
WEIGHTS = np.random.default_rng(8).random((7, 7), np.float32) / np.float32(25)


def five_point(xs: Any) -> Any:
    """Half of itself and an eighth of each neighbour."""
    return fw.stencil(
        lambda n: 0.5 * n[0, 0] + 0.125 * (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]), xs, (3, 3)
    )


def seven_by_seven(xs: Any) -> Any:
    """49 different weights, which nothing separates."""
    around = [(i, j) for i in range(-3, 4) for j in range(-3, 4)]
    return fw.stencil(
        lambda n: sum(float(WEIGHTS[i + 3, j + 3]) * n[i, j] for i, j in around), xs, (7, 7)
    )


def inputs(side: int) -> Arrays:
    """A square of numbers from 0 to 1."""
    return (np.random.default_rng(9).random((side, side), np.float32),)


def peers_of(name: str, weights: Any) -> Any:
    """SciPy, and C on one core and on all."""

    def peers(tools: Tools, xs: Any) -> dict[str, Call]:
        out = np.zeros_like(xs)
        found: dict[str, Call] = {}
        flipped = np.ascontiguousarray(weights[::-1, ::-1])
        if image := tools.scipy("ndimage"):
            found["scipy"] = lambda: image.convolve(xs, flipped, output=out, mode="nearest")
        if native := tools.c("stencil.c"):
            given = (xs, out) if weights is PLUS else (xs, weights, out)
            loop = native.bind(name, *given, *xs.shape)
            parallel = native.bind(f"{name}_parallel", *given, *xs.shape)
            found["C loop"] = lambda: (loop(), out)[1]
            found["C OpenMP"] = lambda: (parallel(), out)[1]
        return found

    return peers


ROWS = [
    Row("stencil_5", "5-point stencil f32 4096 x 4096", 4096, 2048, five_point, inputs,
        (OfFloor(0.8), At(V3, OfFloor(0.75)), OneThread()), peers_of("five_point", PLUS),
        tolerance=1e-5),
    Row("stencil_7x7", "7 x 7 stencil f32 4096 x 4096", 4096, 1024, seven_by_seven, inputs,
        (Faster(3, "scipy"), OneThread()), peers_of("seven_by_seven", WEIGHTS), tolerance=1e-5),
]  # fmt: skip
