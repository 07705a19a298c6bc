"""2^26 f32 added at random places of 2^22: the same bits every time, whoever adds them."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(dest: Any, at: Any, xs: Any) -> Any:
    """Sums for each place."""
    return fw.permute(fw.add, dest, at, xs)


def inputs(n: int) -> Arrays:
    """A sixteenth as many places as values, all equally likely."""
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


ROWS = [
    Row("permute_add", "permute(add) f32 2^26 into 2^22", 1 << 26, 1 << 22, program, inputs,
        (Faster(2, "numpy.add.at"),), peers, tolerance=1e-4, same_bits=True)
]  # fmt: skip
