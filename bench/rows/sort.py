"""Sorting 2^24 keys of 32 bits: u32, f32, and u32 with a u32 that goes along.

The floor of a radix sort by bytes is four passes that read and write each key: 32 bytes a key, at
the speed of a non-temporal copy. Ours takes three passes of eleven bits, and reads the keys once
more in each to count them and once to find out which bits vary: 40 bytes. The `floor` of the table
is that of any program, one pass.

NumPy's own choice on processors with AVX-512 compresses to memory, which Zen 4 does in microcode;
so its AVX2 path runs too, in a process that is configured before it loads NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.elsewhere import Elsewhere
from bench.needs import V3, At, Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Native, Tools

AVX2 = "X86_V4 AVX512_ICL"


def program(xs: Any) -> Any:
    """The elements in order."""
    return fw.sort(xs)


def by_key(keys: Any, values: Any) -> Any:
    """Keys in order, and their values."""
    return fw.sort_by_key(keys, values)


def integers(n: int) -> Arrays:
    """All bits at random."""
    return (np.random.default_rng(11).integers(0, 2**32, n, dtype=np.uint32),)


def floats(n: int) -> Arrays:
    """Normally distributed."""
    return (np.random.default_rng(12).standard_normal(n, dtype=np.float32),)


def pairs(n: int) -> Arrays:
    """Random keys, and where each of them is."""
    return (*integers(n), np.arange(n, dtype=np.uint32))


def peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """All sort a copy, in memory that is there already."""
    out, n, dtype = np.zeros_like(xs), len(xs), "u32" if xs.dtype.kind == "u" else "f32"

    def in_place() -> Any:
        out[:] = xs
        out.sort()
        return out

    found: dict[str, Call] = {"numpy": in_place}
    if tools.processes:
        found["numpy, AVX2"] = Elsewhere(
            f"sort_{dtype}", "numpy", n, NPY_DISABLE_CPU_FEATURES=AVX2
        )
    if native := tools.c("sort.c"):
        loop = native.bind(f"sort_{dtype}", xs, out, n)
        found["C loop"] = lambda: (loop(), out)[1]
    if native := tools.c("sort.cpp", "-ltbb"):
        par = native.bind(f"sort_par_{dtype}", xs, out, n)
        found["std::sort(par)"] = lambda: (par(), out)[1]
    return found


def pair_peers(tools: Tools, keys: Any, values: Any) -> dict[str, Call]:
    """NumPy sorts indices; C and C++ their arguments."""
    first, second = np.zeros_like(keys), np.zeros_like(values)

    def by_places() -> Any:
        places = np.argsort(keys, kind="stable")
        return keys[places], values[places]

    def bound(native: Native, name: str) -> Call:
        call = native.bind(name, keys, values, first, second, len(keys))
        return lambda: (call(), (first, second))[1]

    found: dict[str, Call] = {"numpy": by_places}
    if tools.processes:
        found["numpy, AVX2"] = Elsewhere(
            "sort_by_key", "numpy", len(keys), NPY_DISABLE_CPU_FEATURES=AVX2
        )
    if native := tools.c("sort.c"):
        found["C loop"] = bound(native, "sort_pairs")
    if native := tools.c("sort.cpp", "-ltbb"):
        found["std::stable_sort(par)"] = bound(native, "sort_pairs_par")
    return found


BEST = Faster(1.3, "numpy", "std")
NEEDS = (BEST, At(V3, BEST), OneThread())
SIZE, QUICK = 1 << 24, 1 << 20
ROWS = [
    Row("sort_u32", "sort u32 2^24", SIZE, QUICK, program, integers, NEEDS, peers),
    Row("sort_f32", "sort f32 2^24", SIZE, QUICK, program, floats, NEEDS, peers),
    Row("sort_by_key", "sort_by_key u32, u32 2^24", SIZE, QUICK, by_key, pairs, NEEDS, pair_peers),
]
