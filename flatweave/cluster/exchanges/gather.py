"""Rows of arrays in chunks at computed places: asked of the chunks that have them, and sent back.

    chunk 0 reads 3 5 17     chunk 0 of xs, rows 0 to 9: 3 5 | 4        chunk 0 gets xs[3 5 17]
    chunk 1 reads 4 12       chunk 1 of xs, rows 10 to 19: 17 | 12      chunk 1 gets xs[4 12]
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, as_dtype, i64
from flatweave.cluster.exchanges.shuffle import Kind, Runs, chunks_of, cut_at, exchanged
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Job, Place, Rows
from flatweave.cluster.rules.gather import rows_at
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType

PLACES: Kind = (np.dtype(np.int64), ())


def brought(
    place: Place, arrays: Sequence[Chunked], parts: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """What `rules.rule.Parts.brought` says."""
    owners = chunks_of(arrays[0].bounds)
    asking = [part for part in parts if part]
    if not owners or not asking:
        return [[1, part[1], *map(_nothing, arrays)] if part else [] for part in parts]
    ends = [np.array([owner.end for owner in owners[:-1]], np.int64)]
    cuts = place.each(cut_at, [part[:1] for part in asking], ends)
    asked = exchanged(place, [part[:1] for part in asking], cuts, [PLACES])
    program = _taking(tuple((as_dtype(xs.dtype), len(xs.row)) for xs in arrays))
    jobs, counts = [], []
    for k, owner in enumerate(owners):
        count = asked.count(k)
        if not count:
            continue
        rows = [Rows.of(xs, (owner.begin, owner.end)) for xs in arrays]
        extents = [extent for xs in arrays for extent in xs.row]
        numbers = [owner.begin, owner.end - owner.begin, count, *extents]
        jobs.append(Job(owner, [*numbers, *rows, *asked.taken(k)]))
        counts.append([0, *accumulate(int(cut[k + 1] - cut[k]) for cut in cuts)])
    found = [results for _, results in place.run(program, jobs)]
    sent = exchanged(place, found, counts, [(xs.dtype, xs.row) for xs in arrays]) if found else None
    number = iter(range(len(asking)))
    return [_given(arrays, sent, next(number), part[1]) if part else [] for part in parts]


def _given(arrays: Sequence[Chunked], sent: Runs | None, number: int, at: Any) -> list[Any]:
    """What a chunk goes on with; a row of zeros where it reads none, all its places being wrong."""
    count = sent.count(number) if sent else 0
    if sent is None or not count:
        return [1, at, *map(_nothing, arrays)]
    return [count, at, *sent.taken(number)]


def _nothing(xs: Chunked) -> Rows:
    return Rows(((Held(np.zeros((1, *xs.row), xs.dtype)), 0, 1),), xs.dtype, xs.row)


@functools.cache
def _taking(kinds: tuple[tuple[DType, int], ...]) -> LocalProgram:
    """A program that takes rows of some arrays at places of the whole ones."""
    b = Builder()
    begin, extent, count = (b.param(name, i64) for name in ("begin", "rows", "count"))
    others = [[b.param("extent", i64) for _ in range(rank)] for _, rank in kinds]
    arrays = [
        b.param("x", ArrayType(dtype, (extent, *row)))
        for (dtype, _), row in zip(kinds, others, strict=True)
    ]
    places = b.param("places", ArrayType(i64, (count,)))
    results = [b.emit(rows_at(b, x, places, begin))[0] for x in arrays]
    params = [begin, extent, count, *(n for row in others for n in row), *arrays, places]
    return LocalProgram(Program("taken", b.close(params, results)), (), (), (), ())
