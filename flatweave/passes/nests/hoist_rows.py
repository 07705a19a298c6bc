"""Hoist rows: what a loop computes, the same for a whole row, is computed once for it, and stored.

    shares(n: i64, m: i64, a: f32[n, m]) =>
        b: f32[n, m] = sweep [n, m] (i: i64, j: i64 =>
            s: f32 = fold m (k: i64 => index a [i, k] checked=false) (add f32) [0.0f32]
            x: f32 = index a [i, j] checked=false
            y: f32 = truediv x s
            in y) [store]
        in b
    ==>
    shares(n: i64, m: i64, a: f32[n, m]) =>
        c: f32[n] = sweep [n] (i: i64 =>
            s: f32 = fold m (k: i64 => index a [i, k] checked=false) (add f32) [0.0f32]
            in s) [store]
        b: f32[n, m] = sweep [n, m] (i: i64, j: i64 =>
            s: f32 = index c [i] checked=false
            x: f32 = index a [i, j] checked=false
            y: f32 = truediv x s
            in y) [store]
        in b

A map of rows has become one sweep over all elements, and what its function does once for each row
would be done for each element: n m m steps in place of n m. Now it is what
`a / fw.sum(a, axis=1)[:, None]` is. Each value depends on some of the sweep's indices, and gets a
sweep over these. A fold that depends on no index becomes a sweep over its own elements. A check of
a row is made once for it, too.

What a loop in a fold computes for an element of the fold, the same for several of the sweep, gets a
sweep over the indices that it depends on, the fold's own among them.

Where rows have no elements, nothing of them was computed, and reads as `r[0]` stand untested. So if
a value needs any but the elements that the sweep and its folds walk along, its sweep is empty then,
and so is that of a check.

Leaves alone: what costs no loop, or a small one for few elements; code in a branch, which need not
be taken; scans, whose values depend on what came before; the program of a single row
(`by_row`), which has no memory for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flatweave.array_ir.syntax import SWEPT, Program
from flatweave.base.dtypes import DType, i64
from flatweave.ops import ByRow, Check, Combine, Fold, Index, Prefix, Sink, Store, Sweep
from flatweave.passes.cost import FEW_TURNS, length, may_repeat, work
from flatweave.passes.dce import live_body
from flatweave.passes.rewrite import array_pass, every_holds, hold, rewrite
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import (
    Substitution,
    free_vars,
    lambdas_in,
    needed_for,
    same,
    walk_lets,
)

Indices = frozenset[Var]


@array_pass(takes=(SWEPT,), about=lambda op: isinstance(op, Check | Fold | For | While))
def hoist_rows(program: Program) -> Program:
    """sweep [n, m] (i, j => .. fold over k of f(i, k) ..)  ==>  a sweep [n] of the folds before"""
    inside = {
        id(let)
        for row in walk_lets(program.fn) if isinstance(row.op, ByRow)
        for let in walk_lets(row.op.fn)
    }  # fmt: skip

    def rule(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or id(let) in inside:
            return None
        body = _of_folds(b, op, _hoisted(b, op) or op.body)
        if body is op.body:
            return None
        return b.emit(op.replace(body=body), let.vars[0].name)

    return rewrite(program, rule)


def _hoisted(b: Builder, op: Sweep) -> Lambda | None:
    """A sweep's body, reading what sweeps emitted here have computed; None: nothing is the same
    for a row."""
    found: dict[Indices, list[Let]] = {}
    checks: dict[Indices, list[Let]] = {}
    plain = _plain(op)
    for let, indices in _indices(op).items():
        if len(indices) < len(op.shape) and let in plain:
            repeats = _repeats(op, indices)
            if _is_costly(let, repeats):
                found.setdefault(indices, []).append(let)
            elif indices and isinstance(let.op, Check) and repeats > FEW_TURNS:
                checks.setdefault(indices, []).append(let)
    if not found and not checks:
        return None
    reads: dict[Let, list[Let]] = {}
    for indices, moved in checks.items():
        _check_rows(b, op, tuple(p for p in op.body.params if p in indices), moved)
        reads.update((let, []) for let in moved)
    known = Substitution()
    for let in [each for each in found.get(Indices(), ()) if _folds_alone(op, each)]:
        found[Indices()].remove(let)
        reads[let] = []
        known.mapping.update(zip(let.vars, _over_elements(b, op, let), strict=True))
    for indices, moved in found.items():
        where = tuple(p for p in op.body.params if p in indices)
        stored, at = iter(_over(b, op, where, moved)), where or (index(0),)
        for let in moved:
            each = zip(let.vars, stored)
            reads[let] = [Let((v,), Index(a, at, checked=False), let.where) for v, a in each]
    lets = tuple(new for let in op.body.lets for new in reads.get(let, [let]))
    return known.function(Lambda(op.body.params, lets, op.body.results))


def _of_folds(b: Builder, op: Sweep, body: Lambda) -> Lambda:
    """A sweep's body whose folds read what sweeps over some of its indices and the fold's own have
    computed: what loops in a fold is computed once for each element that needs it."""
    body, lets = live_body(body), list[Let]()
    own = {var for let in body.lets for var in let.vars}
    for let in body.lets:
        fold = let.op
        if isinstance(fold, Fold) and fold.extent not in own | {*body.params}:
            (k,) = fold.body.params
            shape, params = (*op.shape, fold.extent), (*body.params, k)
            inner = Lambda(params, (*lets, *fold.body.lets), fold.body.results)
            space = op.replace(shape=shape, body=inner)
            reads = _computed(b, space, k, fold.body.lets)
            made = tuple(new for each in fold.body.lets for new in reads.get(each, [each]))
            if reads:
                fold = fold.replace(body=Lambda(fold.body.params, made, fold.body.results))
                let = Let(let.vars, fold, let.where)
        lets.append(let)
    return body if same(lets, body.lets) else Lambda(body.params, tuple(lets), body.results)


def _computed(
    b: Builder, space: Sweep, k: Var, candidates: Sequence[Let]
) -> dict[Let, list[Let]]:
    """For those that loop and depend on `k`, but not on all other indices, the reads of what is
    computed here."""
    plain, known = _plain(space), _indices(space)
    found: dict[Indices, list[Let]] = {}
    for let in candidates:
        indices = known[let]
        same_for_some = k in indices and len(indices) < len(space.shape) and let in plain
        if same_for_some and _is_costly(let, _repeats(space, indices)):
            found.setdefault(indices, []).append(let)
    reads: dict[Let, list[Let]] = {}
    for indices, moved in found.items():
        where = tuple(p for p in space.body.params if p in indices)
        stored = iter(_over(b, space, where, moved))
        for let in moved:
            each = zip(let.vars, stored)
            reads[let] = [Let((v,), Index(a, where, checked=False), let.where) for v, a in each]
    return reads


def _folds_alone(op: Sweep, let: Let) -> bool:
    """Whether a fold needs nothing of the sweep but scalar work and reads, and its extent not even
    that."""
    if not isinstance(let.op, Fold):
        return False
    needed = needed_for(op.body.lets, let.vars)[:-1]
    own = {var for each in needed for var in each.vars}
    plain = all(isinstance(each.op, Apply | Cast | Index) for each in needed)
    return plain and not own & free_vars((let.op.extent, let.op.fn, let.op.neutral)).keys()


def _over_elements(b: Builder, op: Sweep, let: Let) -> Sequence[Atom]:
    """A fold that is the same for all elements, as a sweep: none where there are no elements."""
    fold = let.op
    assert isinstance(fold, Fold)
    needed = needed_for(op.body.lets, let.vars)[:-1]
    extent = fold.extent
    if _reads_at_chosen_places((*needed, let), ()):
        extent = _unless_empty(b, op.shape, extent)
    inside = b.inner()
    k = inside.param("k", i64, extent)
    renaming = inside.inlining(Lambda(fold.body.params, (), ()), [k])
    for each in (*needed, *fold.body.lets):
        inside.inline_let(each, renaming)
    body = inside.close([k], [renaming.atom(atom) for atom in fold.body.results])
    return b.emit(Sweep((extent,), body, (Combine(b.copy(fold.fn), fold.neutral),)))


def _over(
    b: Builder, op: Sweep, where: tuple[Var, ...], moved: Sequence[Let]
) -> Sequence[Atom]:
    """The arrays of what `moved` computes, over these of the sweep's indices."""
    wanted = [v for let in moved for v in let.vars]
    lets = needed_for(op.body.lets, wanted)
    return _rows(b, op, where, Lambda((), lets, tuple(wanted)), tuple(Store() for _ in wanted))


