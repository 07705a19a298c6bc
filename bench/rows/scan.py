"""Inclusive scans of i32 with +, of 2^26 and 2^28 elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster, OfFloor, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(xs: Any) -> Any:
    """Every prefix."""
    return fw.scan(fw.add, 0, xs)


def inputs(n: int) -> Arrays:
    """Small numbers of both signs: no prefix overflows."""
    return (np.random.default_rng(1).integers(-9, 10, n, dtype=np.int32),)


def peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """All write into memory that is there already, JAX excepted."""
    out, n = np.zeros_like(xs), len(xs)
    found: dict[str, Call] = {"numpy": lambda: np.cumsum(xs, dtype=np.int32, out=out)}
    if native := tools.c("scan.c"):
        loop = native.bind("scan_add", xs, out, n)
        found["C loop"] = lambda: (loop(), out)[1]
    if native := tools.c("inclusive_scan.cpp", "-ltbb"):
        par = native.bind("inclusive_scan_par", xs, out, n)
        unseq = native.bind("inclusive_scan_par_unseq", xs, out, n)
        found["std::inclusive_scan(par)"] = lambda: (par(), out)[1]
        found["std::inclusive_scan(par_unseq)"] = lambda: (unseq(), out)[1]
    if tools.numba:
        loops = numba_loop(tools.numba)
        found["numba"] = lambda: loops(xs, out)
    if tools.jax and n <= 1 << 26:
        jax = tools.jax
        scan = jax.jit(lambda v: jax.lax.associative_scan(jax.numpy.add, v))
        device = jax.numpy.asarray(xs)
        found["jax"] = lambda: scan(device).block_until_ready()
    return found


def numba_loop(numba: Any) -> Any:
    """The serial loop: its parallel form takes two passes and twice the time."""

    @numba.njit
    def loop(xs, out):
        total = np.int32(0)
        for i in range(len(xs)):
            total += xs[i]
            out[i] = total
        return out

    return loop


NEEDS = (OfFloor(0.85), Faster(1.5, "numpy", "numba", "std"), OneThread())
ROWS = [
    Row(f"scan_{power}", f"scan(add) i32 2^{power}", 1 << power, 1 << power - 4,
        program, inputs, NEEDS, peers, serial=("numba",))
    for power in (26, 28)
]  # fmt: skip
