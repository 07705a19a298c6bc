"""Sums and scans of 2^24 elements by kernels in the variant that `fk.tune` finds, next to those of
the array language."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.rows.kernels.array_tier import array_tier
from bench.rows.kernels.scans import ARRAYS
from bench.tools import Tools
from flatweave import kernel as fk

SIZE, QUICK = 1 << 24, 1 << 18
EXTENTS = [8192, 16384, 32768, 65536]
BUDGET = 4.0
FOUND: dict[str, Any] = {}
"""The tuned kernels of this process, made when their inputs are."""


def plus(a: Any, b: Any) -> Any:
    """An operator."""
    return a + b


def running_sums(extent: int) -> Any:
    """All prefixes in one pass: a block looks back to those before it."""

    @fk.kernel
    def sums(xs: Any) -> Any:
        parts, zero = fk.split_up(extent, xs), xs[0] * 0
        chain = fk.chain(parts.length, zero)

        def block(b: Any) -> Any:
            total = fk.reduce(plus, parts[b], zero)
            return fk.scan(plus, parts[b], zero, fk.look_back(plus, chain, b, total))

        return fk.generate(parts.length, block)

    return sums


def total(extent: int) -> Any:
    """The sum of each part, and their sum by one block."""

    @fk.kernel
    def sum_of_all(xs: Any) -> Any:
        zero = xs[0] * 0
        sums = fk.force(
            fk.pconcat_map(lambda part: fk.reduce(plus, part, zero), fk.split_up(extent, xs))
        )
        return fk.generate(1, lambda _: fk.reduce(plus, sums, zero))

    return sum_of_all


def inputs(name: str, make: Callable[[int], Any], dtype: str, size: int) -> Arrays:
    """Whole numbers, so that every order of additions gives the same; and the kernel is tuned."""
    whole = -(-size // EXTENTS[-1]) * EXTENTS[-1]
    xs = np.random.default_rng(1).integers(0, 2, whole).astype(dtype)
    budget = BUDGET * min(1, whole / SIZE)
    FOUND[name] = fk.tune(fk.variants(make, extent=EXTENTS), (xs,), budget=budget)
    return (xs,)


def peers(program: Callable[[Any], Any], tools: Tools, xs: Any) -> dict[str, Call]:
    """The same job in the array language."""
    return array_tier(program, xs)


def row(name: str, title: str, make: Callable[[int], Any], dtype: str, same: Any) -> Row:
    """A row of one job and dtype."""
    return Row(
        f"kernel_{name}", title, SIZE, QUICK, lambda xs: FOUND[name](xs),
        partial(inputs, name, make, dtype), (Faster(1 / 1.2, ARRAYS),), partial(peers, same),
    )  # fmt: skip


ROWS = [
    each
    for dtype, said in (("f4", "f32"), ("i8", "i64"))
    for each in (
        row(f"tuned_scan_{said}", f"tuned scan of 2^24 {said}", running_sums, dtype,
            lambda xs: fw.cumsum(xs)),
        row(f"tuned_sum_{said}", f"tuned sum of 2^24 {said}", total, dtype,
            lambda xs: fw.reshape(fw.sum(xs), (1,))),
    )
]  # fmt: skip
