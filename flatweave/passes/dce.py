"""Dead code: drop every let that no result needs, and every store that nobody reads.

    total(n: i64, xs: f32[n]) =>
        a: f32[n], s: f32 = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = exp x
            in y, x) [store, combine (add f32) [0.0f32]]
        b: i64 = add n 1
        in s
    ==>
    total(n: i64, xs: f32[n]) =>
        s: f32 = sweep [n] (i: i64 => index xs [i] checked=false) [combine (add f32) [0.0f32]]
        in s

Leaves alone what has an effect: a check.
"""

from __future__ import annotations

from flatweave.array_ir.syntax import Program
from flatweave.ops import Sweep
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, map_field


def dce(program: Program) -> Program:
    """Keep what the results and the checks need."""
    return Program(program.name, _live_body(program.fn))


def _live_body(fn: Lambda) -> Lambda:
    live: set[Var] = set(free_vars(Lambda((), (), fn.results)))
    kept: list[Let] = []
    for let in reversed(fn.lets):
        if not let.op.effect and not any(var in live for var in let.vars):
            continue
        trimmed = _trim(let, live)
        trimmed = Let(trimmed.vars, _live_op(trimmed.op), trimmed.where)
        live.update(free_vars(trimmed.op))
        for var in trimmed.vars:
            live.update(free_vars(Lambda((), (), (var,))))
        kept.append(trimmed)
    return Lambda(fn.params, tuple(reversed(kept)), fn.results)


def _live_op(op: Op) -> Op:
    live: Op = map_field(op, lambda atom: atom, _live_body)
    return live


def _trim(let: Let, live: set[Var]) -> Let:
    """A sweep without the sinks whose results nobody reads."""
    if not isinstance(let.op, Sweep) or len(let.op.sinks) < 2:
        return let
    groups = let.op.binders_by_sink(let.vars)
    keep = [any(var in live for var in group) for group in groups]
    if all(keep):
        return let
    portions = let.op.portions()
    results: list[Atom] = [a for p, k in zip(portions, keep, strict=True) if k for a in p]
    body = Lambda(let.op.body.params, let.op.body.lets, tuple(results))
    sinks = tuple(s for s, k in zip(let.op.sinks, keep, strict=True) if k)
    vars_ = tuple(var for g, k in zip(groups, keep, strict=True) if k for var in g)
    return Let(vars_, let.op.replace(body=body, sinks=sinks), let.where)
