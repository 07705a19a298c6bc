"""Histograms of 2^26 i32 into tables that fit the first cache, the second, and neither."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def inputs(n: int, bins: int) -> Arrays:
    """Every bin equally likely."""
    return (np.random.default_rng(7).integers(0, bins, n, dtype=np.int32),)


def peers(tools: Tools, xs: Any, bins: int) -> dict[str, Call]:
    """Counts of 64 bits, as ours; the parallel C has private ones of 32 bits."""
    counts, n = np.zeros(bins, np.int64), len(xs)
    found: dict[str, Call] = {"numpy.bincount": lambda: np.bincount(xs, minlength=bins)}
    if native := tools.c("histogram.c"):
        loop = native.bind("histogram", xs, counts, n, bins)
        parallel = native.bind("histogram_parallel", xs, counts, n, bins)
        found["C loop"] = lambda: (loop(), counts)[1]
        found["C private bins"] = lambda: (parallel(), counts)[1]
    if tools.numba:
        private = numba_loop(tools.numba)
        found["numba"] = lambda: private(xs, bins, tools.numba.get_num_threads())
    return found


def numba_loop(numba: Any) -> Any:
    """Private bins per thread."""

    @numba.njit(parallel=True)
    def loop(xs, bins, threads):
        own = np.zeros((threads, bins), np.int64)
        for t in numba.prange(threads):
            for i in range(len(xs) * t // threads, len(xs) * (t + 1) // threads):
                own[t, xs[i]] += 1
        return own.sum(axis=0)

    return loop


def row(bins: int) -> Row:
    """The row of one number of bins."""

    def program(xs: Any) -> Any:
        return fw.histogram(bins, xs)

    private = Faster(1.1 if bins <= 65_536 else 1, "C private")
    return Row(
        f"histogram_{bins}", f"histogram 2^26 i32 into {bins:,} bins", 1 << 26, 1 << 22,
        program, partial(inputs, bins=bins),
        (private, At(V3, private), Faster(4, "numpy"), OneThread()),
        partial(peers, bins=bins),
    )  # fmt: skip


ROWS = [row(256), row(65_536), row(1 << 20)]
