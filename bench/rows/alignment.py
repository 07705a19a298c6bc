"""The edit distance of two texts, by the anti-diagonals of its table: thousands of short steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

FAR = np.float32(1e9)  # outside of the table


def program(a: Any, b: Any) -> Any:
    """Each diagonal from the two before it; element i of diagonal k is cell (i, k - i)."""
    n = a.shape[0]

    def turn(state: Any) -> Any:
        k, before, last = state

        def cell(i: Any) -> Any:
            j = k - i
            above, letter_a, letter_b = fw.clip(i - 1, 0, n), fw.clip(i - 1, 0, n - 1), j - 1
            differs = a[letter_a] != b[fw.clip(letter_b, 0, n - 1)]
            changed = before[above] + differs.astype("f32")
            left_out = fw.minimum(last[i], last[above]) + np.float32(1)
            is_edge = (i == 0) | (j == 0)
            inside = (j > 0) & (j <= n)
            other = fw.where(is_edge, k.astype("f32"), FAR)
            return fw.where(inside & ~is_edge, fw.minimum(changed, left_out), other)

        return k + 1, last, fw.map(cell, fw.iota(n + 1))

    nothing = fw.full((n + 1,), FAR)
    return fw.while_loop(lambda state: state[0] <= 2 * n, turn, (0, nothing, nothing))[2][n]


def inputs(n: int) -> Arrays:
    """Two texts of four letters."""
    random = np.random.default_rng(21)
    return tuple(random.integers(0, 4, n).astype(np.int32) for _ in range(2))


def peers(tools: Tools, a: Any, b: Any) -> dict[str, Call]:
    """Cell after cell, two rows of the table at hand."""
    if not tools.numba:
        return {}

    @tools.numba.njit
    def loop(a, b):
        n = len(a)
        above, row = np.empty(n + 1, np.float32), np.arange(n + 1).astype(np.float32)
        for i in range(1, n + 1):
            above, row = row, above
            row[0] = i
            for j in range(1, n + 1):
                changed = above[j - 1] + np.float32(a[i - 1] != b[j - 1])
                row[j] = min(changed, min(above[j], row[j - 1]) + np.float32(1))
        return row[n]

    return {"numba": lambda: loop(a, b)}


ROWS = [
    Row("alignment", "8,000 iterations over 4,000 f32: edit distance", 4000, 400, program, inputs,
        (Faster(1.3, "numba"), At(V3, Faster(1, "numba"))), peers, serial=("numba",))
]  # fmt: skip
