"""Bodies over the lanes that run: scalar work, control, loads, stores and updates."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import Enum

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import KernelOp
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.memory_ops import EXCHANGE, Atomic, AtomicUpdate, LockedUpdate, StoreWhole
from flatweave.scalar import ops as scalar
from flatweave.scalar.function import evaluate_cast
from flatweave.simulator.memory import Buffer, Misuse, Private, is_same
from flatweave.simulator.order import Agent
from flatweave.simulator.schedules import Failure, Progress
from flatweave.terms.batch import Env, Reader, Value, Values, assign, empty_columns, spread
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.print import print_let
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var


class Event(Enum):
    """Why a body stops: at a barrier, before it looks at others' work, or to let others work."""

    SYNC = "sync"
    LOOK = "look"
    WAIT = "wait"


Steps = Generator[Event, None, Values]


class Runner(Reader):
    """Runs lambdas; subclasses say what the other operations do. A value is one for the warp
    (rank 0), or one for each lane that runs (rank 1)."""

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


# -- access ---------------------------------------------------------------------------------------

# Memory in the simulator: what loads, stores and reports of a warp do.


class Accessor(Runner):
    """Runs bodies for one warp, which uses memory as `agent`."""

    def __init__(self, agent: Agent, progress: Progress) -> None:
        self.agent = agent
        self.progress = progress
        self.width = 1

    # -- values -----------------------------------------------------------------------------------

    def _uniform(self, value: Value, what: str) -> Value:
        """The one value that all lanes have."""
        if value.ndim and not is_same(value, value[:1]).all():
            raise Misuse(f"{what} differs from lane to lane: {value}.")
        return value if value.ndim == 0 else np.asarray(value[0])

    def one(self, env: Env, atom: Atom, what: str) -> Value:
        """The value of an atom that must be the same in all lanes."""
        return self._uniform(self.atom(env, atom), what)

    def columns(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """One value for each lane of the warp, all of which must run."""
        if env.size != self.width:
            raise Misuse(f"{env.size} of {self.width} lanes run a collective.")
        return spread(self.atoms(env, atoms), env.size)

    def apply(self, env: Env, fn: Lambda, args: Values) -> Values:
        """What a function of elements gives for each of them."""
        size = len(args[0])
        outside = env
        while outside.size is not None and outside.outer is not None:
            outside = outside.outer
        return spread(self.pure(outside.batch(size), fn, args), size)

    # -- memory -----------------------------------------------------------------------------------

    def _memory(self, env: Env, op: Op) -> Values:
        match op:
            case ir.Load(buffer=buffer, index=index):
                return (self.load(env, buffer, self.atom(env, index)),)
            case ir.LoadNear(buffer=buffer, base=base, offset=offset, span=span):
                at, last = self.atom(env, offset), int(self.one(env, span, "the span"))
                if ((at < 0) | (at > last)).any():
                    raise Misuse(f"a load {at} after its base, at most {last} allowed.")
                at = at + self.one(env, base, "the base of load_near")
                return (self.load(env, buffer, at),)
            case ir.Store(buffer=buffer, index=index, value=value, streaming=streaming):
                at, values = self.atom(env, index), self.atom(env, value)
                self.store(env, buffer, at, values, streaming)
            case ir.StoreCompact():
                self._compact(env, op)
            case ir.Release(buffer=buffer, index=index, value=value):
                at = self.one(env, index, "the index of release")
                new = self.one(env, value, "the value of release")
                self._buffer(env, buffer).release(int(at), new, self.agent)
                self.progress.events += 1
            case StoreWhole(buffer=buffer, index=index, values_=values):
                first = int(self.one(env, index, "the index of store_whole")) * len(values)
                new_words = [self.one(env, atom, "a word of store_whole") for atom in values]
                self._buffer(env, buffer).store_whole(first, new_words, self.agent)
                self.progress.events += 1
            case ir.Report():
                self._report(env, op)
            case KernelOp():
                return op.simulate(self, env)
            case _:
                raise CompilerBug(f"{op.name} cannot be simulated in a kernel.")
        return ()

    def _buffer(self, env: Env, var: Var) -> Buffer:
        buffer: object = env[var]
        assert isinstance(buffer, Buffer)
        return buffer

    def _use(self, env: Env, var: Var, at: Value) -> tuple[Buffer, Value, Agent | None]:
        """A buffer, the indices in it that are used here, and their users, one thread for each."""
        held: object = env[var]
        if isinstance(held, Private):
            lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
            return held.buffer, held.places(np.broadcast_to(at, lanes.shape), lanes), None
        assert isinstance(held, Buffer)
        is_watched = self.progress.counts.watches
        if self.agent.units is None:
            return held, at.reshape(-1), self.agent if is_watched else None
        assert env.positions is not None
        by = self.agent.some(env.positions) if is_watched else None
        return held, np.broadcast_to(at, env.positions.shape), by

    def _count(
        self, env: Env, buffer: Buffer, what: str, places: Value, each: int = 1
    ) -> None:
        """Report to the counter that each running lane uses an element, or `count` at once."""
        places = np.broadcast_to(places, max(places.size, env.size or 1))
        threads = env.positions
        if threads is not None and self.agent.units is not None:
            threads = self.agent.units[threads]
        size = buffer.data.itemsize * each
        self.progress.counts.access(
            buffer.space, what, places // each, size, threads, buffer=buffer.name,
            block=self.agent.block,
        )  # fmt: skip

    def load(self, env: Env, var: Var, at: Value) -> Value:
        buffer, places, by = self._use(env, var, at)
        self._count(env, buffer, "reads", places)
        values = buffer.load(places, by)
        return values.reshape(()) if places.size == 1 and at.ndim == 0 else values

    def store(
        self, env: Env, var: Var, at: Value, values: Value, streaming: bool = False
    ) -> None:
        at = np.broadcast_to(at, max(at.size, values.size))
        buffer, at, by = self._use(env, var, at)
        self._count(env, buffer, "writes", at)
        values = np.broadcast_to(values, at.size)
        if streaming:
            step = min(64, at.size * values.itemsize)
            linear = (at == at[0] + np.arange(at.size)).all()
            if not linear or at[0] * values.itemsize % step:
                raise Misuse(f"a streaming store at {at}, which is not aligned and linear.")
        buffer.store(at, values, by)

    def _compact(self, env: Env, op: ir.StoreCompact) -> None:
        base = int(self.one(env, op.base, "the base of store_compact"))
        limit = int(self.one(env, op.limit, "the limit of store_compact"))
        size = env.size or 1
        kept = np.flatnonzero(np.broadcast_to(self.atom(env, op.keep), size))
        stop = base + kept.size
        if kept.size and stop > limit:
            raise Misuse(f"store_compact keeps up to {stop}, beyond its limit {limit}.")
        for var, value in zip(op.buffers, op.values_, strict=True):
            buffer = self._buffer(env, var)
            values = np.broadcast_to(self.atom(env, value), size)[kept]
            self.progress.counts.access(
                buffer.space, "writes", np.arange(base, stop), values.itemsize, kept,
                buffer=buffer.name, block=self.agent.block,
            )  # fmt: skip
            buffer.store(np.arange(base, stop), values, self.agent)
            if base + self.width <= limit:
                buffer.spoil(np.arange(stop, base + self.width), self.agent)

    def _report(self, env: Env, op: ir.Report) -> None:
        found = spread(self.atoms(env, (op.index, op.value, op.extent)), env.size or 1)
        for index, value, extent in zip(*found, strict=True):
            failure = Failure(op.code, op.site, int(index), int(value), int(extent))
            self.progress.report(failure)


# Updates that are indivisible, and those under a lock, lane after lane.
#
# An update under a lock goes step by step, as on a machine: take the lock or wait, load, let
# others go on, store, give the lock back. Who uses the element without that lock is found.


FREE, TAKEN = 0, 1


class Updater(Accessor):
    """Runs updates for one warp."""

    def _atomic(self, env: Env, op: Atomic) -> Steps:
        yield Event.LOOK
        at, values = self._each(env, (op.index, op.value))
        before = np.empty(at.shape, values.dtype)
        buffer = self._buffer(env, op.buffer)
        self._count(env, buffer, "atomics", at.reshape(-1))
        for lane in self._lanes_in_turn(at):
            place = buffer.updated(int(at[lane]), self._one_of(env, lane))
            before[lane] = place[0]
            new = values[lane]
            place[0] = new if op.fn == EXCHANGE else scalar.evaluate(op.fn, place[0], new)
        self.progress.events += 1
        return (before,)

    def _update(self, env: Env, op: AtomicUpdate) -> Steps:
        """An element of one word or of several."""
        yield Event.LOOK
        at, *new = self._each(env, (op.index, *op.values_))
        buffer, words = self._buffer(env, op.buffer), len(new)
        self._count(env, buffer, "atomics", at.reshape(-1) * words)
        for lane in self._lanes_in_turn(at):
            by, first = self._one_of(env, lane), int(at[lane]) * words
            found = [buffer.updated(first + k, by) for k in range(words)]
            self._change(env, op.fn, found, [x[lane] for x in new])
        self.progress.events += 1
        return ()

    def _locked(self, env: Env, op: LockedUpdate) -> Steps:
        at, *new = self._each(env, (op.index, *op.values_))
        buffers, locks = [self._buffer(env, var) for var in op.buffers], self._buffer(env, op.locks)
        for buffer in buffers:
            self._count(env, buffer, "reads", at.reshape(-1))
            self._count(env, buffer, "writes", at.reshape(-1))
        self._count(env, locks, "atomics", at.reshape(-1) % op.stripes)
        for lane in self._lanes_in_turn(at):
            by, stripe = self._one_of(env, lane), int(at[lane]) % op.stripes
            yield Event.LOOK
            while locks.updated(stripe, by)[0] != FREE:
                yield Event.WAIT
            locks.data[stripe] = TAKEN
            way = self.progress.lock(locks, stripe)
            found = [buffer.updated(int(at[lane]), by, way) for buffer in buffers]
            copies = [place.copy() for place in found]
            yield Event.LOOK
            self._change(env, op.fn, copies, [x[lane] for x in new])
            for place, copy in zip(found, copies, strict=True):
                place[0] = copy[0]
            locks.data[stripe] = FREE
            self.progress.events += 1
        return ()

    def _change(
        self, env: Env, fn: Lambda, places: Sequence[Value], values: Sequence[Value]
    ) -> None:
        """fn on an element and new values."""
        args = (*(x.copy() for x in places), *(np.asarray(x).reshape(1) for x in values))
        for place, result in zip(places, self.apply(env, fn, args), strict=True):
            place[0] = result[0]

    def _lanes_in_turn(self, at: Value) -> list[tuple[int, ...]]:
        """The lanes one at a time: their order is unspecified on every machine."""
        if at.ndim == 0:
            return [()]
        if self.agent.units is not None:  # which come in such an order already
            return [(lane,) for lane in range(at.size)]
        groups = self.progress.schedule.units(np.arange(at.size))
        return [(int(lane),) for group in groups for lane in group]

    def _one_of(self, env: Env, lane: tuple[int, ...]) -> Agent:
        """Who does the update of one lane."""
        if self.agent.units is None or env.positions is None:
            return self.agent
        return self.agent.some(env.positions[list(lane)])

    def _each(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """Values of one shape, for an update of each lane."""
        if env.size is None and self.agent.warps > 1:
            raise Misuse("an atomic outside of lanes: how many warps do it?")
        found = self.atoms(env, atoms)
        shape = () if env.size is None else (env.size,)
        shape = np.broadcast_shapes(shape, *(x.shape for x in found))
        return tuple(np.broadcast_to(x, shape) for x in found)
