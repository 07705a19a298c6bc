"""sort: by samples. Chunks sort their rows; splitters, taken from samples of all, cut each into
runs; run k of every chunk goes into chunk k of the result, which merges them by sorting.

Runs are put one after the other in the order of their chunks, and equal keys are in one run, so the
whole is stable. Many equal keys make a chunk of the result that is as long as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.cluster.exchanges.exchange import Client, Divide, Exchange, Made
from flatweave.cluster.local import Is, LocalProgram, Param
from flatweave.cluster.place import Chunk, Place, Rows
from flatweave.frontend.values.chunked import Chunked
from flatweave.ops import Map, Sort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Let, Op, Var
from flatweave.terms.traverse import free_vars

SAMPLES = 32
"""Keys that each chunk gives for each chunk of the result: these differ in length by a few percent
where keys differ."""


class SortExchange(Exchange):
    """Keys are one unsigned integer for each element."""

    op: ClassVar[type[Op]] = Sort

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        if len(op.fn.results) != 1 or free_vars(op.fn):
            return Made(frozenset(), "it goes by several keys")
        if not all(x in split for x in op.xs):
            return Made(frozenset(), "one of its arrays is whole")
        return Made(frozenset(let.vars), kept=(_sorting(op, keys=True), _sorting(op, keys=False)))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        first, second = made.kept
        arrays = [client.value(x) for x in let.op.xs]  # type: ignore[attr-defined]
        chunks = [Chunk(k, *ends) for k, ends in enumerate(_pairs(arrays[0].bounds))]
        chunks = [chunk for chunk in chunks if chunk.begin < chunk.end]
        if len(chunks) < 2:
            wanted = [(chunk, [(chunk.begin, chunk.end)], arrays) for chunk in chunks]
            return self._merged(client, let, second, wanted)
        found = [
            client.place.run(first, self._rows(arrays, chunk.begin, chunk.end), chunk)
            for chunk in chunks
        ]
        cuts = _cuts(client.place, [each[-1] for each in found])
        ordered = [self._ordered(client, arrays, found, chunks, k) for k in range(len(arrays))]
        starts = np.cumsum([0, *(chunk.end - chunk.begin for chunk in chunks)])
        wanted = []
        at = 0
        for k in range(len(chunks)):
            runs = [
                (int(start + cut[k]), int(start + cut[k + 1]))
                for start, cut in zip(starts, cuts, strict=False)
            ]
            rows = sum(end - begin for begin, end in runs)
            wanted.append((Chunk(k, at, at + rows), runs, ordered))
            at += rows
        return self._merged(client, let, second, wanted)

    def _ordered(
        self, client: Client, arrays: Sequence[Chunked], found: Sequence[Sequence[Any]],
        chunks: Sequence[Chunk], k: int,
    ) -> Chunked:  # fmt: skip
        """Array k, each of its chunks in order."""
        pieces = [
            client.place.piece(each[k], chunk.end - chunk.begin)
            for each, chunk in zip(found, chunks, strict=True)
        ]
        return Chunked.of(pieces, arrays[k].dtype)

    def _merged(
        self, client: Client, let: Let, merging: LocalProgram,
        wanted: Sequence[tuple[Chunk, list[tuple[int, int]], Sequence[Chunked]]],
    ) -> Mapping[Var, Any]:  # fmt: skip
        pieces: list[list[Any]] = [[] for _ in let.vars]
        for chunk, runs, arrays in wanted:
            if chunk.begin == chunk.end:
                continue
            args: list[Any] = [chunk.end - chunk.begin]
            for xs in arrays:
                parts = [part for begin, end in runs for part in xs.between(begin, end)]
                args.append(Rows(tuple(parts), xs.dtype, ()))
            results = client.place.run(merging, args, chunk)
            for mine, result in zip(pieces, results, strict=True):
                mine.append(client.place.piece(result, chunk.end - chunk.begin))
        dtypes = [array_type(var).dtype.numpy for var in let.vars]
        return {
            var: Chunked.of(mine, dtype)
            for var, mine, dtype in zip(let.vars, pieces, dtypes, strict=True)
        }

    def _rows(self, arrays: Sequence[Chunked], begin: int, end: int) -> list[Any]:
        rows = [Rows(tuple(xs.between(begin, end)), xs.dtype, ()) for xs in arrays]
        return [end - begin, *rows]


def _sorting(op: Any, *, keys: bool) -> LocalProgram:
    """A program that sorts some rows; with `keys`, it gives these, too."""
    b = Builder()
    n = b.param("count", i64)
    xs = [b.param("x", ArrayType(array_type(x).dtype, (n,))) for x in op.xs]
    found = b.emit(Sort(b.copy(op.fn), tuple(xs)))
    results = [*found, *b.emit(Map(b.copy(op.fn), found))] if keys else list(found)
    params = (Param(Is.COUNT), *(Param(Is.ROWS, x) for x in op.xs))
    program = Program("sorted_keys" if keys else "merged", b.close([n, *xs], results))
    return LocalProgram(program, params, (), ())


def _cuts(place: Place, keys: Sequence[Any]) -> list[Any]:
    """Where each chunk's sorted keys are cut into runs, one for each chunk of the result."""
    count = len(keys)
    samples = np.sort(np.concatenate(place.each(sampled, keys, SAMPLES * count)))
    splitters = samples[[len(samples) * k // count for k in range(1, count)]]
    return place.each(cut_at, keys, splitters)


def sampled(keys: Any, count: int) -> Any:
    """So many of some sorted keys, at equal distances."""
    return keys[np.arange(count) * len(keys) // count]


def cut_at(keys: Any, splitters: Any) -> Any:
    """The ends of runs of sorted keys: in each the keys from one splitter up to the next."""
    return np.concatenate([[0], np.searchsorted(keys, splitters), [len(keys)]])


def _pairs(bounds: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(bounds, bounds[1:], strict=False))
