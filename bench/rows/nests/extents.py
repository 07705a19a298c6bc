"""Sums and prefix sums of matrices of 2^27 f32, from as many rows as elements to one row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, Need, OfFloor
from bench.row import Arrays, Call, Row
from bench.tools import Tools

SIZE = 27  # elements in all, by the logarithm


def sums(rows: Any) -> Any:
    """The sum of each row."""
    return fw.map(fw.sum, rows)


def scans(rows: Any) -> Any:
    """Every prefix of each row."""
    return fw.map(lambda row: fw.scan(fw.add, 0, row), rows)


def inputs(n: int, long: int) -> Arrays:
    """Whole numbers, whose sums are exact; of n elements 2^(long - 27) n in a row."""
    row = max(n >> (SIZE - long), 1)
    values = np.random.default_rng(37).integers(-8, 9, n // row * row, np.int8)
    return (values.astype(np.float32).reshape(-1, row),)


def sum_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy along the axis."""
    out = np.zeros(len(rows), np.float32)
    return {"numpy": lambda: np.sum(rows, axis=1, out=out)}


def scan_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """NumPy along the axis."""
    out = np.zeros_like(rows)
    return {"numpy": lambda: np.cumsum(rows, axis=1, out=out)}


def row(kind: str, program: Any, peers: Any, needs: tuple[Need, ...], long: int) -> Row:
    """One program on one extent."""
    shape = f"2^{SIZE - long} x 2^{long}"
    return Row(
        f"nest_{kind}_{long}", f"{kind} of rows of {shape} f32", 1 << SIZE, 1 << 22, program,
        partial(inputs, long=long), needs, peers, one_kernel=True,
    )  # fmt: skip


LONG = (0, 7, 10, 14, 24, 27)
SUMS = (OfFloor(0.9), Faster(1, "numpy"), At(V3, OfFloor(0.9)))
SCANS = (OfFloor(0.8), Faster(1, "numpy"), At(V3, OfFloor(0.8)))
ROWS = [
    *(row("sums", sums, sum_peers, SUMS, long) for long in LONG),
    *(row("scans", scans, scan_peers, SCANS, long) for long in LONG),
]
