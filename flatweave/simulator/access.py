"""Memory in the simulator: what loads, stores, updates and reports of a warp do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.op import KernelOp
from flatweave.kernel_ir.updates import Atomic, AtomicUpdate, LockedUpdate
from flatweave.scalar import ops as scalar
from flatweave.simulator.control import Runner
from flatweave.simulator.memory import Agent, Buffer, Private, is_same
from flatweave.terms.batch import Env, Value, Values, spread
from flatweave.terms.syntax import Atom, Lambda, Op, Var

FIRST_UNIT = 1 << 32  # numbers of agents below are those of a launch's warps


@record(eq=True)
class Failure:
    """What a unit reports instead of results; `index` is the smallest element with an error."""

    code: int
    site: int
    index: int = 0
    value: int = 0
    extent: int = 0


@record(frozen=False)
class Progress:
    """What a launch has brought about so far."""

    shared: dict[tuple[int, Var], Buffer]
    failure: Failure | None = None
    events: int = 0
    units: int = FIRST_UNIT

    def numbers(self, count: int) -> Value:
        """Numbers of agents that no other has."""
        self.units += count
        return np.arange(self.units - count, self.units)

    def report(self, failure: Failure) -> None:
        """The smallest index wins, then the smallest site, then the smallest value."""
        first = (failure.index, failure.site, failure.value)
        old = self.failure
        if old is None or first < (old.index, old.site, old.value):
            self.failure = failure


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
            raise CompilerBug(f"{what} differs from lane to lane: {value}.")
        return value if value.ndim == 0 else np.asarray(value[0])

    def one(self, env: Env, atom: Atom, what: str) -> Value:
        """The value of an atom that must be the same in all lanes."""
        return self._uniform(self.atom(env, atom), what)

    def columns(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """One value for each lane of the warp, all of which must run."""
        if env.size != self.width:
            raise CompilerBug(f"{env.size} of {self.width} lanes run a collective.")
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
                    raise CompilerBug(f"a load {at} behind its base, at most {last} allowed.")
                at = at + self.one(env, base, "the base of load_near")
                return (self.load(env, buffer, at),)
            case ir.Store(buffer=buffer, index=index, value=value, streaming=streaming):
                self._store(env, buffer, index, value, streaming)
            case ir.StoreCompact():
                self._compact(env, op)
            case Atomic():
                return (self._atomic(env, op),)
            case AtomicUpdate(fn=fn, buffer=buffer, index=index, values_=values):
                words = len(values)
                places = [(self._buffer(env, buffer), words, k) for k in range(words)]
                self._update(env, fn, places, index, values)
            case LockedUpdate(fn=fn, buffers=buffers, index=index, values_=values):
                places = [(self._buffer(env, buffer), 1, 0) for buffer in buffers]
                self._update(env, fn, places, index, values)
            case ir.Release(buffer=buffer, index=index, value=value):
                at = self.one(env, index, "the index of release")
                new = self.one(env, value, "the value of release")
                self._buffer(env, buffer).release(int(at), new, self.agent)
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
        """A buffer, the places in it that are used here, and who uses them, each thread its own."""
        held: object = env[var]
        if isinstance(held, Private):
            lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
            return held.buffer, held.places(np.broadcast_to(at, lanes.shape), lanes), None
        assert isinstance(held, Buffer)
        if self.agent.units is None:
            return held, at.reshape(-1), self.agent
        assert env.positions is not None
        return held, np.broadcast_to(at, env.positions.shape), self.agent.some(env.positions)

    def load(self, env: Env, var: Var, at: Value) -> Value:
        buffer, places, by = self._use(env, var, at)
        values = buffer.load(places, by)
        return values.reshape(()) if places.size == 1 and at.ndim == 0 else values

    def _store(self, env: Env, var: Var, index: Atom, value: Atom, streaming: bool) -> None:
        at, values = self.atom(env, index), self.atom(env, value)
        at = np.broadcast_to(at, max(at.size, values.size))
        buffer, at, by = self._use(env, var, at)
        values = np.broadcast_to(values, at.size)
        if streaming:
            step = min(64, at.size * values.itemsize)
            linear = (at == at[0] + np.arange(at.size)).all()
            if not linear or at[0] * values.itemsize % step:
                raise CompilerBug(f"a streaming store at {at}, which is not aligned and linear.")
        buffer.store(at, values, by)

    def _compact(self, env: Env, op: ir.StoreCompact) -> None:
        base = int(self.one(env, op.base, "the base of store_compact"))
        limit = int(self.one(env, op.limit, "the limit of store_compact"))
        size = env.size or 1
        kept = np.flatnonzero(np.broadcast_to(self.atom(env, op.keep), size))
        stop = base + kept.size
        if kept.size and stop > limit:
            raise CompilerBug(f"store_compact keeps up to {stop}, beyond its limit {limit}.")
        for var, value in zip(op.buffers, op.values_, strict=True):
            buffer = self._buffer(env, var)
            values = np.broadcast_to(self.atom(env, value), size)[kept]
            buffer.store(np.arange(base, stop), values, self.agent)
            if base + self.width <= limit:
                buffer.spoil(np.arange(stop, base + self.width), self.agent)

    def _atomic(self, env: Env, op: Atomic) -> Value:
        at, values = self._each(env, (op.index, op.value))
        before = np.empty(at.shape, values.dtype)
        buffer = self._buffer(env, op.buffer)
        for lane in np.ndindex(at.shape):
            place = buffer.atomic_place(int(at[lane]), self._one_of(env, lane))
            before[lane] = place[0]
            place[0] = scalar.evaluate(op.fn, place[0], values[lane])
        self.progress.events += 1
        return before

    def _update(
        self, env: Env, fn: Lambda, places: Sequence[tuple[Buffer, int, int]], index: Atom,
        values: Sequence[Atom],
    ) -> None:  # fmt: skip
        """fn on what each lane finds at its place: word k of every so many in a buffer."""
        at, *new = self._each(env, (index, *values))
        for lane in np.ndindex(at.shape):
            found = [
                buffer.atomic_place(int(at[lane]) * words + k, self._one_of(env, lane))
                for buffer, words, k in places
            ]
            args = (*(x.copy() for x in found), *(np.asarray(x[lane]).reshape(1) for x in new))
            for place, result in zip(found, self.apply(env, fn, args), strict=True):
                place[0] = result[0]
        self.progress.events += 1

    def _one_of(self, env: Env, lane: tuple[int, ...]) -> Agent:
        """Who does the update of one lane."""
        if self.agent.units is None or env.positions is None:
            return self.agent
        return self.agent.some(env.positions[list(lane)])

    def _each(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """Values of one shape, for an update of each lane."""
        if env.size is None and self.agent.warps > 1:
            raise CompilerBug("an atomic outside of lanes: how many warps do it?")
        found = self.atoms(env, atoms)
        shape = () if env.size is None else (env.size,)
        shape = np.broadcast_shapes(shape, *(x.shape for x in found))
        return tuple(np.broadcast_to(x, shape) for x in found)

    def _report(self, env: Env, op: ir.Report) -> None:
        found = spread(self.atoms(env, (op.index, op.value, op.extent)), env.size or 1)
        for index, value, extent in zip(*found, strict=True):
            failure = Failure(op.code, op.site, int(index), int(value), int(extent))
            self.progress.report(failure)
