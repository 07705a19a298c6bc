"""Chains of operations in each row of a matrix, which are one pass (`examples/nests/chains.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from nests import chains

from bench.needs import OfFloor
from bench.row import Arrays, Call, Row
from bench.tools import Tools

WIDTH = 1024


def rows(n: int) -> Arrays:
    """Whole numbers in rows of 1,024."""
    return (chains.matrix(max(n // WIDTH, 2), WIDTH)[0],)


def weighted(n: int) -> Arrays:
    """And one row more."""
    return chains.matrix(max(n // WIDTH, 2), WIDTH)


def peers_of(name: str) -> Any:
    """NumPy, one operation after the other."""
    _, numpys = {**chains.CHAINS, **chains.WEIGHTED}[name]

    def peers(tools: Tools, *args: Any) -> dict[str, Call]:
        return {"numpy": lambda: np.asarray(numpys(*args))}

    return peers


def row(name: str, said: str, one_kernel: bool) -> Row:
    """One chain."""
    ours, _ = {**chains.CHAINS, **chains.WEIGHTED}[name]
    return Row(
        f"nest_chain_{said}", f"{name}, rows of 1,024 i64, 2^26", 1 << 26, 1 << 21,
        ours.__wrapped__, weighted if name in chains.WEIGHTED else rows, (OfFloor(0.8),),
        peers_of(name), one_kernel=one_kernel,
    )  # fmt: skip


ROWS = [
    row("scan of scan", "scans", one_kernel=True),
    row("scan, then sum", "sum", one_kernel=True),
    row("sum of products", "products", one_kernel=True),
    row("sum used by a scan", "used", one_kernel=False),
]
