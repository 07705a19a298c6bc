"""Batcher's odd-even merge sort, and shuffle-exchange, written as one says them: halves, even and
odd places, neighbours.

    python examples/kernels odd_even

    sort_oe     both halves sorted, then merged: n (n + 1) / 2 stages for 2^n elements
    shex        n times: shuffle, compare neighbours; sorts what goes up, then down

A stage is a function from array to array that stores nothing, so that `two` and `ilv` can take it
to the halves of an array, or to its even and odd indices, as often as it is nested. After Svensson
(2013, 3.1.4 and 3.2.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

PART = 256
Stage = Callable[[Any], Any]


def compare(pair: Any) -> Any:
    """The lesser first."""
    return fw.minimum(*pair), fw.maximum(*pair)


def evens(xs: Any) -> Any:
    """Elements 0 and 1 compared, 2 and 3, .."""
    return fk.unpair(fk.map(compare, fk.pair(xs)))


def odds(xs: Any) -> Any:
    """Elements 1 and 2 compared, 3 and 4, ..; the first and the last stay."""
    inner = evens(fk.pull(len(xs) - 2, lambda i: xs[i + 1]))
    is_end = lambda i: (i == 0) | (i == len(xs) - 1)  # noqa: E731
    return fk.pull(len(xs), lambda i: fk.cond(is_end(i), lambda: xs[i], lambda: inner[i - 1]))


def merge_oe(n: int) -> list[Stage]:
    """Two sorted halves: even and odd indices merged separately, then neighbours compared."""
    return [evens] if n == 1 else [*map(fk.ilv, merge_oe(n - 1)), odds]


def sort_oe(n: int) -> list[Stage]:
    """Both halves sorted, then merged."""
    return [] if n == 0 else [*map(fk.two, sort_oe(n - 1)), *merge_oe(n)]


# -- shuffle and exchange -------------------------------------------------------------------------


def shex(n: int) -> list[Stage]:
    """Shuffle, and compare neighbours, n times: then every element is back at its index."""
    return [lambda xs: evens(fk.riffle(xs))] * n


# -- kernels --------------------------------------------------------------------------------------


def by_blocks(name: str, n: int = PART.bit_length() - 1) -> Any:
    """A kernel that gives each 2^n elements of an array to a block: a force after each stage."""

    def block(part: Any) -> Any:
        for stage in {"sort_oe": sort_oe, "shex": shex}[name](n):
            part = fk.force(stage(part))
        return part

    def stages(xs: Any) -> Any:
        return fk.pconcat_map(block, fk.split_up(1 << n, xs))

    stages.__name__ = name
    return fk.kernel(stages, threads=1 << n)


KERNELS = {name: by_blocks(name) for name in ("sort_oe", "shex")}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    count = 1 << (11 if quick else 22)
    keys = np.random.default_rng(1).integers(0, 1 << 32, count, dtype=np.uint32)
    rows = keys.reshape(-1, PART)
    hills = rows.copy()
    hills[:, : PART // 2].sort(axis=1)
    hills[:, PART // 2 :] = -np.sort(-hills[:, PART // 2 :].astype(np.int64), axis=1)
    for name, some in (("sort_oe", rows), ("shex", hills)):
        yield (
            name, f"{count:,} u32", partial(KERNELS[name], some.ravel()),
            lambda: np.sort(rows, axis=1).ravel(), np.array_equal,
        )  # fmt: skip
