"""One warp of a block in the simulator: its lanes in lock step, its memory watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.control import Event, Runner, Steps
from flatweave.kernel_ir.memory import Agent, Buffer, is_same
from flatweave.scalar import ops as scalar
from flatweave.terms.batch import Env, Value, Values, prepend, spread, take
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var


@dataclass(frozen=True, slots=True)
class Failure:
    """What a unit reports instead of results; `index` is the smallest element with an error."""

    code: int
    site: int
    index: int = 0
    value: int = 0
    extent: int = 0


@dataclass(eq=False)
class Progress:
    """What a launch has brought about so far."""

    failure: Failure | None = None
    events: int = 0
    shared: dict[tuple[int, Var], Buffer] = field(default_factory=dict)

    def report(self, failure: Failure) -> None:
        """The smallest index wins."""
        if self.failure is None or failure.index < self.failure.index:
            self.failure = failure


class Warp(Runner):
    """Runs a kernel's body for one warp."""

    def __init__(self, agent: Agent, progress: Progress) -> None:
        self.agent = agent
        self.progress = progress
        self.width = 1

    def other(self, env: Env, let: Let, op: Op) -> Steps:
        match op:
            case ir.Sync():
                yield Event.SYNC
                return ()
            case ir.Acquire(buffer=buffer, index=index):
                yield Event.LOOK
                at = self._one(env, index, "the index of acquire")
                return (self._buffer(env, buffer).acquire(int(at), self.agent),)
            case ir.Backoff():
                yield Event.WAIT
                return ()
            case ir.Lanes(width=width, body=body):
                return (yield from self._lanes(env, width, body))
            case ir.Call(fn=fn, args=args):
                return (yield from self.call(env, fn, self.atoms(env, args)))
            case ir.Shared(dtype=dtype, count=count):
                key = self.agent.block, let.vars[0]
                made = Buffer.fresh(let.vars[0].name, dtype, count)
                return (self.progress.shared.setdefault(key, made),)  # type: ignore[return-value]
        return self._position(env, op)

    def _lanes(self, env: Env, width: int, body: Lambda) -> Steps:
        if env.size is not None:
            raise CompilerBug("lanes inside lanes.")
        self.width = width
        results = yield from self.call(env.batch(width), body, ())
        self.width = 1
        return tuple(self._uniform(result, "a result of lanes") for result in results)

    def _uniform(self, value: Value, what: str) -> Value:
        """The one value that all lanes have."""
        if value.ndim and not is_same(value, value[:1]).all():
            raise CompilerBug(f"{what} differs from lane to lane: {value}.")
        return value if value.ndim == 0 else np.asarray(value[0])

    def _one(self, env: Env, atom: Atom, what: str) -> Value:
        return self._uniform(self.atom(env, atom), what)

    def _position(self, env: Env, op: Op) -> Values:
        match op:
            case ir.BlockIndex():
                return (np.asarray(self.agent.block),)
            case ir.WarpIndex():
                return (np.asarray(self.agent.warp),)
            case ir.Lane(base=base, reverse=reverse):
                lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
                first = self._one(env, base, "the base of lane")
                return (first - lanes if reverse else first + lanes,)
            case ir.InSet(lanes=lanes_in):
                bits = int(self._one(env, lanes_in, "the set of in_set"))
                own = range(1) if env.positions is None else env.positions
                return (np.array([bits >> int(lane) & 1 for lane in own], bool),)
        return self._collective(env, op)

    # -- collectives ------------------------------------------------------------------------------

    def _collective(self, env: Env, op: Op) -> Values:
        match op:
            case ir.ReduceLanes(fn=fn, args=args):
                return self._reduce(env, fn, self._columns(env, args))
            case ir.ScanLanes(fn=fn, args=args, starts=starts):
                columns = self._columns(env, (*args, *starts))
                return self._scan(env, fn, columns[: len(args)], columns[len(args) :])
            case ir.ShiftLanes(fill=fill, args=args):
                first = [self._one(env, atom, "what fills lane 0") for atom in fill]
                return prepend(first, take(self._columns(env, args), slice(-1)))
            case ir.LastLane(args=args):
                return tuple(np.asarray(x[-1]) for x in self._columns(env, args))
            case ir.CountLanes(flag=flag):
                return (np.asarray(self._columns(env, (flag,))[0].sum(dtype=np.int64)),)
            case ir.SelectZero(mask=mask):
                bits = int(self._one(env, mask, "the mask of select_zero"))
                zeros = [place for place in range(64) if not bits >> place & 1] + [63] * 64
                return (np.asarray(zeros[: env.size or 1], np.int64),)
            case ir.Ballot(flag=flag):
                lanes = np.flatnonzero(self._columns(env, (flag,))[0])
                return (np.asarray(sum(1 << int(lane) for lane in lanes), np.uint64),)
        return self._memory(env, op)

    def _columns(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """One value for each lane of the warp, all of which must run."""
        if env.size != self.width:
            raise CompilerBug(f"{env.size} of {self.width} lanes run a collective.")
        return spread(self.atoms(env, atoms), env.size)

    def _apply(self, env: Env, fn: Lambda, args: Values) -> Values:
        size = len(args[0])
        outside = env
        while outside.size is not None and outside.outer is not None:
            outside = outside.outer
        return spread(self.pure(outside.batch(size), fn, args), size)

    def _reduce(self, env: Env, fn: Lambda, columns: Values) -> Values:
        """Neighbours combined until one value is left."""
        while len(columns[0]) > 1:
            even, odd = take(columns, slice(0, None, 2)), take(columns, slice(1, None, 2))
            columns = self._apply(env, fn, (*even, *odd))
        return tuple(np.asarray(column[0]) for column in columns)

    def _scan(self, env: Env, fn: Lambda, columns: Values, starts: Values) -> Values:
        """After the step with distance d, lane l holds the last 2d values that end at l.

        No step reaches back behind the last start at or below its lane.
        """
        lanes = np.arange(len(columns[0]))
        first = np.zeros_like(lanes)
        for flag in starts:
            first = np.maximum.accumulate(np.where(flag, lanes, 0))
        distance = 1
        while distance < len(lanes):
            alone = take(columns, slice(distance, None))
            both = self._apply(env, fn, (*take(columns, slice(-distance)), *alone))
            reaches = (lanes - distance >= first)[distance:]
            pairs = zip(both, alone, strict=True)
            rest = tuple(np.where(reaches, joined, own) for joined, own in pairs)
            columns = prepend(take(columns, slice(distance)), rest)
            distance *= 2
        return columns

    # -- memory -----------------------------------------------------------------------------------

    def _memory(self, env: Env, op: Op) -> Values:
        match op:
            case ir.Load(buffer=buffer, index=index):
                at = self.atom(env, index)
                values = self._buffer(env, buffer).load(at.reshape(-1), self.agent)
                return (values.reshape(at.shape),)
            case ir.LoadNear(buffer=buffer, base=base, offset=offset, span=span):
                at, last = self.atom(env, offset), int(self._one(env, span, "the span"))
                if ((at < 0) | (at > last)).any():
                    raise CompilerBug(f"a load {at} behind its base, at most {last} allowed.")
                at = at + self._one(env, base, "the base of load_near")
                values = self._buffer(env, buffer).load(at.reshape(-1), self.agent)
                return (values.reshape(at.shape),)
            case ir.Store(buffer=buffer, index=index, value=value, streaming=streaming):
                self._store(env, buffer, index, value, streaming)
            case ir.StoreCompact():
                self._compact(env, op)
            case ir.Atomic():
                return (self._atomic(env, op),)
            case ir.AtomicUpdate(fn=fn, buffer=buffer, index=index, values_=values):
                words = len(values)
                places = [(self._buffer(env, buffer), words, k) for k in range(words)]
                self._update(env, fn, places, index, values)
            case ir.LockedUpdate(fn=fn, buffers=buffers, index=index, values_=values):
                places = [(self._buffer(env, buffer), 1, 0) for buffer in buffers]
                self._update(env, fn, places, index, values)
            case ir.Release(buffer=buffer, index=index, value=value):
                at = self._one(env, index, "the index of release")
                new = self._one(env, value, "the value of release")
                self._buffer(env, buffer).release(int(at), new, self.agent)
                self.progress.events += 1
            case ir.Report():
                self._report(env, op)
            case _:
                raise CompilerBug(f"{op.name} cannot be simulated in a kernel.")
        return ()

    def _buffer(self, env: Env, var: Var) -> Buffer:
        buffer: object = env[var]
        assert isinstance(buffer, Buffer)
        return buffer

    def _store(self, env: Env, var: Var, index: Atom, value: Atom, streaming: bool) -> None:
        at, values = self.atom(env, index), self.atom(env, value)
        size = max(at.size, values.size)
        at, values = np.broadcast_to(at, size), np.broadcast_to(values, size)
        buffer = self._buffer(env, var)
        if streaming:
            step = min(64, size * values.itemsize)
            linear = (at == at[0] + np.arange(size)).all()
            if not linear or at[0] * values.itemsize % step:
                raise CompilerBug(f"a streaming store at {at}, which is not aligned and linear.")
        buffer.store(at, values, self.agent)

    def _compact(self, env: Env, op: ir.StoreCompact) -> None:
        base = int(self._one(env, op.base, "the base of store_compact"))
        limit = int(self._one(env, op.limit, "the limit of store_compact"))
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

    def _atomic(self, env: Env, op: ir.Atomic) -> Value:
        at, values = self._each(env, (op.index, op.value))
        before = np.empty(at.shape, values.dtype)
        buffer = self._buffer(env, op.buffer)
        for lane in np.ndindex(at.shape):
            place = buffer.atomic_place(int(at[lane]), self.agent)
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
                buffer.atomic_place(int(at[lane]) * words + k, self.agent)
                for buffer, words, k in places
            ]
            args = (*(x.copy() for x in found), *(np.asarray(x[lane]).reshape(1) for x in new))
            for place, result in zip(found, self._apply(env, fn, args), strict=True):
                place[0] = result[0]
        self.progress.events += 1

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
