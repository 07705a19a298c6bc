"""A nest whose rows vary in length, without its offsets: these are a scan of the rows' lengths.

    k, m, o, ys = nest n [0] (i => .. in length, row)
        ==>  _, m, _, ys, ls = nest n [0, -1] (i => .. in length, row, length)
             k = add n 1;  o = concat k [0, scan (add) [0] [ls]]

So a chunk keeps what rows it has made, and how long each is, and nobody counts from the first row.
"""

from __future__ import annotations

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.ops import Concat, Generate, Scan
from flatweave.ops.nests.nest import Nest
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Lambda, Let

ZERO, ONE = index(0), index(1)


def without_offsets(program: Program) -> Program:
    """A program none of whose nests gives offsets that anybody reads."""
    b = Builder()
    for let in program.fn.lets:
        b.where = let.where
        if isinstance(let.op, Nest):
            _split(b, let, let.op)
        else:
            b.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(b.lets), program.fn.results))


def _split(b: Builder, let: Let, op: Nest) -> None:
    entries, *bound = let.vars
    groups = len(op.lengths)
    totals, offsets = bound[: 2 * groups : 2], bound[1 : 2 * groups : 2]
    results = bound[2 * groups :]
    unread = b.var("n", i64)
    again = [b.var("o", ArrayType(i64, (unread,))) for _ in offsets]
    lengths = [b.var("l", ArrayType(i64, (op.count,))) for _ in offsets]
    fn = Lambda(op.fn.params, op.fn.lets, (*op.fn.results, *op.lengths))
    pairs = [var for pair in zip(totals, again, strict=True) for var in pair]
    made = Nest(op.count, (*op.groups, *(-1 for _ in lengths)), fn)
    b.append(Let((unread, *pairs, *results, *lengths), made, let.where))
    b.append(Let((entries,), Apply("add", (op.count, ONE)), let.where))
    for var, length in zip(offsets, lengths, strict=True):
        first = b.emit(Generate((ONE,), b.function([i64], lambda inside, i: (ZERO,))))
        ends = b.emit(Scan(lambda_of("add", i64), (ZERO,), (length,)))
        b.append(Let((var,), Concat(entries, (*first, *ends)), let.where))
