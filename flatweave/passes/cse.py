"""Common subexpressions: the same read, check, fold or scan is done once in a body.

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

Scalar work is shared by the builder already. The rest is shared with enclosing bodies too, never
out of a branch. A search for a row has read where the row begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.array_ir.syntax import FLAT, TRACED, Program
from flatweave.ops import Check, Fold, Index, Locate, Prefix, Reshape
from flatweave.passes.rewrite import array_pass, emit, rewrite
from flatweave.terms.build import Builder
from flatweave.terms.operators import alike
from flatweave.terms.syntax import Atom, Lambda, Let, Op
from flatweave.terms.traverse import lambdas_in

Known = dict[tuple[Any, ...], list[tuple[Op, Sequence[Atom]]]]


@array_pass(takes=(TRACED, FLAT))
def cse(program: Program) -> Program:
    """Share equal reads, views, checks, folds and prefixes."""
    known: dict[Builder, Known] = {}

    def share(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Check | Fold | Index | Locate | Prefix | Reshape):
            return None
        found = _shared(known, b, op)
        if found is None:
            found = _start_of_row(known, b, op)
        if found is not None:
            return found
        made = emit(b, op, [var.name for var in let.vars])
        known.setdefault(b, {}).setdefault(_key(op), []).append((op, made))
        return made

    return rewrite(program, share)


def _key(op: Op) -> tuple[Any, ...]:
    """All of an op but its functions. Equal ops agree in it, and few others do."""
    return (op.name, *(value for value in op.values() if not isinstance(value, Lambda)))


def _equal(a: Op, b: Op) -> bool:
    """Whether ops of one key are equal."""
    pairs = zip(lambdas_in(a), lambdas_in(b), strict=True)
    return all(alike(first, second) for first, second in pairs)


def _shared(known: dict[Builder, Known], b: Builder, op: Op) -> Sequence[Atom] | None:
    """The results of an equal op here or in an enclosing body."""
    scope: Builder | None = b
    while scope is not None:
        for other, results in known.get(scope, {}).get(_key(op), ()):
            if _equal(op, other):
                return results
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
