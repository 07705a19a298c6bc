"""Twenty elementwise operations on f64: fused, they cost one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(x: Any) -> Any:
    """A polynomial with corners; peers/chain.c has the same."""
    t = fw.minimum(fw.abs(x * 1.25 + 0.5), 4.0)
    t = fw.maximum(t * t - x, -2.0)
    t = fw.abs(t * 0.75 + x)
    t = fw.minimum(t * x - 0.25, 8.0)
    t = fw.maximum(t * t + x, 0.5)
    return fw.abs(t * 0.125 - x) + 1.0


def inputs(n: int) -> Arrays:
    """Numbers from -2 to 2."""
    return (np.random.default_rng(10).uniform(-2, 2, n),)


def numpy_chain(x: Any, t: Any) -> Any:
    """The buffer is overwritten: nothing is allocated."""
    np.add(np.multiply(x, 1.25, out=t), 0.5, out=t)
    np.minimum(np.abs(t, out=t), 4.0, out=t)
    np.subtract(np.multiply(t, t, out=t), x, out=t)
    np.multiply(np.maximum(t, -2.0, out=t), 0.75, out=t)
    np.abs(np.add(t, x, out=t), out=t)
    np.subtract(np.multiply(t, x, out=t), 0.25, out=t)
    np.minimum(t, 8.0, out=t)
    np.add(np.multiply(t, t, out=t), x, out=t)
    np.multiply(np.maximum(t, 0.5, out=t), 0.125, out=t)
    np.abs(np.subtract(t, x, out=t), out=t)
    return np.add(t, 1.0, out=t)


def peers(tools: Tools, x: Any) -> dict[str, Call]:
    """NumPy in place; C fused by hand."""
    out, n = np.zeros_like(x), len(x)
    found: dict[str, Call] = {"numpy": lambda: numpy_chain(x, out)}
    if native := tools.c("chain.c"):
        loop, parallel = native.bind("chain", x, out, n), native.bind("chain_parallel", x, out, n)
        found["C loop"] = lambda: (loop(), out)[1]
        found["C OpenMP"] = lambda: (parallel(), out)[1]
    return found


ROWS = [
    Row("chain", "20 elementwise operations f64 2^26", 1 << 26, 1 << 22, program, inputs,
        (Faster(5, "numpy"), OneThread()), peers, tolerance=1e-9, one_kernel=True)
]  # fmt: skip
