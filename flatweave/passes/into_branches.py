"""A sweep over what a branch gives, element by element, goes into the branch, where it can fuse.

    down(n: i64, xs: f32[n], p: bool) =>
        m: i64, a: f32[n] = if p (() =>
            b: f32[n] = sweep [n] (i: i64 =>
                x: f32 = index xs [i] checked=false
                y: f32 = exp x
                in y) [store]
            in n, b) (() => n, xs)
        c: f32[n] = sweep [n] (j: i64 =>
            z: f32 = index a [j] checked=false
            w: f32 = neg z
            in w) [store]
        in c
    ==>
    down(n: i64, xs: f32[n], p: bool) =>
        k: i64, c: f32[n] = if p (() =>
            b: f32[n] = sweep [n] (i: i64 =>
                x: f32 = index xs [i] checked=false
                y: f32 = exp x
                in y) [store]
            d: f32[n] = sweep [n] (j: i64 =>
                z: f32 = index b [j] checked=false
                w: f32 = neg z
                in w) [store]
            in n, d) (() =>
            e: f32[n] = sweep [n] (k: i64 =>
                z: f32 = index xs [k] checked=false
                w: f32 = neg z
                in w) [store]
            in n, e)
        in c

This pays only for arrays that a branch stores element by element, and that only the sweep reads.
Both branches then contain the sweep; its other operands are known before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import SWEPT, Program
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import HOST_BODIES, Combine, Store, Sweep
from flatweave.passes.rewrite import array_pass, read_elsewhere, rewrite, stored_by
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import Substitution, free_vars, with_bodies, with_lets


@array_pass(takes=(SWEPT,), about=lambda op: isinstance(op, If))
def into_branches(program: Program) -> Program:
    """Move sweeps into the branches that store what they read, in every host body."""
    moved = Program(program.name, _body(program.fn))
    return program if moved.fn is program.fn else rewrite(moved, lambda b, op, let: None)


def _body(fn: Lambda) -> Lambda:
    lets = list(fn.lets)
    at = 0
    while at < len(lets):
        move = _find(lets, at, fn.results)
        if move is None:
            at += 1
        else:
            lets[at : move.place + 1] = move.done(lets, at)
            at += len(move.before)  # the branch is there now: another sweep may follow
    return with_lets(fn, [
        with_bodies(let, _body) if isinstance(let.op, HOST_BODIES) else let for let in lets
    ])  # fmt: skip


@record
class _Move:
    """The index of the sweep, the arrays that it takes from the branch, and the scalar work between
    the two, by index, that must precede the branch."""

    place: int
    arrays: tuple[Var, ...]
    before: tuple[int, ...]

    def done(self, lets: Sequence[Let], at: int) -> list[Let]:
        """The lets from the branch to the sweep, which is in it."""
        branch, sweep = lets[at], lets[self.place]
        assert isinstance(branch.op, If)
        kept = [k for k, var in enumerate(branch.vars) if var not in self.arrays]
        vars_ = [branch.vars[k] for k in kept]
        for var in sweep.vars:
            vars_ += [*(Var("n", i64) for _ in _shape(var)), var]
        bodies = [_with(fn, branch, sweep, kept) for fn in (branch.op.then, branch.op.other)]
        made = Let(tuple(vars_), If(branch.op.condition, *bodies), branch.where)
        others = [k for k in range(at + 1, self.place) if k not in self.before]
        return [*(lets[k] for k in self.before), made, *(lets[k] for k in others)]


def _shape(var: Var) -> tuple[Atom, ...]:
    return var.type.shape if isinstance(var.type, ArrayType) else ()


def _with(fn: Lambda, branch: Let, sweep: Let, kept: Sequence[int]) -> Lambda:
    """One body of a branch, with the sweep after it."""
    given = dict(zip(branch.vars, fn.results, strict=True))
    copy = Substitution(dict(given), lambda var, type_: Var(var.name, type_)).let(sweep)
    results = [fn.results[k] for k in kept]
    for var in copy.vars:
        results += [*_shape(var), var]
    return Lambda(fn.params, (*fn.lets, copy), tuple(results))


def _find(lets: Sequence[Let], at: int, results: Sequence[Atom]) -> _Move | None:
    """The sweep that can go into the branch at an index."""
    branch = lets[at]
    if not isinstance(branch.op, If):
        return None
    arrays = {var for var in branch.vars if isinstance(var.type, ArrayType)}
    if not arrays & _stored(branch):
        return None
    place = next(
        (k for k in range(at + 1, len(lets)) if arrays & free_vars(lets[k].op).keys()), None
    )
    if place is None or any(let.op.effect for let in lets[at + 1 : place]):
        return None
    taken = _taken(lets[place], arrays)
    later = Lambda((), tuple(lets[place + 1 :]), tuple(results))
    if not taken or not taken & _stored(branch) or taken & free_vars(later).keys():
        return None
    before = _before(lets, at, place, taken)
    ordered = tuple(var for var in branch.vars if var in taken)
    return None if before is None else _Move(place, ordered, before)


def _stored(branch: Let) -> set[Var]:
    """The arrays of a branch that one of its bodies, or of those in it, stores by elements."""
    assert isinstance(branch.op, If)
    found: set[Var] = set()
    for fn in (branch.op.then, branch.op.other):
        made: set[Var] = set()
        for let in fn.lets:
            if isinstance(let.op, Sweep):
                made |= stored_by(let).keys()
            elif isinstance(let.op, If):
                made |= _stored(let)
        pairs = zip(branch.vars, fn.results, strict=True)
        found |= {var for var, result in pairs if result in made}
    return found


def _taken(let: Let, arrays: set[Var]) -> set[Var]:
    """The arrays that a sweep reads at its own position and no other; none if it reads others."""
    op = let.op
    if not isinstance(op, Sweep) or not all(isinstance(each, Store | Combine) for each in op.sinks):
        return set()
    read = arrays & free_vars(op).keys()
    fits = all(_shape(var) == op.shape for var in read)
    return read if fits and not read & read_elsewhere(op) else set()


def _before(
    lets: Sequence[Let], at: int, place: int, taken: set[Var]
) -> tuple[int, ...] | None:
    """What the sweep needs of the scalar work between the branch and itself; None for more."""
    makers = {var: k for k in range(at, place) for var in lets[k].vars}
    waiting = [var for var in _needs(lets[place]) if var not in taken]
    found: set[int] = set()
    while waiting:
        k = makers.get(waiting.pop())
        if k is None or k in found:
            continue
        if not isinstance(lets[k].op, Apply | Cast):
            return None
        found.add(k)
        waiting += free_vars(lets[k].op)
    return tuple(sorted(found))


def _needs(let: Let) -> list[Var]:
    """What a let reads, and the extents of what it makes."""
    own = set(let.vars)
    found = [*free_vars(let.op), *(e for var in let.vars for e in _shape(var))]
    return [var for var in found if isinstance(var, Var) and var not in own]
