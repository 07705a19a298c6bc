"""Counting sort, and occurrence sort, which gives each key once: three steps, as one kernel.

    python examples/kernels counting

    keys        5 2 5 7 1
    counts      0 1 1 0 0 2 0 1     a histogram; for the occurrence sort, 1 for each key there is
    places      0 0 1 2 2 2 4 4 5   the number of smaller keys
    result      1 2 5 5 7           each key writes itself from its offset to that of the next

For keys of a small range. How many keys the occurrence sort gives is known when it has counted.
After Svensson, Sheeran and Claessen (2013), whose ones are plain stores, since all writes to one
index are the same; here two writers are a race whatever they write, so it is an atomic update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.large_scan import prefixes_before
from kernels.reductions import plus

import flatweave as fw
from flatweave import kernel as fk

SHARE = 1024


def each(n: Any, body: Callable[[Any], None]) -> None:
    """`body(i)` for each i below n, by threads of as many blocks as it takes."""
    blocks = (n + (SHARE - 1)) // SHARE

    def block(b: Any) -> None:
        here = fw.minimum(SHARE, n - b * SHARE)
        fk.for_all(here, lambda t: body(b * SHARE + t))

    fk.for_all(blocks, block)


def histogram(keys: Any, extent: Any) -> Any:
    """How often each number below `extent` is among the keys."""
    counts = fk.fill(fk.replicate(extent, 0))
    each(keys.length, lambda i: fk.atomic_inc(counts, keys[i]))
    return counts.pull()


def occurs(keys: Any, extent: Any) -> Any:
    """1 for each number below `extent` that is among the keys, else 0."""
    found = fk.fill(fk.replicate(extent, 0))
    each(keys.length, lambda i: fk.atomic_or(found, keys[i], 1))
    return found.pull()


def reconstruct(counts: Any, extent: Any) -> Any:
    """Each number as often as it was counted: how many there are in all is known here."""
    with_end = fk.pull(extent + 1, lambda i: fk.cond(i < extent, lambda: counts[i], lambda: 0))
    places = fk.force(prefixes_before(plus, with_end, 0))

    def write(put: Any) -> None:
        def number(g: Any) -> None:
            fk.seq_for(places[g], places[g + 1], lambda i: put(i, g))

        each(extent, number)

    return fk.make_push(places[extent], write)


@fk.kernel
def counting_sort(keys: Any, extent: fw.i64) -> Any:
    """The keys in order; they are less than `extent`."""
    return reconstruct(histogram(keys, extent), extent)


@fk.kernel
def occurrence_sort(keys: Any, extent: fw.i64) -> Any:
    """Each key once, in order."""
    return reconstruct(occurs(keys, extent), extent)


KERNELS = {kernel.__name__: kernel for kernel in (counting_sort, occurrence_sort)}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n, extent = (1500, 1000) if quick else (1 << 23, 1 << 16)
    keys = np.random.default_rng(1).integers(0, extent, n, dtype=np.uint32)
    said = f"{n:,} u32 below {extent:,}"
    yield (
        "counting_sort", said, partial(counting_sort, keys, extent), partial(np.sort, keys),
        np.array_equal,
    )  # fmt: skip
    yield (
        "occurrence_sort", said, partial(occurrence_sort, keys, extent), partial(np.unique, keys),
        np.array_equal,
    )  # fmt: skip
