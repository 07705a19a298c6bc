"""Loops that end where a check in them fails, for what they wait for may never come then.

    while [s] (s => holds) (s => .. if outside (report ..) ..; t)
    ==>
    while [s, false] (s, failed => holds and not failed) (s, failed => .. ..; t, outside)

A report alone lets its element go on, with another index. Where the condition has checks, it is
evaluated before the loop and at the end of each iteration, so that what fails in it is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import bool_
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.build import Builder
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, lambdas_in

FALSE, TRUE = Const(False, bool_), Const(True, bool_)
Found = tuple[tuple[Atom, ...], Atom]
"""What some code gives, and whether a check in it failed."""


class FailingLoops:
    """Emits the loops of a kernel; `_flags` are results that say whether a check failed."""

    def __init__(self) -> None:
        self._flags: set[Var] = set()

    def emit(self, b: Builder, loop: While) -> tuple[Atom, ...]:
        """A loop whose functions are written."""
        init, size = tuple(loop.init), len(loop.init)
        test, turn = b.inner(), b.inner()
        if self._fails(loop.condition):
            (holds,), failed = self._run(b, loop.condition, init)
            init = (*init, holds)
            state = [test.param("s", atom.type) for atom in (*init, FALSE)]
            holds = state[-2]
        elif self._fails(loop.body):
            failed = FALSE
            state = [test.param("s", atom.type) for atom in (*init, FALSE)]
            (holds,) = test.inline(loop.condition, state[:size])
        else:
            return b.emit(loop)
        on = test.apply("and", holds, test.apply("not", state[-1]))
        condition = test.close(state, [on])
        state = [turn.param("s", atom.type) for atom in (*init, FALSE)]
        after, fails = self._run(turn, loop.body, state[:size])
        if len(init) > size:
            again, fails_again = self._run(turn, loop.condition, after)
            after, fails = (*after, *again), turn.apply("or", fails, fails_again)
        body = turn.close(state, [*after, fails])
        found = b.emit(While(condition, body, (*init, failed), loop.through_memory))
        self._flags.add(found[-1])
        return found[:size]

    def _fails(self, fn: Lambda) -> bool:
        """Whether there are checks in a function."""
        return any(self._may_fail(let) for let in fn.lets)

    def _may_fail(self, let: Let) -> bool:
        if isinstance(let.op, Report) or not self._flags.isdisjoint(let.vars):
            return True
        return isinstance(let.op, If | For) and any(map(self._fails, lambdas_in(let.op)))

    def _run(
        self, b: Builder, fn: Lambda, args: Sequence[Atom], around: Substitution | None = None
    ) -> Found:
        """A function's code here."""
        renaming = b.inlining(fn, args)
        if around is not None:
            renaming.mapping = {**around.mapping, **renaming.mapping}
        fails: Atom = FALSE
        for let in fn.lets:
            if not self._may_fail(let) or isinstance(let.op, Report | While):
                b.inline_let(let, renaming)
                flag: Atom = TRUE if isinstance(let.op, Report) else FALSE
                for var in self._flags.intersection(let.vars):
                    flag = renaming.atom(var)
                    assert isinstance(flag, Var)
                    self._flags.add(flag)
            else:
                found, flag = self._control(b, let.op, renaming)
                renaming.mapping.update(zip(let.vars, found, strict=False))
            fails = b.apply("or", fails, flag)
        return tuple(renaming.atom(atom) for atom in fn.results), fails

    def _control(self, b: Builder, op: Op, around: Substitution) -> Found:
        """A branch or a counted loop with checks in it, whose flag is one result more."""
        if isinstance(op, If):
            condition, ways = around.atom(op.condition), []
            flags: list[Atom] = []
            for fn in (op.then, op.other):
                inside = b.inner()
                results, flag = self._run(inside, fn, (), around)
                flags.append(flag)
                ways.append((inside, results))
            if flags == [TRUE, FALSE]:  # a check: the flag is what it asks
                found = b.emit(If(condition, *(c.close([], results) for c, results in ways)))
                return found, condition
            closed = [c.close([], [*r, f]) for (c, r), f in zip(ways, flags, strict=True)]
            found = b.emit(If(condition, *closed))
            return found[:-1], found[-1]
        assert isinstance(op, For)
        lo, hi, step, *init = map(around.atom, (op.lo, op.hi, op.step, *op.init))
        inside = b.inner()
        params = [inside.param(param.name, param.type) for param in op.body.params]
        before = inside.param("failed", bool_)
        results, flag = self._run(inside, op.body, params, around)
        body = inside.close([*params, before], [*results, inside.apply("or", before, flag)])
        found = b.emit(For(lo, hi, step, body, (*init, FALSE)))
        return found[:-1], found[-1]
