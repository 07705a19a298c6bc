"""All prefixes of a part, in a block: six networks, and one that gives threads more to do.

    python examples/kernels scans

                  stages       combined    elements of each thread
    sklansky      log n        n / 2 each  1, which asks in which half it is
    sklansky2     log n        n / 2 each  2, one of each half: no test
    sklansky3     as sklansky2, first all loaded so that neighbours read neighbours
    sklansky4     as sklansky3 in place: what stays as it is is not written again
    kogge_stone   log n        n - d       1; two programs, in sequence
    brent_kung    2 log n - 1  2 n in all  2 and fewer, in place
    by_chunks     three        2 n in all  n / threads neighbours, in loops

The operator need not commute. After Svensson (2013, 3.2.4 and 3.5.4); lengths are powers of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.reductions import Op, plus

from flatweave import kernel as fk

PART, CHUNK = 1024, 8


def stages(part: Any) -> int:
    """log n"""
    return int(len(part)).bit_length() - 1


# -- Sklansky -------------------------------------------------------------------------------------


def sklansky(op: Op, part: Any) -> Any:
    """Fans of 2, of 4, of 8, ..: a conditional in each element."""
    for stage in reversed(range(stages(part))):
        part = fk.force(fk.bin_split(stage, fk.fan(op))(part))
    return part


def fan_by_pairs(op: Op, i: int, xs: Any) -> Any:
    """The fans of stage i: thread t keeps one element of a left half and combines one of the right
    with the last of the left."""

    def write(put: Any) -> None:
        def thread(t: Any) -> None:
            left = fk.insert_zero(i, t)
            right = left + (1 << i)
            last = (right >> i << i) - 1
            put(left, xs[left])
            put(right, op(xs[last], xs[right]))

        fk.for_all(len(xs) // 2, thread)

    return fk.make_push(len(xs), write)


def sklansky2(op: Op, part: Any) -> Any:
    """Half as many threads, of which none asks."""
    for stage in range(stages(part)):
        part = fk.force(fan_by_pairs(op, stage, part))
    return part


def loaded(part: Any) -> Any:
    """By half as many threads, neighbours by neighbours."""
    return fk.load(min(2, len(part)), part)


def sklansky3(op: Op, part: Any) -> Any:
    """The first stage reads pairs: loading all before it lets neighbours read neighbours."""
    return sklansky2(op, fk.force(loaded(part)))


def sklansky4(op: Op, part: Any) -> Any:
    """No thread reads what another writes in the same stage, so it can be done in place."""
    held = fk.fill(loaded(part))
    for i in range(stages(part)):

        def thread(t: Any, i: int = i) -> None:
            right = fk.insert_zero(i, t) + (1 << i)
            held[right] = op(held[(right >> i << i) - 1], held[right])

        fk.for_all(len(part) // 2, thread)
        fk.barrier()
    return held.pull()


# -- others ---------------------------------------------------------------------------------------


def kogge_stone(op: Op, part: Any) -> Any:
    """Each element with the one d before it, for d = 1, 2, 4, .."""
    for stage in range(stages(part)):
        d = 1 << stage
        combined = fk.zip_with(op, part, fk.drop(d, part))
        part = fk.force(fk.concat_p(fk.take(d, part), combined))
    return part


def brent_kung(op: Op, part: Any) -> Any:
    """Sums of 2, 4, 8, .. up a tree; then down again, to the indices between."""
    held = fk.fill(loaded(part))
    n = len(part)

    def step(d: int, first: int, count: int) -> None:
        """Elements first, first + 2 d, .. take in the one d before."""

        def thread(t: Any) -> None:
            i = first + t * (2 * d)
            held[i] = op(held[i - d], held[i])

        fk.for_all(count, thread)
        fk.barrier()

    for stage in range(stages(part)):
        d = 1 << stage
        step(d, 2 * d - 1, n // (2 * d))
    for stage in reversed(range(stages(part) - 1)):
        d = 1 << stage
        step(d, 3 * d - 1, n // (2 * d) - 1)
    return held.pull()


def by_chunks(op: Op, part: Any, chunk: int = CHUNK) -> Any:
    """The sum of each thread's chunk in a loop, their prefixes, and a second loop from there on."""
    chunks = fk.split_up(chunk, fk.force(fk.load(chunk, part)))
    sums = fk.force(fk.pconcat_map(partial(fk.seq_reduce, op), chunks))
    before = sklansky4(op, sums)

    def thread(t: Any) -> Any:
        first = fk.cond(t == 0, lambda: chunks[t][0], lambda: op(before[t - 1], chunks[t][0]))

        def write(put: Any) -> None:
            put(0, first)

            def turn(i: Any, so_far: Any) -> Any:
                value = op(so_far, chunks[t][i])
                put(i, value)
                return value

            fk.seq_for(1, chunk, turn, first)

        return fk.make_push(chunk, write)

    return fk.generate(len(part) // chunk, thread)


VARIANTS = {
    scan.__name__: scan
    for scan in (sklansky, sklansky2, sklansky3, sklansky4, kogge_stone, brent_kung, by_chunks)
}


def by_blocks(name: str, op: Op = plus, extent: int = PART) -> Any:
    """A kernel that scans each part of an array."""

    def scanned(xs: Any) -> Any:
        return fk.pconcat_map(partial(VARIANTS[name], op), fk.split_up(extent, xs))

    scanned.__name__ = name
    each = {"sklansky": 1, "kogge_stone": 1, "by_chunks": CHUNK}.get(name, 2)
    return fk.kernel(scanned, threads=extent // each)


KERNELS = {name: by_blocks(name) for name in VARIANTS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 1 << (12 if quick else 24)
    xs = np.random.default_rng(1).integers(-9, 10, n, dtype=np.int32)
    for name, ours in KERNELS.items():
        yield (
            name, f"{n:,} i32", partial(ours, xs),
            lambda: xs.reshape(-1, PART).cumsum(axis=1, dtype=np.int32).ravel(), np.array_equal,
        )  # fmt: skip
