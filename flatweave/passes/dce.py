"""Dead code: drop every let that no result needs, every unread store, the components of folds that
no read component depends on, and the arrays of sorts and results of branches that nothing reads.

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

from flatweave.array_ir.syntax import FLAT, TRACED, Program
from flatweave.base.dtypes import i64
from flatweave.ops import Combine, Compact, Fold, RadixSort, Sink, Sort, SortRow, SortRows, Sweep
from flatweave.passes.rewrite import array_pass
from flatweave.terms.build import index, lambda_of
from flatweave.terms.control import Cast, If
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, needed_for, with_bodies, with_lets


@array_pass(takes=(TRACED, FLAT))
def dce(program: Program) -> Program:
    """Keep what the results and the checks need."""
    fn = live_body(program.fn)
    return program if fn is program.fn else Program(program.name, fn)


def live_body(fn: Lambda) -> Lambda:
    """What the results and the checks of a body need."""
    live: set[Var] = set(free_vars(fn.results))
    kept: list[Let] = []
    for let in reversed(fn.lets):
        if not let.op.effect and not any(var in live for var in let.vars):
            continue
        trimmed = _trim(let, live)
        if trimmed.op.has_bodies:
            trimmed = with_bodies(trimmed, live_body)
        live.update(free_vars(trimmed.op))
        live.update(free_vars(trimmed.vars))
        kept.append(trimmed)
    return with_lets(fn, kept[::-1])


def _trim(let: Let, live: set[Var]) -> Let:
    """A sweep without unread sinks, and without unread arrays of its compacts; a fold without
    unread components; a sort without arrays that neither its key nor anything else reads; a branch
    without unread results."""
    if isinstance(let.op, Fold):
        return _trim_fold(let, let.op, live)
    if isinstance(let.op, Sort | RadixSort | SortRow | SortRows):
        return _trim_sort(let, let.op, live)
    if isinstance(let.op, If):
        return _trim_if(let, let.op, live)
    if not isinstance(let.op, Sweep):
        return let
    vars_: list[Var] = []
    results: list[Atom] = []
    sinks: list[Sink] = []
    lets = list(let.op.body.lets)
    groups = let.op.binders_by_sink(let.vars)
    for sink, taken, bound in zip(let.op.sinks, let.op.portions(), groups, strict=True):
        if not any(var in live for var in bound):
            continue
        if sink.filters:
            if any(var in live for var in bound[1:]):
                sink, taken, bound = _read_columns(taken, bound, live)
            else:
                sink, taken, bound = _number(taken, bound, lets)
        vars_ += bound
        results += taken
        sinks.append(sink)
    if not sinks or len(vars_) == len(let.vars):
        return let
    body = Lambda(let.op.body.params, tuple(lets), tuple(results))
    return Let(tuple(vars_), let.op.replace(body=body, sinks=tuple(sinks)), let.where)


def _trim_sort(let: Let, op: Sort | RadixSort | SortRow | SortRows, live: set[Var]) -> Let:
    """A sort of those arrays that are read, and of what the key reads."""
    read = free_vars((*(each.op for each in op.fn.lets), *op.fn.results))
    trios = zip(let.vars, op.fn.params, op.xs, strict=True)
    kept = [(var, param, x) for var, param, x in trios if var in live or param in read]
    if len(kept) == len(let.vars):
        return let
    vars_, params, xs = zip(*kept, strict=True)
    fn = Lambda(params, op.fn.lets, op.fn.results)
    return Let(vars_, op.replace(fn=fn, xs=xs), let.where)


def _trim_if(let: Let, op: If, live: set[Var]) -> Let:
    """A branch of those results that are read; before each array its extents stay."""
    kept: set[int] = set()
    for k, var in enumerate(let.vars):
        if var in live:
            rank = var.type.rank if isinstance(var.type, ArrayType) else 0
            kept.update(range(k - rank, k + 1))
    if not kept or len(kept) == len(let.vars):
        return let

    def shorter(fn: Lambda) -> Lambda:
        return Lambda(fn.params, fn.lets, tuple(fn.results[k] for k in sorted(kept)))

    vars_ = tuple(let.vars[k] for k in sorted(kept))
    return Let(vars_, op.replace(then=shorter(op.then), other=shorter(op.other)), let.where)


def _trim_fold(let: Let, op: Fold, live: set[Var]) -> Let:
    """A fold of those components that are read, and of what these are combined from."""
    half, fn = len(op.neutral), op.fn
    if any(each.op.effect for each in fn.lets):
        return let
    wanted = [k for k, var in enumerate(let.vars) if var in live]
    while len(wanted) < half:
        lets = needed_for(fn.lets, [fn.results[k] for k in wanted])
        read = free_vars((*(each.op for each in lets), *(fn.results[k] for k in wanted)))
        more = [k for k in range(half) if not read.keys().isdisjoint(fn.params[k::half])]
        if set(more) <= set(wanted):
            break
        wanted = sorted({*wanted, *more})
    else:
        return let
    params = tuple(fn.params[k + side] for side in (0, half) for k in wanted)
    combine = Lambda(params, lets, tuple(fn.results[k] for k in wanted))
    body = Lambda(op.body.params, op.body.lets, tuple(op.body.results[k] for k in wanted))
    neutral = tuple(op.neutral[k] for k in wanted)
    vars_ = tuple(let.vars[k] for k in wanted)
    return Let(vars_, op.replace(body=body, fn=combine, neutral=neutral), let.where)


def _number(
    taken: tuple[Atom, ...], bound: tuple[Var, ...], lets: list[Let]
) -> tuple[Combine, tuple[Atom, ...], tuple[Var, ...]]:
    """The number of kept elements, if these are unread: a sum over the flags."""
    one = Var("c", i64)
    lets.append(Let((one,), Cast(i64, taken[0])))
    return Combine(lambda_of("add", i64), (index(0),)), (one,), bound[:1]


def _read_columns(
    taken: tuple[Atom, ...], bound: tuple[Var, ...], live: set[Var]
) -> tuple[Compact, tuple[Atom, ...], tuple[Var, ...]]:
    """A compact of the arrays that are read."""
    kept = [0, *(k for k in range(1, len(bound)) if bound[k] in live)]
    elements = tuple(taken[k] for k in kept)
    return Compact(len(kept) - 1), elements, tuple(bound[k] for k in kept)