def _check_rows(b: Builder, op: Sweep, where: tuple[Var, ...], checks: Sequence[Let]) -> None:
    """Make these checks once for each row."""
    roots = [atom for let in checks for atom in free_vars(let.op)]
    needed = {*needed_for(op.body.lets, roots), *checks}
    lets = tuple(let for let in op.body.lets if let in needed)
    conditions = tuple(let.op.condition for let in checks if isinstance(let.op, Check))
    every = tuple(every_holds() for _ in conditions)
    holds = _rows(b, op, where, Lambda((), lets, conditions), every)
    for let, each in zip(checks, holds, strict=True):
        assert isinstance(let.op, Check)
        hold(b, let.op, each)


def _rows(
    b: Builder, op: Sweep, where: tuple[Var, ...], fn: Lambda, sinks: tuple[Sink, ...]
) -> Sequence[Atom]:
    """A sweep over some of the sweep's indices, of these lets and results of its body."""
    extents = dict(zip(op.body.params, op.shape, strict=True))
    first, *others = (extents[p] for p in where) if where else (index(1),)
    checked = any(isinstance(let.op, Check) for let in fn.lets)
    if not where or checked or _reads_at_chosen_places(fn.lets, where):
        along = [extent for p, extent in extents.items() if p not in where]
        first = _unless_empty(b, along, first)
    shape = (first, *others)
    inside = b.inner()
    names = [p.name for p in where] or ["i"]
    fresh = [inside.param(n, i64, extent) for n, extent in zip(names, shape, strict=True)]
    results = inside.inline(Lambda(where, fn.lets, fn.results), fresh[: len(where)])
    made = Sweep(shape, inside.close(fresh, results), sinks)
    return b.emit(made.replace(body=_of_folds(b, made, made.body)))


