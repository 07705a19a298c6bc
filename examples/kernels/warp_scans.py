"""Scans by warps: 32 elements of each in memory of the warp, between whose steps no block waits.

    python examples/kernels warp_scans

    1  each warp scans 32 elements: barriers of the warp, which cost next to nothing
    2  one warp scans the last elements of all warps
    3  each element is combined with what stands before its warp: two barriers of the block in all

`force` in code of a warp stores in memory of the warp and waits for its lanes alone;
`fk.warp_scan` passes values from lane to lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.reductions import Op, plus
from kernels.scans import brent_kung, kogge_stone, sklansky2, sklansky4

from flatweave import kernel as fk

LANES = 32


def scan(op: Op, part: Any, of_warp: Callable[[Op, Any], Any] = kogge_stone) -> Any:
    """All prefixes of up to 1,024 elements; of a power of two."""
    lanes = min(LANES, len(part))
    warps = len(part) // lanes
    scanned = fk.force(by_warps(partial(of_warp, op), lanes, part))
    if warps == 1:
        return scanned
    last = fk.pull(warps, lambda w: scanned[w * lanes + lanes - 1])
    before = fk.force(by_warps(partial(of_warp, op), warps, last))

    def element(i: Any) -> Any:
        return fk.cond(
            i < lanes, lambda: scanned[i], lambda: op(before[i // lanes - 1], scanned[i])
        )

    return fk.pull(len(part), element)


def by_warps(block: Callable[[Any], Any], extent: int, part: Any) -> Any:
    """A warp for each `extent` consecutive elements."""
    return fk.pconcat_map(block, fk.split_up(extent, part), level=fk.WARP)


VARIANTS: dict[str, Callable[[Op, Any], Any]] = {
    "warps_kogge_stone": partial(scan, of_warp=kogge_stone),
    "warps_sklansky2": partial(scan, of_warp=sklansky2),
    "warps_sklansky4": partial(scan, of_warp=sklansky4),
    "warps_brent_kung": partial(scan, of_warp=brent_kung),
    "warps_warp_scan": partial(scan, of_warp=fk.warp_scan),
}


def by_blocks(name: str, op: Op = plus, extent: int = 1024) -> Any:
    """A kernel that scans each part of an array."""

    def scanned(xs: Any) -> Any:
        return fk.pconcat_map(partial(VARIANTS[name], op), fk.split_up(extent, xs))

    scanned.__name__ = name
    return fk.kernel(scanned, threads=extent)


KERNELS = {name: by_blocks(name) for name in VARIANTS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 1 << (11 if quick else 24)
    xs = np.random.default_rng(1).integers(-9, 10, n, dtype=np.int32)
    for name, ours in KERNELS.items():
        yield (
            name, f"{n:,} i32", partial(ours, xs),
            lambda: xs.reshape(-1, 1024).cumsum(axis=1, dtype=np.int32).ravel(), np.array_equal,
        )  # fmt: skip
