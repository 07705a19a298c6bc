"""Sorts of 2^20 u32: of parts by networks, and of all; counting sorts of 2^23 small keys."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kernels import counting, large_sort, networks, odd_even

import flatweave as fw
from bench.row import Arrays, Call, Row
from bench.rows.kernels.array_tier import ARRAYS, array_tier
from bench.tools import Tools

LOG, EXTENT = 20, 1 << 16
SIZE, QUICK = 1 << LOG, 1 << 12


def inputs(n: int) -> Arrays:
    """All bits at random; a whole number of parts."""
    whole = -(-n // networks.PART) * networks.PART
    return (np.random.default_rng(11).integers(0, 1 << 32, whole, dtype=np.uint32),)


def small(n: int) -> Arrays:
    """Numbers of 16 bits."""
    return (np.random.default_rng(11).integers(0, EXTENT, n, dtype=np.uint32),)


def peers(part: int, tools: Tools, keys: Any) -> dict[str, Call]:
    """Sorts of rows."""
    rows = keys.reshape(-1, part)
    numpys: dict[str, Call] = {"numpy": lambda: np.sort(rows, axis=1).ravel()}
    compiled = array_tier(lambda rows: fw.map(fw.sort, rows), rows)
    return numpys | {ARRAYS: lambda: np.asarray(compiled[ARRAYS]()).ravel()}


def whole(tools: Tools, keys: Any) -> dict[str, Call]:
    """Sorts of all."""
    numpys: dict[str, Call] = {"numpy": lambda: np.sort(keys)}
    return numpys | array_tier(lambda keys: fw.sort(keys), keys)


def once(tools: Tools, keys: Any) -> dict[str, Call]:
    """Each key once; the array language counts them, and filters what was counted."""

    def counted(keys: Any) -> Any:
        counts = fw.histogram(EXTENT, keys.astype(fw.i64))
        return fw.filter(lambda g: counts[g] > 0, fw.iota(EXTENT))

    numpys: dict[str, Call] = {"numpy": lambda: np.unique(keys)}
    return numpys | array_tier(counted, keys)


def large(keys: Any) -> Any:
    """The bitonic sort of up to 2^20 keys."""
    return large_sort.sort_to(keys, np.uint32(0xFFFF_FFFF), log=LOG)


SORTERS = {name: (networks.KERNELS[name], networks.PART) for name in networks.SORTERS} | {
    "sort_oe": (odd_even.KERNELS["sort_oe"], odd_even.PART)
}
ROWS = [
    *(
        Row(f"kernel_{name}", f"{name}: sorts of parts of {part} u32, 2^{LOG}", SIZE, QUICK,
            kernel, inputs, (), partial(peers, part))
        for name, (kernel, part) in SORTERS.items()
    ),
    Row("kernel_sort", f"bitonic sort of 2^{LOG} u32", SIZE, QUICK, large, inputs, (), whole),
    Row("kernel_counting_sort", "counting sort of 2^23 u32 below 2^16", 1 << 23, QUICK,
        lambda keys: counting.counting_sort(keys, EXTENT), small, (), whole),
    Row("kernel_occurrence_sort", "occurrence sort of 2^23 u32 below 2^16", 1 << 23, QUICK,
        lambda keys: counting.occurrence_sort(keys, EXTENT), small, (), once),
]  # fmt: skip
