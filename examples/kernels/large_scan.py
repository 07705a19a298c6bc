"""All prefixes of an array of any length, in three launches of one kernel.

    python examples/kernels large_scan

                         first launch               second            third
    scan_then_add        scans of parts, and        one block scans   each element and what stands
                         the last of each           those             before its part, combined
    reduce_then_scan     one result of each part    the same          scans of parts, from there on

The second moves less memory: it reads twice and writes once, where the first does both twice. The
operator need not commute, and elements may be tuples; each scan is told the operator's neutral
element. After Svensson (2013, 3.4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.reductions import Op, plus
from kernels.scans import by_chunks, sklansky4

import flatweave as fw
from flatweave import kernel as fk

PART, THREADS = 2048, 256


def prefixes_before(op: Op, xs: Any, neutral: Any) -> Any:
    """What stands before each element, combined: by one block, whose threads have as many
    neighbours each as it takes."""
    each = (xs.length + (THREADS - 1)) // THREADS

    def bounds(t: Any) -> tuple[Any, Any]:
        return fw.minimum(t * each, xs.length), fw.minimum((t + 1) * each, xs.length)

    def block(put: Any) -> None:
        def of_thread(t: Any) -> Any:
            return fk.seq_for(*bounds(t), lambda i, state: op(state, xs[i]), neutral)

        ends = sklansky4(op, fk.force(fk.generate(THREADS, of_thread)))

        def thread(t: Any) -> None:
            def turn(i: Any, state: Any) -> Any:
                put(i, state)
                return op(state, xs[i])

            first = fk.cond(t == 0, lambda: neutral, lambda: ends[t - 1])
            fk.seq_for(*bounds(t), turn, first)

        fk.for_all(THREADS, thread)

    return fk.make_push(xs.length, lambda put: fk.for_all(1, lambda _: block(put)))


def scan_then_add(op: Op, xs: Any, neutral: Any) -> Any:
    """Two arrays of the first launch: parts that are scanned, and the last element of each."""

    def block(part: Any) -> Any:
        scanned = sklansky4(op, part)
        return scanned, fk.singleton(fk.last(scanned))

    parts = fk.split_up(PART, xs, pad=neutral)
    scanned, lasts = fk.force(fk.pconcat_map(block, parts))
    before = fk.force(prefixes_before(op, lasts, neutral))
    return fk.pull(xs.length, lambda i: op(before[i // PART], scanned[i]))


def reduce_then_scan(op: Op, xs: Any, neutral: Any) -> Any:
    """The first launch stores one element for each part."""

    def total(part: Any) -> Any:
        chunks = fk.split_up(PART // THREADS, fk.force(fk.load(PART // THREADS, part)))
        part = fk.force(fk.pconcat_map(partial(fk.seq_reduce, op), chunks))
        while part.length > 1:
            part = fk.force(fk.zip_with(op, *fk.even_odds(part)))
        return part

    parts = fk.split_up(PART, xs, pad=neutral)
    before = fk.force(prefixes_before(op, fk.force(fk.pconcat_map(total, parts)), neutral))

    def block(b: Any) -> Any:
        scanned = by_chunks(op, parts[b], PART // THREADS)
        return fk.map(lambda x: op(before[b], x), scanned)

    return fk.take(xs.length, fk.generate(parts.length, block))


VARIANTS = {scan.__name__: scan for scan in (scan_then_add, reduce_then_scan)}


def of_sums(name: str) -> Any:
    """A kernel that adds."""

    def scanned(xs: Any) -> Any:
        return VARIANTS[name](plus, xs, 0)

    scanned.__name__ = name
    return fk.kernel(scanned, threads=THREADS)


KERNELS = {name: of_sums(name) for name in VARIANTS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 5001 if quick else 1 << 24
    xs = np.random.default_rng(1).integers(-9, 10, n, dtype=np.int32)
    for name, ours in KERNELS.items():
        yield (name, f"{n:,} i32", partial(ours, xs), partial(np.cumsum, xs, dtype=np.int32),
               np.array_equal)  # fmt: skip