def _reads_at_chosen_places(lets: Sequence[Let], walked: Sequence[Atom]) -> bool:
    """Whether there are reads at indices other than `walked` and those of the folds."""
    for let in lets:
        if isinstance(let.op, Index) and not set(let.op.indices) <= set(walked):
            return True
        for fn in lambdas_in(let.op):
            along = fn.params if isinstance(let.op, Fold) and fn is let.op.body else ()
            if _reads_at_chosen_places(fn.lets, (*walked, *along)):
                return True
    return False


def _unless_empty(b: Builder, along: Sequence[Atom], count: Atom) -> Atom:
    """`count`, or 0 where one of these extents is 0."""
    for extent in along:
        count = b.apply("select", b.apply("lt", index(0), extent), count, index(0))
    return count


def _indices(op: Sweep) -> dict[Let, Indices]:
    """The sweep's indices that each let of the body depends on."""
    known: dict[Var, Indices] = {p: frozenset((p,)) for p in op.body.params}
    found = {}
    for let in op.body.lets:
        used = frozenset[Var]().union(*(known.get(v, frozenset()) for v in free_vars(let.op)))
        known.update((v, used) for v in let.vars)
        found[let] = used
    return found


def _repeats(op: Sweep, indices: Indices) -> float:
    """How many elements of a sweep share what depends on these of its indices alone."""
    rest = [e for p, e in zip(op.body.params, op.shape, strict=True) if p not in indices]
    return prod(length(extent) for extent in rest)


def _is_costly(let: Let, repeats: float) -> bool:
    """Whether a value takes a loop, of many iterations or for more elements than may repeat it."""
    return _loops(let.op, 0) and (
        _loops(let.op, FEW_TURNS) or not may_repeat(work([let], {}), repeats)
    )


def _loops(op: Op, few: int) -> bool:
    """Whether an operation runs a loop of more iterations, or of an unknown number."""
    match op:
        case Fold(extent=Const(value=value)) if isinstance(value, int) and value <= few:
            pass
        case Fold() | While() | For():
            return True
        case If():
            return False
    return any(_loops(let.op, few) for fn in lambdas_in(op) for let in fn.lets)


def _plain(op: Sweep) -> set[Let]:
    """The lets that give numbers, computed without a scan."""
    scanned: set[Var] = set()
    found: set[Let] = set()
    for let in op.body.lets:
        if isinstance(let.op, Prefix) or not scanned.isdisjoint(free_vars(let.op)):
            scanned.update(let.vars)
        elif all(isinstance(v.type, DType) for v in let.vars):
            found.add(let)
    return found
