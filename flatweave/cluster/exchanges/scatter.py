"""scatter and permute into an array in chunks: every element goes to the chunk that has its place.

Chunks part what they write by the chunk that has its place; each chunk of the destination takes
its runs, in the order of the chunks that wrote them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64, u64
from flatweave.cluster.exchanges.exchange import Client, Divide, Exchange, Made, in_chunks
from flatweave.cluster.exchanges.parting import Parting
from flatweave.cluster.exchanges.shuffle import chunks_of, computed, rows_of, shuffled, taking_rows
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Job
from flatweave.ops import Map, Permute, Scatter
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, with_beside
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var


class PermuteExchange(Exchange):
    """Places outside have the greatest keys, and go nowhere."""

    op: ClassVar[type[Op]] = Permute

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        taken = (op.indices, *op.xs)
        return Made(frozenset(let.vars), kept=(Parting(taken, _place_key(taken)), *_writing(op)))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        (parting, beside, writing), op = made.kept, let.op
        dests = [in_chunks(client.value(x)) for x in op.dest]  # type: ignore[attr-defined]
        taken = [in_chunks(client.value(x)) for x in (op.indices, *op.xs)]  # type: ignore[attr-defined]
        chunks = chunks_of(dests[0].bounds)
        if not chunks or not len(taken[0]):
            return dict(zip(let.vars, dests, strict=True))
        ends = [np.array([chunk.end for chunk in chunks], np.uint64)]
        runs = shuffled(client.place, taken, parting, ends)
        read = list(map(client.shared, beside))
        tasks = []
        for k, chunk in enumerate(chunks):
            count, *rows = rows_of(dests, chunk.begin, chunk.end)
            sizes = chunk.begin, count, runs.count(k)
            tasks.append(Job(chunk, [*sizes, *read, *rows, *runs.taken(k)]))
        return computed(client.place, writing, tasks, let.vars)


class ScatterExchange(PermuteExchange):
    """The last element in the order of the rows stays."""

    op: ClassVar[type[Op]] = Scatter


def _place_key(taken: Sequence[Atom]) -> Lambda:
    """The place of an element, as an unsigned integer: negative ones are beyond all others."""
    b = Builder()
    types = [array_type(x).dtype for x in taken]
    return b.function(types, lambda inside, index, *_: (inside.cast(index, u64),))


def _writing(op: Any) -> tuple[list[Var], LocalProgram]:
    """A program that writes elements into rows of the destination, and what it reads beside."""
    b = Builder()
    begin, rows, count = (b.param(name, i64) for name in ("begin", "rows", "count"))
    changes: dict[str, Any] = {}
    beside, params = list[Var](), list[Var]()
    if isinstance(op, Permute):
        beside, params, renamed = with_beside(b, op.fn, *op.neutral)
        changes["fn"] = renamed.function(op.fn)
        changes["neutral"] = tuple(map(renamed.atom, op.neutral))
    dests = [b.param("dest", ArrayType(array_type(x).dtype, (rows,))) for x in op.dest]
    indices = b.param("indices", ArrayType(i64, (count,)))
    xs = [b.param("x", ArrayType(array_type(x).dtype, (count,))) for x in op.xs]
    shift = b.function([i64], lambda inside, i: (inside.sub(i, begin),))
    own = b.emit(Map(shift, (indices,)))[0]
    changes.update(dest=tuple(dests), indices=own, xs=tuple(xs))
    results = b.emit(op.replace(**changes))
    fn = b.close([begin, rows, count, *params, *dests, indices, *xs], results)
    return beside, taking_rows(Program("written", fn), [])
