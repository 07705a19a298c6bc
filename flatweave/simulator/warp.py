"""One warp of a block in the simulator: its lanes in lock step, its share of what is for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir import warp_ops as c
from flatweave.kernel_ir.hierarchy import (
    LEVELS,
    WARP,
    ForAll,
    Local,
    TryOperator,
    TryOverBlocks,
    WarpShared,
)
from flatweave.kernel_ir.memory_ops import (
    AcquireLanes,
    Atomic,
    AtomicUpdate,
    LoadWhole,
    LockedUpdate,
    StoreWhole,
    ThreadMemory,
)
from flatweave.kernel_ir.warp_ops import ShuffleLanes
from flatweave.simulator.control import Event, Steps, Updater
from flatweave.simulator.memory import Buffer, Misuse, Private, is_same
from flatweave.simulator.order import Agent
from flatweave.simulator.schedules import TOGETHER, Progress
from flatweave.terms.batch import Env, Value, Values, prepend, spread, take
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var


class Warp(Updater):
    """Runs a kernel's body for one warp, the one with this number in its block."""

    def __init__(self, agent: Agent, progress: Progress, number: int) -> None:
        super().__init__(agent, progress)
        self.number = number

    def call(self, env: Env, fn: Lambda, args: Sequence[Value]) -> Steps:
        self.progress.counts.lets(len(fn.lets))
        return super().call(env, fn, args)

    def other(self, env: Env, let: Let, op: Op) -> Steps:
        self.agent.let = let
        match op:
            case TryOperator() | TryOverBlocks():
                self.progress.counts.operator(self, env, let, op)
                return ()
            case ir.Sync(level=level):
                if LEVELS[level] is WARP:
                    self.agent.warp_times.epoch += 1
                    self.progress.counts.barrier(of_warp=True, block=self.agent.block)
                    yield Event.LOOK
                else:
                    yield Event.SYNC
                return ()
            case ir.Acquire(buffer=buffer, index=index):
                yield Event.LOOK
                at = self.one(env, index, "the index of acquire")
                return (self._buffer(env, buffer).acquire(int(at), self.agent),)
            case AcquireLanes(buffer=buffer, index=index):
                (at,) = self.columns(env, (index,))
                return (yield from self._acquire_lanes(self._buffer(env, buffer), at))
            case LoadWhole(buffer=buffer, index=index, count=count):
                return (yield from self._load_whole(env, buffer, index, count))
            case StoreWhole() if env.size is not None:
                return (yield from self._store_whole(env, op))
            case ir.Backoff():
                yield Event.WAIT
                return ()
            case ir.Lanes(width=width, body=body):
                return (yield from self._lanes(env, width, body))
            case ForAll(level=level):
                if LEVELS[level] is WARP:
                    return (yield from self._warps(env, op))
                return (yield from self._threads(env, op))
            case ir.Call(fn=fn, args=args):
                return (yield from self.call(env, fn, self.atoms(env, args)))
            case ThreadMemory(dtype=dtype, count=count, width=width):
                return (Private.fresh(let.vars[0].name, dtype, count, width),)  # type: ignore[return-value]
            case ir.Shared() | WarpShared() | Local():
                return (self._memory_of(env, let, op),)  # type: ignore[return-value]
            case Atomic():
                return (yield from self._atomic(env, op))
            case AtomicUpdate():
                return (yield from self._update(env, op))
            case LockedUpdate():
                return (yield from self._locked(env, op))
        return self._position(env, op)

    def _load_whole(self, env: Env, var: Var, index: Atom, count: int) -> Steps:
        """Words of one index, or of one for each lane: two halves of the lanes load separately."""
        buffer = self._buffer(env, var)
        if env.size is None:
            yield Event.LOOK
            at = self.one(env, index, "the index of load_whole")
            return tuple(buffer.load_whole(int(at) * count, count, self.agent))
        found: list[list[Value]] = []
        for half in np.array_split(spread((self.atom(env, index),), env.size)[0], 2):
            yield Event.LOOK
            found += [buffer.load_whole(int(at) * count, count, self.agent) for at in half]
        return tuple(np.asarray(found).T)

    def _store_whole(self, env: Env, op: StoreWhole) -> Steps:
        """Words of an index for each lane: two halves of the lanes store separately."""
        buffer, count = self._buffer(env, op.buffer), len(op.values_)
        places, *words = self.columns(env, (op.index, *op.values_))
        if np.unique(places).size < places.size and self._differ((places, *words)):
            raise Misuse(f"lanes store whole words at {places}, of which some are the same.")
        for half in np.array_split(np.arange(places.size), 2):
            yield Event.LOOK
            for lane in half:
                values = [word[lane] for word in words]
                buffer.store_whole(int(places[lane]) * count, values, self.agent)
        self.progress.events += 1
        return ()

    def _differ(self, columns: Values) -> bool:
        """Whether lanes have other values."""
        return any(not is_same(column, column[:1]).all() for column in columns)

    def _acquire_lanes(self, buffer: Buffer, at: Value) -> Steps:
        """Not all at one time: what happens between two halves, only one of them sees."""
        found: list[Value] = []
        for half in np.array_split(at, 2):
            yield Event.LOOK
            found += [buffer.acquire(int(place), self.agent) for place in half]
        return (np.asarray(found),)

    # -- units ------------------------------------------------------------------------------------

    def _warps(self, env: Env, op: ForAll) -> Steps:
        """This warp's share of warps, in order."""
        around = self.agent
        count = int(self.one(env, op.count, "the count"))
        share = np.arange(self.number, count, around.warps)
        for unit in np.concatenate([share[:0], *self.progress.schedule.units(share)]):
            self.agent = around.unit(int(self.progress.numbers(1)[0]), int(unit))
            yield from self.call(env, op.body, (np.asarray(unit),))
        self.agent = around
        return ()

    def _threads(self, env: Env, op: ForAll) -> Steps:
        """This warp's share of threads, in an order that nobody may count on."""
        if env.size is not None:
            raise CompilerBug("a for_all inside lanes.")
        around = self.agent
        units = np.arange(int(self.one(env, op.count, "the count")))
        of_warp = around.alone
        if not of_warp:
            units = units[units // TOGETHER % around.warps == self.number]
        self._count_threads(units.size, of_warp)
        for group in self.progress.schedule.units(units):
            if group.size:
                self.agent = around.threads(self.progress.numbers(group.size), group, of_warp)
                yield from self.call(env.batch(group.size), op.body, (group,))
        self.agent = around
        return ()

    def _count_threads(self, many: int, of_warp: bool) -> None:
        """These threads work at once."""
        warp = self.agent.unit_of_warps if of_warp else self.number
        self.progress.counts.threads(self.agent.block, warp, many)

    def _memory_of(
        self, env: Env, let: Let, op: ir.Shared | WarpShared | Local
    ) -> Buffer | Private:
        """What nobody has written; that of a block is the same for all its warps."""
        name, dtype, count = let.vars[0].name, op.dtype, op.count
        if isinstance(op, Local):
            return Private.fresh(name, dtype, count, self._lanes_around(env))
        made = Buffer.fresh(name, dtype, count, "shared", let.where)
        if isinstance(op, WarpShared):
            return made
        return self.progress.shared.setdefault((self.agent.block, let.vars[0]), made)

    def _lanes_around(self, env: Env) -> int:
        """How many lanes or threads there are, running or not."""
        return 1 if env.positions is None else int(env.positions.max()) + 1

    # -- lanes ------------------------------------------------------------------------------------

    def _lanes(self, env: Env, width: int, body: Lambda) -> Steps:
        if env.size is not None:
            raise CompilerBug("lanes inside lanes.")
        self.width = width
        self._count_threads(width, of_warp=False)
        results = yield from self.call(env.batch(width), body, ())
        self.width = 1
        return tuple(self._uniform(result, "a result of lanes") for result in results)

    def _position(self, env: Env, op: Op) -> Values:
        match op:
            case ir.BlockIndex():
                return (np.asarray(self.agent.block),)
            case ir.WarpIndex():
                return (np.asarray(self.number),)
            case ir.Lane(base=base, reverse=reverse):
                lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
                first = self.one(env, base, "the base of lane")
                return (first - lanes if reverse else first + lanes,)
            case c.InSet(lanes=lanes_in):
                bits = int(self.one(env, lanes_in, "the set of in_set"))
                own = range(1) if env.positions is None else env.positions
                return (np.array([bits >> int(lane) & 1 for lane in own], bool),)
        return self._collective(env, op)

    # -- collectives ------------------------------------------------------------------------------

    def _collective(self, env: Env, op: Op) -> Values:
        self._count_shuffles(op)
        match op:
            case c.ReduceLanes(fn=fn, args=args):
                return self._reduce(env, fn, self.columns(env, args))
            case c.ScanLanes(fn=fn, args=args, starts=starts):
                columns = self.columns(env, (*args, *starts))
                return self._scan(env, fn, columns[: len(args)], columns[len(args) :])
            case c.ShiftLanes(fill=fill, args=args):
                first = [self.one(env, atom, "what fills lane 0") for atom in fill]
                return prepend(first, take(self.columns(env, args), slice(-1)))
            case c.LastLane(args=args):
                return tuple(np.asarray(x[-1]) for x in self.columns(env, args))
            case c.CountLanes(flag=flag):
                return (np.asarray(self.columns(env, (flag,))[0].sum(dtype=np.int64)),)
            case c.SelectZero(mask=mask):
                bits = int(self.one(env, mask, "the mask of select_zero"))
                zeros = [place for place in range(64) if not bits >> place & 1] + [63] * 64
                return (np.asarray(zeros[: env.size or 1], np.int64),)
            case c.Ballot(flag=flag):
                lanes = np.flatnonzero(self.columns(env, (flag,))[0])
                return (np.asarray(sum(1 << int(lane) for lane in lanes), np.uint64),)
        return self._memory(env, op)

    def _count_shuffles(self, op: Op) -> None:
        """The exchanges of lanes that a collective takes; a result for all is one more."""
        steps = (self.width - 1).bit_length()
        match op:
            case c.ReduceLanes(args=args):
                self.progress.counts.shuffle((steps + 1) * len(args))
            case c.ScanLanes(args=args):
                self.progress.counts.shuffle(steps * len(args))
            case c.ShiftLanes(args=args) | c.LastLane(args=args) | ShuffleLanes(args=args):
                self.progress.counts.shuffle(len(args))

    def _reduce(self, env: Env, fn: Lambda, columns: Values) -> Values:
        """Neighbours combined until one value is left."""
        while len(columns[0]) > 1:
            even, odd = take(columns, slice(0, None, 2)), take(columns, slice(1, None, 2))
            columns = self.apply(env, fn, (*even, *odd))
        return tuple(np.asarray(column[0]) for column in columns)

    def _scan(self, env: Env, fn: Lambda, columns: Values, starts: Values) -> Values:
        """After the step with distance d, lane l holds the last 2d values that end at l.

        No step reaches back beyond the last start at or below its lane.
        """
        lanes = np.arange(len(columns[0]))
        first = np.zeros_like(lanes)
        for flag in starts:
            first = np.maximum.accumulate(np.where(flag, lanes, 0))
        distance = 1
        while distance < len(lanes):
            alone = take(columns, slice(distance, None))
            both = self.apply(env, fn, (*take(columns, slice(-distance)), *alone))
            reaches = (lanes - distance >= first)[distance:]
            pairs = zip(both, alone, strict=True)
            rest = tuple(np.where(reaches, joined, own) for joined, own in pairs)
            columns = prepend(take(columns, slice(distance)), rest)
            distance *= 2
        return columns
