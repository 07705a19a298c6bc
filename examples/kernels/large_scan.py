"""All prefixes of an array of any length, in three launches of one kernel.

    python examples/kernels large_scan

                         first launch               second            third
    scan_then_add        scans of parts, and        one block scans   each element and what stands
                         the last of each           those             before its part, combined
    reduce_then_scan     one result of each part    the same          scans of parts, from there on

The second moves less memory: it reads twice and writes once, where the first does both twice. The
operator need not commute, and elements may be tuples; each scan takes the operator's neutral
element. After Svensson (2013, 3.4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from kernels.reductions import Op, plus
from kernels.scans import kogge_stone, sklansky4

import flatweave as fw
from flatweave import kernel as fk

PART, THREADS = 1024, 256


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
        scanned = kogge_stone(op, part)
        return scanned, fk.singleton(fk.last(scanned))

    parts = fk.split_up(PART, xs, pad=neutral)
    scanned, lasts = fk.force(fk.pconcat_map(block, parts))
    before = fk.force(prefixes_before(op, lasts, neutral))

    def distribute(b: Any) -> Any:
        return fk.pull(PART, lambda i: op(before[b], scanned[b * PART + i]))

    return fk.take(xs.length, fk.generate(parts.length, distribute))


def reduce_then_scan(op: Op, xs: Any, neutral: Any) -> Any:
    """The first launch stores one element for each part."""

    def total(part: Any) -> Any:
        chunks = fk.split_up(PART // THREADS, fk.force(fk.load(PART // THREADS, part)))
        part = fk.force(fk.pconcat_map(partial(fk.seq_reduce, op), chunks))
        while part.length > 1:
            part = fk.force(fk.zip_with(op, *fk.even_odds(part)))
        return part

    whole = xs.length // PART
    parts = fk.split_up(PART, fk.take(whole * PART, xs))
    rest = fk.split_up(PART, fk.drop(whole * PART, xs), pad=neutral)  # one part, or none
    totals = fk.force(fk.concat_p(fk.pconcat_map(total, parts), fk.pconcat_map(total, rest)))
    before = fk.force(prefixes_before(op, totals, neutral))

    def of(parts: Any, first: Any) -> Any:
        def block(b: Any) -> Any:
            return fk.map(lambda x: op(before[first + b], x), kogge_stone(op, parts[b]))

        return fk.generate(parts.length, block)

    return fk.concat_p(of(parts, 0), fk.take(xs.length - whole * PART, of(rest, whole)))


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
