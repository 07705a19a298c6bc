"""Seven ways to reduce a part of 2,048 elements in a block, each a line better than the one before.

    python examples/kernels reductions

         idea                                                  asks of the operator
    red1 neighbours in pairs, until one is left                associative
    red2 halves: thread t reads t and t + n / 2                and commutative, from here on
    red3 the last pair is combined where it is put
    red4 first 8 neighbours by each thread, in a loop          (stride 8 between threads)
    red5 first 8 elements by each thread, stride n / 8          (threads read neighbours)
    red6 16 of them, red7 32

After Harris' reductions and Svensson (2013, 3.5.4). `red1l` to `red7l` take 4,096 elements to a
block: red1l to red3l leave out the first two stores, so that a thread combines 4 elements at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from flatweave import kernel as fk

PART, LARGE, MOST = 2048, 4096, 1024
Op = Callable[[Any, Any], Any]


def plus(a: Any, b: Any) -> Any:
    """An operator."""
    return a + b


def red1(op: Op, part: Any, force: Callable[[Any], Any] = fk.force) -> Any:
    """Neighbours: thread t reads 2 t and 2 t + 1."""
    while part.length > 1:
        part = force(fk.zip_with(op, *fk.even_odds(part)))
    return fk.push(part)


def red2(op: Op, part: Any, force: Callable[[Any], Any] = fk.force) -> Any:
    """Halves: neighbouring threads read neighbours."""
    while part.length > 1:
        part = force(fk.zip_with(op, *fk.halve(part)))
    return fk.push(part)


def red3(op: Op, part: Any, force: Callable[[Any], Any] = fk.force) -> Any:
    """As red2, but the last result goes where it belongs, not through shared memory."""
    while part.length > 2:
        part = force(fk.zip_with(op, *fk.halve(part)))
    return fk.push(fk.zip_with(op, *fk.halve(part)))


def red4(op: Op, part: Any, each: int = 8) -> Any:
    """Neighbours by each thread in a loop, then red3."""
    return red3(op, fk.force(fk.pconcat_map(partial(fk.seq_reduce, op), fk.split_up(each, part))))


def red5(op: Op, part: Any, each: int = 8) -> Any:
    """As red4, with a stride such that neighbouring threads read neighbours."""
    return red3(op, fk.force(fk.pconcat_map(partial(fk.seq_reduce, op), fk.coalesce(each, part))))


SHORT = partial(fk.force_below, MOST)
"""Stores arrays of at most MOST elements; longer ones are computed by their readers."""

VARIANTS: dict[str, tuple[Callable[[Op, Any], Any], int, int]] = {
    "red1": (red1, PART, 1024),
    "red2": (red2, PART, 1024),
    "red3": (red3, PART, 1024),
    "red4": (red4, PART, 256),
    "red5": (red5, PART, 256),
    "red6": (partial(red5, each=16), PART, 128),
    "red7": (partial(red5, each=32), PART, 64),
    "red1l": (partial(red1, force=SHORT), LARGE, 1024),
    "red2l": (partial(red2, force=SHORT), LARGE, 1024),
    "red3l": (partial(red3, force=SHORT), LARGE, 1024),
    "red4l": (partial(red4, each=16), LARGE, 256),
    "red5l": (partial(red5, each=16), LARGE, 256),
    "red6l": (partial(red5, each=32), LARGE, 128),
    "red7l": (partial(red5, each=64), LARGE, 64),
}
"""What a block does, with how many elements, and with how many threads."""


def by_blocks(name: str, op: Op = plus) -> Any:
    """A kernel that reduces each part of an array: one block, one result."""
    block, extent, threads = VARIANTS[name]

    def reduced(xs: Any) -> Any:
        return fk.pconcat_map(partial(block, op), fk.split_up(extent, xs))

    reduced.__name__ = name
    return fk.kernel(reduced, threads=threads)


KERNELS = {name: by_blocks(name) for name in VARIANTS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 1 << (13 if quick else 24)
    xs = np.random.default_rng(1).integers(-9, 10, n, dtype=np.int32)
    for name, ours in KERNELS.items():
        rows = xs.reshape(-1, VARIANTS[name][1])
        yield (
            name, f"{n:,} i32", partial(ours, xs),
            lambda rows=rows: rows.sum(axis=1, dtype=np.int32), np.array_equal,
        )  # fmt: skip
