"""Common subexpressions: the same read, and the same check, is done once in a body.

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

Scalar work is shared by the builder already. Reads, searches and checks are shared with enclosing
bodies too, never out of a branch. A search for a row has read where the row begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.array_ir.forms import FLAT, TRACED
from flatweave.array_ir.syntax import Program
from flatweave.ops import Check, Index, Locate, Reshape
from flatweave.passes.array_pass import array_pass
from flatweave.passes.rewrite import emit, rewrite
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Op

Known = dict[tuple[Any, ...], Sequence[Atom]]


@array_pass(takes=(TRACED, FLAT))
def cse(program: Program) -> Program:
    """Share equal reads, views and checks."""
    known: dict[Builder, Known] = {}

    def share(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Check | Index | Locate | Reshape):
            return None
        found = _shared(known, b, op)
        if found is None:
            found = _start_of_row(known, b, op)
        if found is not None:
            return found
        known.setdefault(b, {})[_key(op)] = emit(b, op, [var.name for var in let.vars])
        return known[b][_key(op)]

    return rewrite(program, share)


def _key(op: Op) -> tuple[Any, ...]:
    return (op.name, *op.values())


def _shared(known: dict[Builder, Known], b: Builder, op: Op) -> Sequence[Atom] | None:
    """The results of an equal op here or in an enclosing body."""
    scope: Builder | None = b
    while scope is not None:
        if _key(op) in known.get(scope, {}):
            return known[scope][_key(op)]
        scope = scope.outer
    return None


def _start_of_row(known: dict[Builder, Known], b: Builder, op: Op) -> Sequence[Atom] | None:
    """s, start = locate offsets 1 p:   index offsets [s]   ==>   start"""
    if not isinstance(op, Index):
        return None
    search = b.definition(op.indices[0])
    if not isinstance(search, Locate) or search.ends != op.xs or search.skip != 1:
        return None
    found = _shared(known, b, search)
    return found[1:] if found and found[0] == op.indices[0] else None
