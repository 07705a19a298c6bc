"""Segments combined in one pass: each warp closes those whose end it meets.

    a a a b b b b b | b b b b b b b b | b b c c d d d d      the shares of three warps
          ^ a                               ^ b ^ c          a head closes what was open before it
                  b                 b               d        carry-outs: what is open at the end

The warp that meets the next head stores a closed segment. The segment's elements in earlier shares
are joined to it afterwards. So no warp waits for another, all warps share a long segment, and
nothing depends on timing.

In a step that meets no head all lanes are combined into the open value: long segments run at the
speed of memory. Otherwise the lanes are scanned, restarting at each head, and a head stores the
value of the lane before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from flatweave.algorithms import block_scans
from flatweave.algorithms.operator import segmented, select
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import WARP, Pull, Values, for_all, read, store_each
from flatweave.kernel_ir.host import Role, Trim, free
from flatweave.kernel_ir.syntax import Lane, Load, Store, StoreCompact
from flatweave.kernel_ir.warp_ops import (
    Ballot,
    CountLanes,
    LastLane,
    ReduceLanes,
    ScanLanes,
    ShiftLanes,
)
from flatweave.lower.context import Lowering
from flatweave.lower.element_functions import Elements, operator_in
from flatweave.lower.kernel_builder import HostArray, KernelBuilder
from flatweave.lower.schedule.steps import Tail
from flatweave.lower.sweep.scans import closes
from flatweave.lower.sweep.writer import HostSweep, KernelWriter, LoweredSink, Share, SinkStep
from flatweave.lower.traverse.steps import Position, State, while_active
from flatweave.ops import CombineRows, CombineSegments
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import carried_by, cast_each
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant

# -- The carry-outs that warps leave of segments, joined in order by one block: a segmented scan ---
#
#     share          0     1     2     3          of the grid's warps, in order
#     first, last    0 2   2 2   2 2   2 5        the segments open at its two ends
#     carry-out      c     c'    c''   f          the value of the last one, as far as it lies there
#
#     results[2] = ((c fn c') fn c'') fn results[2]              results[5] = f
#
# The segment open before a share that closes any was stored without its elements before the share.
# The order is that of the shares, which only sizes determine.


@record
class Segmented:
    """The results of segments; for each of `slots` warps those open at both ends, its carry-out."""

    results: tuple[Var, ...]
    firsts: Var
    lasts: Var
    carry_outs: tuple[Var, ...]
    slots: Atom


def segmented_buffers(
    lowering: Lowering, sink: CombineSegments | CombineRows, room: Atom, blocks: Atom
) -> Segmented:
    """Buffers for up to `room` results, and for the carry-outs of the warps of `blocks` blocks."""
    slots = lowering.host.mul(blocks, index(lowering.machine.warps))
    results = tuple(lowering.alloc_like(atom, room) for atom in sink.neutral)
    firsts, lasts = (lowering.alloc(i64, slots) for _ in range(2))
    carry_outs = tuple(
        lowering.alloc(type_, slots, "buffer")
        for type_ in carried_by(sink.fn).result_types() if isinstance(type_, DType)
    )  # fmt: skip
    return Segmented(results, firsts, lasts, carry_outs, slots)


def join_carry_outs(
    lowering: Lowering, let: Let, sink: CombineSegments | CombineRows, left: Segmented, total: Atom
) -> None:
    """Launch what completes the results of a sweep over `total` elements."""
    kernel = lowering.kernel(let, "_carry_outs")
    _write_carry_outs(lowering, kernel, sink, left)
    lowering.launch(kernel, lowering.host.apply("minimum", total, index(1)), Role.CARRY_OUT)
    free(lowering.host, left.firsts, left.lasts, *left.carry_outs)


def _write_carry_outs(
    lowering: Lowering, kernel: KernelBuilder, sink: CombineSegments | CombineRows, left: Segmented
) -> None:
    """The kernel: a scan that restarts at each share that closes a segment."""
    b, machine = kernel.body, lowering.machine
    count = kernel.capture(left.slots)
    fn, own = carried_by(sink.fn), sink.fn.result_types()
    operator = operator_in(kernel, fn, sink.neutral, lowering.checks)
    neutral = cast_each(kernel.body, operator.neutral, fn.result_types())
    operator = replace(operator, neutral=neutral)
    results = [kernel.buffer(buffer) for buffer in left.results]
    open_at = read([kernel.buffer(left.firsts), kernel.buffer(left.lasts)], count)
    values = read([kernel.buffer(buffer) for buffer in left.carry_outs], count)
    stored, size = read(results, count), len(operator.neutral)

    def element(c: Builder, share: Atom) -> Values:
        """Whether a share closes a segment, and its carry-out; then the first that it closes."""
        closes = c.apply("ne", *open_at.at(c, share))
        return (closes, *values.at(c, share), closes, open_at.at(c, share)[0])

    def piece(c: Builder, closed: Values) -> Values:
        """The segment that a share closed first, as far as the share has it."""
        closes, place = closed
        zeros = tuple(constant(0, dtype_in(buffer)) for buffer in results)
        return (*closed, *c.choose(closes, lambda d: stored.at(d, place), lambda d: zeros))

    def complete(c: Builder, _: Atom, found: Values) -> None:
        """Join the segment that a share closed first with its elements before the share."""
        before, (closes, place, *pieces) = found[1 : size + 1], found[size + 1 :]

        with c.when(closes) as d:
            whole = operator.combine(d, before, cast_each(d, pieces, fn.result_types()))
            store_each(d, results, place, cast_each(d, whole, own))

    dtypes = [i64, *(dtype_in(buffer) for buffer in (*left.carry_outs, *results))]
    warps = machine.warps_in_runs(machine.fixed_width or 1, dtypes)
    all_shares = block_scans.scan_by_warps(
        b, segmented(operator), Pull(count, element), warps, complete, exclusive=True, also=piece
    )
    place = open_at.at(b, b.sub(count, index(1)))[1]
    last = all_shares.at(b, index(0))
    for_all(b, WARP, 1, lambda c, _: store_each(c, results, place, cast_each(c, last[1:], own)))


@record
class Step:
    """One step of the walk: which elements close a segment and how many do.

    `number` is the index of the segment open before the step.
    """

    elements: Elements
    position: Position
    close: Atom
    count: Atom
    number: Atom


class Places(Protocol):
    """The indices of the results of segments; it may keep values in the state of the walk."""

    def enter(self) -> State:
        """The carried state at the beginning of the warp's share."""

    def number(self, kept: State, carries: State) -> Atom:
        """The index of the open segment."""

    def store(
        self, b: Builder, step: Step, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        """Store the segments that a step closes; each is in the lane of the start after it."""

    def behind(self, b: Builder, step: Step, *, busy: bool) -> State:
        """The carried state after a step; a `busy` step may have met starts."""

    def leave(
        self, b: Builder, results: Sequence[Var], kept: State, carries: State
    ) -> Atom:
        """The index of the segment open at the end of the share; moves results to their indices."""


@record
class Consecutive:
    """Consecutive indices: carry `slot` counts them, this warp's are those below `end`."""

    slot: int
    end: Atom

    def enter(self) -> State:
        return ()

    def number(self, kept: State, carries: State) -> Atom:
        return carries[self.slot]

    def store(
        self, b: Builder, step: Step, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        b.emit(StoreCompact(tuple(results), step.number, self.end, step.close, tuple(values)))

    def behind(self, b: Builder, step: Step, *, busy: bool) -> State:
        return ()

    def leave(
        self, b: Builder, results: Sequence[Var], kept: State, carries: State
    ) -> Atom:
        return self.number(kept, carries)


class SegmentWriter:
    """Writes one sink that combines segments; its state is the value of the open one."""

    def __init__(
        self, lowering: Lowering, kernel: KernelBuilder, sink: CombineSegments | CombineRows,
        taken: Sequence[Atom], buffers: Segmented, places: Places,
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.kernel = kernel
        self.fn = sink.fn
        self.start, *self.values = taken[-1 - len(sink.neutral) :]
        self.neutral = tuple(kernel.scalar(atom) for atom in sink.neutral)
        self.carried = carried_by(sink.fn)
        self.open = cast_each(kernel.body, self.neutral, self.carried.result_types())
        self.buffers = buffers
        self.results = tuple(kernel.buffer(buffer) for buffer in buffers.results)
        self.places = places

    @property
    def size(self) -> int:
        """How many values its state has."""
        return len(self.enter())

    def enter(self) -> State:
        """The state at the beginning of the warp's share."""
        return (*self.open, *self.places.enter())

    def step(
        self, b: Builder, elements: Elements, position: Position, close: Atom, state: State,
        carries: State,
    ) -> State:  # fmt: skip
        """Store what one step closes and return the state after it."""
        open_, kept = state[: len(self.neutral)], state[len(self.neutral) :]
        values = while_active(b, elements.atoms(self.values), self.neutral, position)
        count = b.emit(CountLanes(close))[0] if position.width > 1 else b.cast(close, i64)
        step = Step(elements, position, close, count, self.places.number(kept, carries))
        if position.width == 1:
            return self._one(b, step, values, open_)
        return self._many(b, step, values, open_)

    def _many(self, b: Builder, step: Step, values: State, open_: State) -> State:
        """A step of several elements: one way where some close a segment, another where none do."""
        busy = b.apply("ne", step.count, index(0))

        def met(c: Builder) -> State:
            last = self._scan(c, step, values, open_)
            return (*last, *self.places.behind(c, step, busy=True))

        def none_met(c: Builder) -> State:
            whole = c.emit(ReduceLanes(self._function(c), values))
            return (*self._on(c, open_, whole), *self.places.behind(c, step, busy=False))

        return b.choose(busy, met, none_met)

    def _one(self, b: Builder, step: Step, values: State, open_: State) -> State:
        """A step of one element."""
        with b.when(step.close) as inside:
            store_each(inside, self.results, step.number, self._element(inside, open_))
        on = select(b, step.close, self._carry(b, values), self._on(b, open_, values))
        return (*on, *self.places.behind(b, step, busy=True))

    def _scan(self, b: Builder, step: Step, values: State, open_: State) -> State:
        """Store what the starts of a step close; the last lane's segment as it is carried.

        The open value is joined at the first start only, so no step waits for the previous one.
        """
        scanned = b.emit(ScanLanes(self._function(b), self.neutral, values, (step.close,)))
        closed: State = b.emit(ShiftLanes(self.neutral, scanned))
        self._store(b, step, open_, closed)
        return self._carry(b, b.emit(LastLane(scanned)))

    def _store(self, b: Builder, step: Step, open_: State, closed: State) -> None:
        """Store closed segments; join the first in memory, as one element costs less than all."""
        self.places.store(b, step, self.results, closed)
        pieces = [b.emit(Load(buffer, step.number))[0] for buffer in self.results]
        whole = self._element(b, self._on(b, open_, pieces))
        store_each(b, self.results, step.number, whole)

    def leave(
        self, b: Builder, slot: Atom, before: State, state: State, carries: State
    ) -> None:
        """Leave which segments are open at both ends of the share, and the value of the last.

        The carries are those `before` the share and after it.
        """
        open_, kept = state[: len(self.neutral)], state[len(self.neutral) :]
        first = self.places.number(self.places.enter(), before)
        left, last = self.buffers, self.places.leave(b, self.results, kept, carries)
        pairs = zip((left.firsts, left.lasts, *left.carry_outs), (first, last, *open_), strict=True)
        for buffer, value in pairs:
            b.emit(Store(self.kernel.buffer(buffer), slot, value))

    def _on(self, b: Builder, open_: State, values: Sequence[Atom]) -> State:
        """The open value, and the values that continue it."""
        return self._elements().call(b, self.carried, (*open_, *self._carry(b, values)))

    def _carry(self, b: Builder, values: Sequence[Atom]) -> State:
        return cast_each(b, values, self.carried.result_types())

    def _element(self, b: Builder, carried: State) -> State:
        return cast_each(b, carried, self.fn.result_types())

    def _function(self, b: Builder) -> Lambda:
        return self._elements().function(b, self.fn)

    def _elements(self) -> Elements:
        return Elements(self.kernel, index(0), self.lowering.checks)


class LockstepSegmentWriter(SegmentWriter):
    """The same where all warps of a block take the same branch, each lane a thread."""

    def _many(self, b: Builder, step: Step, values: State, open_: State) -> State:
        busy = b.apply("ne", step.count, index(0))
        last = self._scan(b, step, values, open_)
        on = select(b, busy, last, self._on(b, open_, last))
        return (*on, *self.places.behind(b, step, busy=True))

    def _store(self, b: Builder, step: Step, open_: State, closed: State) -> None:
        """The open value joins the first that is closed in its lane."""
        first = b.cast(b.apply("ctz", b.emit(Ballot(step.close))[0]), i64)
        is_first = b.apply("eq", b.emit(Lane(index(0)))[0], first)
        joined = self._element(b, self._on(b, open_, closed))
        closed = select(b, is_first, joined, closed)
        self.places.store(b, step, self.results, closed)


# -- Segments that flags say, combined: each result at the number of its segment -------------------


class SegmentSink(LoweredSink):
    """The common part of sinks that combine segments; `places` gives the indices of results."""

    carries: ClassVar[bool] = True
    segmented: Segmented
    writer: SegmentWriter

    def places(self, writer: KernelWriter, share: Share) -> Places:
        """The indices of the results of a warp's share."""
        raise NotImplementedError

    def enter(self, writer: KernelWriter, share: Share) -> State:
        places = self.places(writer, share)
        lockstep = writer.version.lanes.tail is Tail.PREDICATE
        kind = LockstepSegmentWriter if lockstep else SegmentWriter
        self.writer = kind(
            writer.lowering, writer.kernel, self.sink, self.taken, self.segmented, places
        )
        return self.writer.enter()

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        b, elements, position = step.b, step.elements, step.position
        close = closes(b, elements.atom(self.writer.start), position)
        return self.writer.step(b, elements, position, close, state, step.carries)

    def leave(
        self, writer: KernelWriter, slot: Atom, before: State, state: State, carries: State
    ) -> None:
        self.writer.leave(writer.b, slot, before, state, carries)

    def finish(self, sweep: HostSweep) -> None:
        join_carry_outs(sweep.lowering, sweep.let, self.sink, self.segmented, sweep.total)


class CombineSegmentsSink(SegmentSink):
    """A scan counts the closed segments, which gives each its index."""

    def allocate(self, sweep: HostSweep) -> None:
        self.segmented = segmented_buffers(sweep.lowering, self.sink, sweep.total, sweep.blocks)

    def places(self, writer: KernelWriter, share: Share) -> Places:
        slot = writer.scans.slot_of_count(self.number)
        return Consecutive(slot, writer.ends[slot])

    def bind(self, sweep: HostSweep) -> None:
        host, scope = sweep.lowering.host, sweep.lowering.scope
        closed = sweep.counted(self.number)
        kept = host.add(closed, host.apply("minimum", sweep.total, index(1)))  # the last is open
        scope.bind(self.vars[0], kept)
        for var, buffer in zip(self.vars[1:], self.segmented.results, strict=True):
            host.emit(Trim(buffer, kept))
            scope.bind(var, HostArray(buffer, (kept,)))
