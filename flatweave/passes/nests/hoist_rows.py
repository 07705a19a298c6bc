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
sweep over these.

Where rows have no elements, nothing of them was computed, and reads as `r[0]` stand untested. So if
a value needs any but the elements that the sweep and its folds walk along, its sweep is empty then.

Leaves alone: what costs no loop, or one of few turns that are known; what lies in a branch, which
need not be taken; scans, whose values depend on what came before; the program of a single row
(`by_row`), which has no memory for more.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.forms import SWEPT
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType
from flatweave.ops import ByRow, Fold, Index, Prefix, Store, Sweep
from flatweave.passes.array_pass import array_pass
from flatweave.passes.rewrite import rewrite
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for, walk_lets

FEW_TURNS = 4
"""A fold of so many elements costs less than the array that would hold its results."""
Indices = frozenset[Var]


@array_pass(takes=(SWEPT,))
def hoist_rows(program: Program) -> Program:
    """sweep [n, m] (i, j => .. fold over k of f(i, k) ..)  ==>  a sweep [n] of the folds before"""
    inside = {
        id(let)
        for row in walk_lets(program.fn) if isinstance(row.op, ByRow)
        for let in walk_lets(row.op.fn)
    }  # fmt: skip

    def rule(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or len(op.shape) == 1 or id(let) in inside:
            return None
        lets = _hoisted(b, op)
        if lets is None:
            return None
        body = Lambda(op.body.params, lets, op.body.results)
        return b.emit(op.replace(body=body), let.vars[0].name)

    return rewrite(program, rule)


def _hoisted(b: Builder, op: Sweep) -> tuple[Let, ...] | None:
    """The lets of a sweep's body, reading what sweeps emitted here have computed; None: nothing
    is the same for a row."""
    found: dict[Indices, list[Let]] = {}
    for let, indices in _indices(op).items():
        if 0 < len(indices) < len(op.shape) and _loops(let.op) and _is_plain(op, let):
            found.setdefault(indices, []).append(let)
    if not found:
        return None
    reads: dict[Let, list[Let]] = {}
    for indices, moved in found.items():
        where = tuple(p for p in op.body.params if p in indices)
        stored = iter(_over(b, op, where, moved))
        for let in moved:
            each = zip(let.vars, stored)
            reads[let] = [Let((v,), Index(a, where, checked=False), let.where) for v, a in each]
    return tuple(new for let in op.body.lets for new in reads.get(let, [let]))


def _over(
    b: Builder, op: Sweep, where: tuple[Var, ...], moved: Sequence[Let]
) -> Sequence[Atom]:
    """The arrays of what `moved` computes, over these of the sweep's indices."""
    extents = dict(zip(op.body.params, op.shape, strict=True))
    wanted = [v for let in moved for v in let.vars]
    needed = needed_for(op.body.lets, wanted)
    first, *others = (extents[p] for p in where)
    if _reads_at_chosen_places(needed, where):
        along = [extent for p, extent in extents.items() if p not in where]
        first = _unless_empty(b, along, first)
    shape = (first, *others)
    inside = b.inner()
    fresh = [inside.param(p.name, p.type, extent) for p, extent in zip(where, shape, strict=True)]
    renaming = inside.inlining(Lambda(where, (), ()), fresh)
    for let in needed:
        inside.inline_let(let, renaming)
    body = inside.close(fresh, [renaming.atom(v) for v in wanted])
    return b.emit(Sweep(shape, body, tuple(Store() for _ in wanted)))


def _reads_at_chosen_places(lets: Sequence[Let], walked: Sequence[Atom]) -> bool:
    """Whether there are reads at other places than `walked` and the indices of the folds."""
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


def _loops(op: Op) -> bool:
    """Whether an operation goes round a loop of many turns, or of turns that nobody knows."""
    match op:
        case Fold(extent=Const(value=value)) if isinstance(value, int) and value <= FEW_TURNS:
            pass
        case Fold() | While() | For():
            return True
        case If():
            return False
    return any(_loops(let.op) for fn in lambdas_in(op) for let in fn.lets)


def _is_plain(op: Sweep, let: Let) -> bool:
    """Whether what a let gives are numbers, computed without a scan."""
    needed = needed_for(op.body.lets, let.vars)
    numbers = all(isinstance(v.type, DType) for v in let.vars)
    return numbers and not any(isinstance(each.op, Prefix) for each in needed)
