"""Sorters of a part in a block, each a network of comparators with a force behind each column.

    python examples/kernels sorters

                columns for 2^n
    tsort1      n (n + 1) / 2      bitonic; a thread for each element, which asks
    tsort2      n (n + 1) / 2      bitonic; a thread for each pair
    vsort       n (n + 1) / 2      the same of interleaved halves
    sort_oe     n (n + 1) / 2      Batcher's odd-even merges, written as he says it
    psort       n * n              one merger, again and again
    shex        n                  no sorter: shuffle and exchange, sorts what goes up, then down

After Svensson (2013, 3.1.4, 3.2.4 and 3.3.3). A network sorts everything when it sorts all inputs
of zeros and ones, which is how the tests know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.networks import Column, bmerge, bpmerge, psort, run, tmerge, tsort, vsort
from kernels.scans import bin_split

import flatweave as fw
from flatweave import kernel as fk

PART = 512
Stage = Callable[[Any], Any]


# -- Batcher's odd-even merge sort ----------------------------------------------------------------


def compare(pair: Any) -> Any:
    """The lesser first."""
    return fw.minimum(*pair), fw.maximum(*pair)


def two(stages: list[Stage]) -> list[Stage]:
    """Each half by itself."""
    return [partial(bin_split, 1, stage) for stage in stages]


def ilv(stages: list[Stage]) -> list[Stage]:
    """The elements in even places by themselves, and those in odd places: one index function."""

    def apart(stage: Stage, xs: Any) -> Any:
        half = len(xs) // 2
        return fk.pull(len(xs), lambda i: stage(fk.pull(half, lambda j: xs[2 * j + i % 2]))[i // 2])

    return [partial(apart, stage) for stage in stages]


def evens(xs: Any) -> Any:
    """Elements 0 and 1 compared, 2 and 3, .."""
    return fk.unpair(fk.map(compare, fk.pair(xs)))


def odds(xs: Any) -> Any:
    """Elements 1 and 2 compared, 3 and 4, ..; the first and the last stay."""
    inner = evens(fk.pull(len(xs) - 2, lambda i: xs[i + 1]))
    is_end = lambda i: (i == 0) | (i == len(xs) - 1)  # noqa: E731
    return fk.pull(len(xs), lambda i: fk.cond(is_end(i), lambda: xs[i], lambda: inner[i - 1]))


def merge_oe(n: int) -> list[Stage]:
    """Two sorted halves: even and odd places merged apart, then neighbours compared."""
    return [evens] if n == 1 else [*ilv(merge_oe(n - 1)), odds]


def sort_oe(n: int) -> list[Stage]:
    """Both halves sorted, then merged."""
    return [] if n == 0 else [*two(sort_oe(n - 1)), *merge_oe(n)]


# -- shuffle and exchange -------------------------------------------------------------------------


def riffle(xs: Any) -> Any:
    """The halves shuffled into one another like cards: the first of each, the second of each, .."""
    return fk.unpair(fk.zip(*fk.halve(xs)))


def shex(n: int) -> list[Stage]:
    """Shuffle, and compare neighbours, n times: everything is back in its place then."""
    return [lambda xs: evens(riffle(xs))] * n


# -- kernels --------------------------------------------------------------------------------------


def compose(stages: list[Stage], xs: Any) -> Any:
    """One stage after the other, with a force behind each."""
    for stage in stages:
        xs = fk.force(stage(xs))
    return xs


NETWORKS: dict[str, Callable[[int, Any], Any]] = {
    "tsort1": lambda n, xs: run(tsort(n), xs, Column.pull),
    "tsort2": lambda n, xs: run(tsort(n), xs),
    "vsort": lambda n, xs: run(vsort(n), xs),
    "psort": lambda n, xs: run(psort(n), xs),
    "sort_oe": lambda n, xs: compose(sort_oe(n), xs),
    "bmerge": lambda n, xs: run(bmerge(n), xs),
    "tmerge": lambda n, xs: run(tmerge(n), xs),
    "bpmerge": lambda n, xs: run(bpmerge(n), xs),
    "shex": lambda n, xs: compose(shex(n), xs),
}
"""What a block does with 2^n elements. The first five sort; the others merge."""
SORTERS = list(NETWORKS)[:5]


def by_blocks(name: str, n: int = PART.bit_length() - 1) -> Any:
    """A kernel that gives each 2^n elements of an array to a block with such a network."""

    def sorted_parts(xs: Any) -> Any:
        return fk.pconcat_map(partial(NETWORKS[name], n), fk.split_up(1 << n, xs))

    sorted_parts.__name__ = name
    asks = name in ("tsort1", "sort_oe", "shex")
    return fk.kernel(sorted_parts, threads=1 << n if asks else max(1, 1 << (n - 1)))


KERNELS = {name: by_blocks(name) for name in NETWORKS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    count = 1 << (11 if quick else 22)
    keys = np.random.default_rng(1).integers(0, 1 << 32, count, dtype=np.uint32)
    for name in SORTERS:
        yield (
            name, f"{count:,} u32", partial(KERNELS[name], keys),
            lambda: np.sort(keys.reshape(-1, PART), axis=1).ravel(), np.array_equal,
        )  # fmt: skip
