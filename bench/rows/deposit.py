"""4 * 10^6 particles, each given to the four nearest points of a 512 x 512 grid, which wraps."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

SIDE = 512


def corner(particle: Any, k: Any) -> Any:
    """The index of one of a particle's four corners, and its share of the mass."""
    x, y, mass = particle
    left, low = fw.floor(x), fw.floor(y)
    right, up = k % 2, k // 2
    across = fw.where(right == 1, x - left, 1 - (x - left))
    along = fw.where(up == 1, y - low, 1 - (y - low))
    column = (left.astype(fw.i64) + right) % SIDE
    row = (low.astype(fw.i64) + up) % SIDE
    return row * SIDE + column, mass * across * along


def program(x: Any, y: Any, mass: Any) -> Any:
    """The mass at each point."""
    places, parts = fw.expand(lambda particle: 4, corner, (x, y, mass))
    return fw.permute(fw.add, fw.full(SIDE * SIDE, 0.0), places, parts)


def inputs(n: int) -> Arrays:
    """Anywhere."""
    random = np.random.default_rng(23)
    return random.random(n) * SIDE, random.random(n) * SIDE, random.random(n)


def peers(tools: Tools, x: Any, y: Any, mass: Any) -> dict[str, Call]:
    """One particle after the other."""
    if not tools.numba:
        return {}
    loop = numba_loop(tools.numba)
    return {"numba, serial": lambda: loop(x, y, mass)}


def numba_loop(numba: Any) -> Any:
    """Four sums for each particle."""

    @numba.njit
    def loop(x, y, mass):
        grid = np.zeros(SIDE * SIDE)
        for k in range(len(x)):
            left, low = np.floor(x[k]), np.floor(y[k])
            across, along = x[k] - left, y[k] - low
            column, row = int(left) % SIDE, int(low) % SIDE
            right, up = (column + 1) % SIDE, (row + 1) % SIDE
            grid[row * SIDE + column] += mass[k] * (1 - across) * (1 - along)
            grid[row * SIDE + right] += mass[k] * across * (1 - along)
            grid[up * SIDE + column] += mass[k] * (1 - across) * along
            grid[up * SIDE + right] += mass[k] * across * along
        return grid

    return loop


NEEDS = (Faster(1.7, "numba, serial"), At(V3, Faster(1.5, "numba, serial")))
ROWS = [
    Row("deposit", "permute(add) of 4 corners of 4 * 10^6 particles, f64", 4 * 10**6, 10**5,
        program, inputs, NEEDS, peers, tolerance=1e-9, same_bits=True)
]  # fmt: skip
