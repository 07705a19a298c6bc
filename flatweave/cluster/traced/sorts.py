"""Sorts whose keys are made of values from outside: the keys are computed first.

    ys = sort (i => index dist [i]) [xs]
        ==>  ks = map (i => index dist [i]) [xs]
             _, ys = sort (k, i => k) [ks, xs]

So what sorts a chunk needs nothing but its rows (`exchanges/sort.py`), and what reads another array
is a map as any other.
"""

from __future__ import annotations

from flatweave.array_ir.syntax import Program
from flatweave.ops import Map, Sort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Lambda, Let, Type
from flatweave.terms.traverse import free_vars


def with_keys(program: Program) -> Program:
    """A program whose sorts have keys that are made of what is sorted alone."""
    b = Builder()
    for let in program.fn.lets:
        b.where = let.where
        if isinstance(let.op, Sort) and free_vars(let.op.fn):
            _keyed(b, let, let.op)
        else:
            b.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(b.lets), program.fn.results))


def _keyed(b: Builder, let: Let, op: Sort) -> None:
    keys = b.emit(Map(op.fn, op.xs))
    xs = (*keys, *op.xs)
    types: list[Type] = [array_type(x).dtype for x in xs]
    first = b.function(types, lambda inside, *params: params[: len(keys)])
    unread = [b.var("k", key.type) for key in keys]
    b.append(Let((*unread, *let.vars), Sort(first, xs), let.where))
