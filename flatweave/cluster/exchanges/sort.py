"""sort: by samples. Chunks sort their rows; splitters, taken from samples of all, cut each into
runs; run k of every chunk goes into chunk k of the result, which merges them by sorting.

Equal keys are in one run, so the whole is stable. Many equal keys make a chunk of the result that
is as long as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from flatweave.cluster.exchanges.exchange import Client, Divide, Exchange, Made, in_chunks
from flatweave.cluster.exchanges.shuffle import (
    chunks_of,
    computed,
    merging,
    rows_of,
    shuffled,
    sorting,
)
from flatweave.cluster.place import Chunk, Groups, Job, Place
from flatweave.frontend.values.chunked import Chunked
from flatweave.ops import Sort
from flatweave.terms.syntax import Let, Op, Var

SAMPLES = 32
"""Keys that each chunk gives for each chunk of the result: these differ in length by a few percent
where keys differ."""


class SortExchange(Exchange):
    """Keys are unsigned integers, one or several for each element."""

    op: ClassVar[type[Op]] = Sort

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        kept = sorting(op.xs, op.fn), merging(op.xs, op.fn)
        return Made(frozenset(let.vars), kept=kept)

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        first, merging = made.kept
        arrays = [client.value(x) for x in let.op.xs]  # type: ignore[attr-defined]
        cuts = next(xs.bounds for xs in arrays if isinstance(xs, Chunked))
        arrays = [in_chunks(xs, cuts) for xs in arrays]
        return computed(client.place, merging, _wanted(client.place, arrays, first), let.vars)


def _wanted(place: Place, arrays: Sequence[Chunked], first: Any) -> list[Job]:
    """What each chunk of the result is made of."""
    chunks = chunks_of(arrays[0].bounds)
    if len(chunks) < 2:
        return [Job(chunk, rows_of(arrays, chunk.begin, chunk.end)) for chunk in chunks]
    runs = shuffled(place, arrays, first, lambda keys: _splitters(place, keys))
    found, at = [], 0
    for k in range(len(chunks)):
        rows = runs.count(k)
        if rows:
            found.append(Job(Chunk(k, at, at + rows), [rows, *runs.taken(k)]))
        at += rows
    return found


def _splitters(place: Place, keys: Groups) -> Any:
    """Keys between the chunks of the result, of which there are as many as of what is sorted."""
    count = len(keys)
    found = place.each(sampled, keys, SAMPLES * count)
    samples = [np.concatenate(columns) for columns in zip(*found, strict=True)]
    order = np.lexsort(samples[::-1])
    chosen = order[[len(order) * k // count for k in range(1, count)]]
    return [column[chosen] for column in samples]


def sampled(keys: Sequence[Any], count: int) -> list[Any]:
    """So many of some sorted keys, at equal distances."""
    return [column[np.arange(count) * len(column) // count] for column in keys]
