"""Running bodies of the machine language: scalar work and control, over the lanes that run.

A body is a generator: it stops where its warp has to wait (`Event`), and is resumed later. A
value is one for the warp (rank 0) or one for each lane that runs (rank 1); where control differs
between lanes, the bodies run on some of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import Enum

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.scalar import ops as scalar
from flatweave.scalar.function import evaluate_cast
from flatweave.terms.batch import Env, Value, Values, assign, empty_columns, spread
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.print import print_let
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op


class Event(Enum):
    """Why a body stops: at a barrier, before it looks at others' work, or to let others work."""

    SYNC = "sync"
    LOOK = "look"
    WAIT = "wait"


Steps = Generator[Event, None, Values]


class Runner:
    """Runs lambdas; subclasses say what the other operations do."""

    def atom(self, env: Env, atom: Atom) -> Value:
        """The value of an atom."""
        if isinstance(atom, Const):
            return np.asarray(atom.value, atom.dtype.numpy)
        return env[atom]

    def atoms(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """The values of several atoms."""
        return tuple(self.atom(env, atom) for atom in atoms)

    def call(self, env: Env, fn: Lambda, args: Sequence[Value]) -> Steps:
        """The results of a lambda on the lanes of `env`."""
        inside = env.inner()
        inside.values.update(zip(fn.params, args, strict=True))
        for let in fn.lets:
            results = yield from self._let(inside, let)
            inside.values.update(zip(let.vars, results, strict=True))
        return self.atoms(inside, fn.results)

    def pure(self, env: Env, fn: Lambda, args: Sequence[Value]) -> Values:
        """The results of a lambda that never waits, such as an operator."""
        steps = self.call(env, fn, args)
        try:
            next(steps)
        except StopIteration as stop:
            results: Values = stop.value
            return results
        raise CompilerBug("an operator waits.")

    def _let(self, env: Env, let: Let) -> Steps:
        try:
            return (yield from self.steps(env, let))
        except CompilerBug as bug:
            if not bug.program:
                bug.program, bug.where = print_let(let), let.where
            raise

    def steps(self, env: Env, let: Let) -> Steps:
        """What a let binds."""
        match let.op:
            case If():
                return (yield from self._if(env, let.op))
            case While():
                return (yield from self._while(env, let.op))
            case For():
                return (yield from self._for(env, let.op))
            case Apply(fn=fn, args=args):
                return (scalar.evaluate(fn, *self.atoms(env, args)),)
            case Cast(dtype=dtype, arg=arg):
                return (evaluate_cast(self.atom(env, arg), dtype),)
        return (yield from self.other(env, let, let.op))

    def other(self, env: Env, let: Let, op: Op) -> Steps:
        """An operation that is neither scalar work nor control."""
        raise NotImplementedError(op.name)

    # -- control ----------------------------------------------------------------------------------

    def _if(self, env: Env, op: If) -> Steps:
        condition = self.atom(env, op.condition)
        if condition.ndim == 0:
            return (yield from self.call(env, op.then if condition else op.other, ()))
        assert env.size is not None
        results = empty_columns(op.then, env.size)
        for fn, chosen in ((op.then, condition), (op.other, ~condition)):
            index = np.flatnonzero(chosen)
            if index.size:
                assign(results, index, (yield from self.call(env.take(index), fn, ())))
        return results

    def _while(self, env: Env, op: While) -> Steps:
        state = self.atoms(env, op.init)
        while True:
            (holds,) = yield from self.call(env, op.condition, state)
            if holds.ndim:
                return (yield from self._while_apart(env, op, state, holds))
            if not holds:
                return state
            state = yield from self.call(env, op.body, state)

    def _while_apart(self, env: Env, op: While, state: Values, holds: Value) -> Steps:
        """Turns on the lanes that still go on."""
        assert env.size is not None
        state = tuple(column.copy() for column in spread(state, env.size))
        active = np.flatnonzero(holds)
        while active.size:
            now = tuple(column[active] for column in state)
            assign(state, active, (yield from self.call(env.take(active), op.body, now)))
            now = tuple(column[active] for column in state)
            result = yield from self.call(env.take(active), op.condition, now)
            active = active[spread(result, active.size)[0]]
        return state

    def _for(self, env: Env, op: For) -> Steps:
        lo, hi, step = self.atoms(env, (op.lo, op.hi, op.step))
        state = self.atoms(env, op.init)
        if step.size and (step <= 0).any():
            raise CompilerBug("a loop's step is not positive.")
        if lo.ndim == hi.ndim == step.ndim == 0:
            for turn in range(int(lo), int(hi), int(step)):
                state = yield from self.call(env, op.body, (np.asarray(turn, lo.dtype), *state))
            return state
        assert env.size is not None
        lo, hi, step = spread((lo, hi, step), env.size)
        state = tuple(column.copy() for column in spread(state, env.size))
        i = lo.copy()
        while (active := np.flatnonzero(i < hi)).size:
            now = (i[active], *(column[active] for column in state))
            assign(state, active, (yield from self.call(env.take(active), op.body, now)))
            i[active] += step[active]
        return state
