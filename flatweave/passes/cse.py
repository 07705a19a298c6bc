"""Common subexpressions: the same read of an array is done once in a body.

    squares(n: i64, xs: f32[n]) =>
        a: f32[n] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = index xs [i] checked=false
            z: f32 = mul x y
            in z) [store]
        in a
    ==>
    squares(n: i64, xs: f32[n]) =>
        a: f32[n] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            z: f32 = mul x x
            in z) [store]
        in a

Scalar work is shared by the builder already. Reads and searches are shared with enclosing bodies
too, never out of a branch.
"""

from __future__ import annotations

from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.ops import Index, Locate, Reshape
from flatweave.passes.rewrite import rewrite
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Op


def cse(program: Program) -> Program:
    """Share equal reads and views."""
    known: dict[Builder, dict[tuple[Any, ...], tuple[Atom, ...]]] = {}

    def share(b: Builder, op: Op, let: Let) -> tuple[Atom, ...] | None:
        if not isinstance(op, Index | Locate | Reshape):
            return None
        key = (op.name, *op.values())
        scope: Builder | None = b
        while scope is not None:
            if key in known.get(scope, {}):
                return known[scope][key]
            scope = scope.outer
        known.setdefault(b, {})[key] = b.emit(op, let.vars[0].name)
        return known[b][key]

    return rewrite(program, share)
