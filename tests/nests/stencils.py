"""Stencils of rows: an element from its neighbours, whatever is beyond the edges.

    fw.stencil(lambda v: v[-1] + v[1], row, 3, "mirror")
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.nests.tree import Made
from tests.nests.types import Row
from tests.nests.writer import ROWS, Writer, chosen, node

Look = Callable[[int], Any]
BODIES: dict[str, Callable[[Look], Any]] = {
    "v[-1] + v[1]": lambda v: v(-1) + v(1),
    "v[1] - v[0] - v[-1]": lambda v: v(1) - v(0) - v(-1),
    "fw.maximum(v[-1], v[0])": lambda v: max(v(-1), v(0)),
    "fw.where(v[0] > v[1], v[-1], v[1])": lambda v: v(-1) if v(0) > v(1) else v(1),
}
EDGES: dict[str, Callable[[int, int], int]] = {
    '"clamp"': lambda i, n: min(max(i, 0), n - 1),
    '"wrap"': lambda i, n: i % n,
    '"mirror"': lambda i, n: 0 if n == 1 else min(i % (2 * n - 2), -i % (2 * n - 2)),
    '("constant", 2)': lambda i, n: i if 0 <= i < n else -1,
}


def meaning(dtype: str, body: str, edge: str, xs: list[Any]) -> list[Any]:
    """Each element's neighbours, by their indices."""
    outside = np.dtype(dtype).type(2)

    def at(i: int) -> Any:
        place = EDGES[edge](i, len(xs))
        return outside if place < 0 else xs[place]

    return [BODIES[body](lambda d, i=i: at(i + d)) for i in range(len(xs))]


@chosen(ROWS, 3)
def stencilled(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    body, edge = w.random.choice(list(BODIES)), w.random.choice(list(EDGES))
    return node(Row(dtype), f"fw.stencil(lambda v: {body}, {{0}}, 3, {edge})",
                partial(meaning, dtype, body, edge), w.row(dtype, fuel - 1))  # fmt: skip
