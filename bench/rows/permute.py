"""f32 and f64 added at random indices, few and many: the same bits every time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(dest: Any, at: Any, xs: Any) -> Any:
    """Sums for each index."""
    return fw.permute(fw.add, dest, at, xs)


def inputs(n: int) -> Arrays:
    """A sixteenth as many indices as values, all equally likely."""
    random, places = np.random.default_rng(17), max(n // 16, 1)
    at = random.integers(0, places, n)
    return np.zeros(places, np.float32), at, random.random(n, np.float32)


def peers(tools: Tools, dest: Any, at: Any, xs: Any) -> dict[str, Call]:
    """One value after the other: none of them is parallel."""
    sums = np.zeros_like(dest)

    def numpy_way() -> Any:
        sums[:] = dest
        np.add.at(sums, at, xs)
        return sums

    found: dict[str, Call] = {"numpy.add.at": numpy_way}
    if native := tools.c("permute.c"):
        loop = native.bind("add_at", at, xs, sums, len(xs), len(sums))
        found["C loop"] = lambda: (loop(), sums)[1]
    return found


def scaled(dest: Any, at: Any, xs: Any) -> Any:
    """Sums of elements that are computed on the way."""
    return fw.permute(fw.add, dest, at, fw.map(lambda x: x * 2.0 + 1.0, xs))


def scaled_inputs(n: int, places: int) -> Arrays:
    """Places all equally likely."""
    random = np.random.default_rng(29)
    return np.zeros(places), random.integers(0, places, n), random.random(n)


def scaled_peers(tools: Tools, dest: Any, at: Any, xs: Any) -> dict[str, Call]:
    """One value after the other."""
    if not tools.numba:
        return {}
    loop = numba_loop(tools.numba)
    return {"numba, serial": lambda: loop(dest, at, xs)}


def numba_loop(numba: Any) -> Any:
    """Sums in a copy of the destination."""

    @numba.njit
    def loop(dest, at, xs):
        sums = dest.copy()
        for k in range(len(at)):
            sums[at[k]] += xs[k] * 2.0 + 1.0
        return sums

    return loop


NEEDS = (Faster(1.7, "numba, serial"), At(V3, Faster(1.5, "numba, serial")))


def row(bits: int) -> Row:
    """The row of one number of indices."""
    return Row(
        f"permute_f64_{bits}", f"permute(add) f64 2^24 into 2^{bits}", 1 << 24, 1 << 22, scaled,
        partial(scaled_inputs, places=1 << bits), NEEDS, scaled_peers,
        tolerance=1e-9, same_bits=True,
    )  # fmt: skip


ROWS = [
    Row("permute_add", "permute(add) f32 2^26 into 2^22", 1 << 26, 1 << 22, program, inputs,
        (Faster(2, "numpy.add.at"),), peers, tolerance=1e-4, same_bits=True),
    *map(row, (8, 12, 18, 22)),
]  # fmt: skip
