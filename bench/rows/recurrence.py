"""x[n] = a[n] x[n-1] + b[n] as a scan of (f64, f64): the composition of linear functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def after(first: Any, second: Any) -> Any:
    """First a x + b, then c x + d."""
    a, b = first
    c, d = second
    return a * c, c * b + d


def program(a: Any, b: Any) -> Any:
    """The values of the recurrence, from x = 0."""
    _, x = fw.scan(after, (1.0, 0.0), (a, b))
    return x


def inputs(n: int) -> Arrays:
    """Factors that keep x small."""
    random = np.random.default_rng(2)
    return random.uniform(-0.9, 0.9, n), random.uniform(-1, 1, n)


def peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """Serial loops, and the same operator in JAX."""
    out, n = np.zeros(len(a)), len(a)
    found: dict[str, Call] = {}
    if native := tools.c("scan.c"):
        loop = native.bind("recurrence", a, b, out, n)
        found["C loop"] = lambda: (loop(), out)[1]
    if tools.numba:
        serial = numba_loop(tools.numba)
        found["numba"] = lambda: serial(a, b, out)
    if tools.jax:
        jax = tools.jax
        scan = jax.jit(lambda a, b: jax.lax.associative_scan(after, (a, b))[1])
        on_device = jax.numpy.asarray(a), jax.numpy.asarray(b)
        found["jax"] = lambda: scan(*on_device).block_until_ready()
    return found


def numba_loop(numba: Any) -> Any:
    """One multiply-add after the other."""

    @numba.njit(fastmath=True)
    def loop(a, b, out):
        x = 0.0
        for i in range(len(a)):
            x = a[i] * x + b[i]
            out[i] = x
        return out

    return loop


NEEDS = (Faster(1.5, "numba"), At(V3, Faster(1.3, "numba")), Faster(10, "jax"), OneThread())
ROWS = [
    Row("recurrence", "recurrence (f64, f64) 10^7", 10**7, 10**6, program, inputs, NEEDS, peers,
        tolerance=1e-9, serial=("numba",))
]  # fmt: skip
