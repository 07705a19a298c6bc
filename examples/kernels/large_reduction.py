"""One result of a whole array of any length: in two launches, and in one.

    python examples/kernels large_reduction

    two_launches     a result of each block, then one block reduces those
    with_atomics     blocks add their results to one number, in no order; one more block adds what
                     remains after the last whole part
    last_block       one more block, after all others, waits until each has stored its result

Blocks of one launch start in the order of their numbers and may run in sequence: one can
wait for those before it, and for no others. A launch begins when the one before is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.reductions import plus, red3, red5

import flatweave as fw
from flatweave import kernel as fk

PART, THREADS = 4096, 256
block_sum = partial(red5, plus, each=PART // THREADS)


def sum_of_any(xs: Any) -> Any:
    """One block's sum of an array whose length is known at run time only: thread t takes elements
    t, t + 256, .."""

    def thread(t: Any) -> Any:
        mine = fk.pull((xs.length - t + (THREADS - 1)) // THREADS, lambda j: xs[t + THREADS * j])
        return fk.seq_reduce(plus, mine, 0)

    return red3(plus, fk.force(fk.generate(THREADS, thread)))


def parts_and_rest(xs: Any) -> tuple[Any, Any]:
    """Whole parts, in which no thread asks where the array ends, and what is left."""
    whole = xs.length // PART * PART
    return fk.split_up(PART, fk.take(whole, xs)), fk.drop(whole, xs)


@fk.kernel(threads=THREADS)
def two_launches(xs: Any) -> Any:
    """`force` in code of the grid ends the first launch."""
    parts, rest = parts_and_rest(xs)
    sums = fk.force(fk.pconcat_map(block_sum, parts))
    return fk.generate(1, lambda _: sum_of_any(fk.conc(sums, rest)))


@fk.kernel(threads=THREADS)
def with_atomics(xs: Any) -> Any:
    """Addition of integers may be done in any order; that of floats would round differently."""
    total = fk.fill(fk.replicate(1, 0))
    parts, rest = parts_and_rest(xs)

    def add(sums: Any) -> None:
        sums.write(lambda _, value: fk.atomic_add(total, 0, value.astype(fw.i64)))

    fk.for_all(parts.length, lambda b: add(block_sum(parts[b])))
    fk.for_all(1, lambda _: add(sum_of_any(rest)))
    return total


@fk.kernel(threads=THREADS)
def last_block(xs: Any) -> Any:
    """What is released is there for who acquires it."""
    parts, rest = parts_and_rest(xs)
    sums, ready = (fk.fill(fk.replicate(parts.length, 0)) for _ in range(2))
    total = fk.fill(fk.replicate(1, 0))

    def store(b: Any) -> None:
        block_sum(parts[b]).write(lambda _, value: sums.__setitem__(b, value.astype(fw.i64)))
        fk.release(ready, b, 1)

    def finish() -> None:
        fk.seq_for(0, parts.length, lambda b: fk.wait_until(lambda word: word == 1, ready, b))
        others = fk.map(lambda x: x.astype(fw.i64), rest)
        total.write(sum_of_any(fk.conc(sums.pull(), others)))

    def block(b: Any) -> None:
        fk.when(b < parts.length, lambda: store(b))
        fk.when(b == parts.length, finish)

    fk.for_all(parts.length + 1, block)
    return total


KERNELS = {kernel.__name__: kernel for kernel in (two_launches, with_atomics, last_block)}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 100_001 if quick else 1 << 24
    xs = np.random.default_rng(1).integers(-9, 10, n)
    for name, ours in KERNELS.items():
        yield (name, f"{n:,} i64", partial(ours, xs), partial(np.sum, xs, keepdims=True),
               np.array_equal)  # fmt: skip
