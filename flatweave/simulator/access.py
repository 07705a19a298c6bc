"""Loads, stores, reports and updates of a warp in the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.memory_ops import EXCHANGE, Atomic, AtomicUpdate, LockedUpdate, StoreWhole
from flatweave.kernel_ir.op import KernelOp
from flatweave.scalar import ops as scalar
from flatweave.simulator.control import Event, Runner, Steps
from flatweave.simulator.memory import Buffer, Misuse, Private, is_same
from flatweave.simulator.order import Agent
from flatweave.simulator.schedules import Failure, Progress
from flatweave.terms.batch import Env, Value, Values, spread
from flatweave.terms.syntax import Atom, Lambda, Op, Var

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
