"""Loops of elements that stand in a branch are taken out of it, as loops without turns elsewhere.

    r = if c then (a = e x; s = while k b [a]; in g s a) else (in h x)

    a = if c then (in e x) else (in 0)
    s = while (s => if c then k s else no) b [a]
    r = if c then (in g s a) else (in h x)

So a loop in a loop, whose turns are such branches of the elements that are not done, can become one
of the client, too (`turns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from flatweave.base.dtypes import DType, bool_
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, constant
from flatweave.terms.traverse import free_vars

NO = Const(False, bool_)
Wanted = Callable[[Let], bool]


def out_of_branches(fn: Lambda, wanted: Wanted) -> Lambda | None:
    """A function whose first loop that is wanted, of those in branches, is in none; None where
    there is no such loop, or where arrays are known before it that it reads."""
    for k, let in enumerate(fn.lets):
        if isinstance(let.op, If):
            for number in range(2):
                made = _taken_out(let, number, wanted)
                if made is not None:
                    return Lambda(fn.params, (*fn.lets[:k], *made, *fn.lets[k + 1 :]), fn.results)
    return None


def _taken_out(let: Let, number: int, wanted: Wanted) -> list[Let] | None:
    op = cast(If, let.op)
    branch = (op.then, op.other)[number]
    at = _first(branch, wanted)
    if at is None:
        inner = out_of_branches(branch, wanted)
        if inner is None:
            return None
        branch, at = inner, _first(inner, wanted)
        assert at is not None
    loop, after = branch.lets[at], Lambda((), branch.lets[at + 1 :], branch.results)
    kept = _kept(branch, at)
    if any(isinstance(var.type, ArrayType) for var in (*kept, *loop.vars)):
        return None
    taken, lets = op.condition, list[Let]()
    if number:
        taken = Var("taken", bool_)
        lets.append(Let((taken,), Apply("not", (op.condition,)), let.where))
    if kept:
        known = Builder().copy(Lambda((), branch.lets[:at], tuple(kept)))
        step = loop.op.step if isinstance(loop.op, For) else None
        none = [constant(1 if var is step else 0, cast(DType, var.type)) for var in kept]
        absent = Lambda((), (), tuple(none))
        lets.append(Let(tuple(kept), _if(op.condition, number, known, absent), let.where))
    lets += _loop(loop, taken)
    other = (op.then, op.other)[1 - number]
    return [*lets, Let(let.vars, _if(op.condition, number, after, other), let.where)]


def _first(branch: Lambda, wanted: Wanted) -> int | None:
    loops = (k for k, each in enumerate(branch.lets) if isinstance(each.op, For | While))
    return next((k for k in loops if wanted(branch.lets[k])), None)


def _kept(branch: Lambda, at: int) -> list[Var]:
    """What is computed before the loop and is read in it, or after it."""
    before = {var for each in branch.lets[:at] for var in each.vars}
    later: Iterator[Atom] = (v for each in branch.lets[at:] for v in free_vars(each.op))
    read = dict.fromkeys([*later, *branch.results])
    return [var for var in read if isinstance(var, Var) and var in before]


def _if(condition: Atom, number: int, own: Lambda, other: Lambda) -> If:
    return If(condition, own, other) if number == 0 else If(condition, other, own)


def _loop(let: Let, taken: Atom) -> Sequence[Let]:
    """The loop, which has no turn where the branch is not taken."""
    op = let.op
    if isinstance(op, For):
        hi = Var("hi", op.hi.type)
        bound = Let((hi,), Apply("select", (taken, op.hi, op.lo)), let.where)
        return [bound, Let(let.vars, For(op.lo, hi, op.step, op.body, op.init), let.where)]
    assert isinstance(op, While)
    own = Lambda((), op.condition.lets, op.condition.results)
    goes = Var("goes", bool_)
    asked = Let((goes,), If(taken, own, Lambda((), (), (NO,))), let.where)
    condition = Lambda(op.condition.params, (asked,), (goes,))
    return [Let(let.vars, While(condition, op.body, op.init), let.where)]
