"""What a call costs when there is next to nothing to compute, and an iteration of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, AtMost
from bench.row import Arrays, Call, Row
from bench.tools import Tools

TURNS = 1000


def small(xs: Any) -> Any:
    """Two operations."""
    return xs * 2 + 1


def inputs(n: int) -> Arrays:
    """A few numbers."""
    return (np.random.default_rng(11).random(n, np.float32),)


def small_peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """The calls as users write them."""
    found: dict[str, Call] = {"numpy": lambda: xs * 2 + 1}
    if tools.numba:
        compiled = tools.numba.njit(lambda v: v * np.float32(2) + np.float32(1))
        found["numba"] = lambda: compiled(xs)
    if tools.jax:
        call, device = tools.jax.jit(small), tools.jax.numpy.asarray(xs)
        found["jax"] = lambda: call(device).block_until_ready()
    return found


def turns(xs: Any) -> Any:
    """A thousand times halfway to one."""
    return fw.while_loop(
        lambda state: state[0] < TURNS,
        lambda state: (state[0] + 1, state[1] * 0.5 + 0.5),
        (0, xs),
    )[1]


def turns_peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """The same loop in Python, and in JAX."""

    def python() -> Any:
        t = xs
        for _ in range(TURNS):
            t = t * np.float32(0.5) + np.float32(0.5)
        return t

    found: dict[str, Call] = {"numpy": python}
    if tools.jax:
        jax = tools.jax
        halve = jax.jit(lambda v: jax.lax.fori_loop(0, TURNS, lambda _, t: t * 0.5 + 0.5, v))
        device = jax.numpy.asarray(xs)
        found["jax"] = lambda: halve(device).block_until_ready()
    return found


def until(xs: Any) -> Any:
    """As long as something is below the bound: each iteration also reduces."""
    return fw.while_loop(
        lambda t: fw.max(t) < TURNS,
        lambda t: t + 1,
        xs,
    )


ROWS = [
    Row("call", "a call on 1,000 elements", 1000, 1000, small, inputs,
        (AtMost(8, "us"), At(V3, AtMost(10, "us"))), small_peers, tolerance=1e-6, repeat=2000,
        serial=("numba", "flatweave")),
    Row("turns", "1,000 iterations of a while_loop, 100 elements", 100, 100, turns, inputs,
        (AtMost(10, "ms"),), turns_peers, tolerance=1e-5, repeat=5),
    Row("turns_until", "1,000 iterations that reduce 100 elements", 100, 100, until, inputs,
        (AtMost(10, "ms"),), repeat=5),
]  # fmt: skip
