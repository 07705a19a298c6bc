"""The programs whose scaling is simulated and measured: one of each kind of exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw

BINS = 256


@fw.jit
def drawn(blocks: Any, rows: Any) -> Any:
    """Numbers that look random, `rows` of them for each block."""

    def number(at: Any) -> Any:
        x = at.astype(fw.u32) * fw.u32(2654435761)
        x = (x ^ (x >> 15)) * fw.u32(2246822519)
        return x ^ (x >> 13)

    def block(k: Any) -> Any:
        return fw.generate(rows, lambda j: number(k * rows + j))

    return fw.reshape(fw.map(block, blocks), (-1,))


def keys(chunks: int, rows: int) -> Any:
    """An array in `chunks` chunks, drawn where it will stay."""
    return drawn(fw.Chunked.cut(np.arange(chunks), 1), rows)


@fw.jit
def mapped(x: Any) -> Any:
    """Every element separately."""
    return x * 2 + 1


@fw.jit
def reduced(x: Any) -> Any:
    """One value of all."""
    return fw.sum(x)


@fw.jit
def scanned(x: Any) -> Any:
    """The sums of all earlier elements."""
    return fw.cumsum(x)


@fw.jit
def filtered(x: Any) -> Any:
    """Every second element, about."""
    return x[x > 1 << 31]


@fw.jit
def counted(x: Any) -> Any:
    """How many elements fall into each of a few bins."""
    return fw.histogram(BINS, (x >> 24).astype(fw.i64))


@fw.jit
def ordered(x: Any) -> Any:
    """All elements in order."""
    return fw.sort(x)


@fw.jit
def looked_up(x: Any) -> Any:
    """Elements at computed indices."""
    return x[x.astype(fw.i64) % x.shape[0]]


PROGRAMS = {
    "map": mapped, "reduce": reduced, "scan": scanned, "filter": filtered, "histogram": counted,
    "sort": ordered, "gather": looked_up,
}  # fmt: skip
