"""Segments that flags say, combined: each result at the number of its segment."""

from __future__ import annotations

from typing import ClassVar

from flatweave.kernel_ir.host import Trim
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sinks.carry_out import Segmented, join_carry_outs, segmented_buffers
from flatweave.lower.sinks.segments import (
    Consecutive,
    LockstepSegmentWriter,
    Places,
    SegmentWriter,
    closing,
)
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, Share, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.nest.schedule import Tail
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


class SegmentSink(LoweredSink):
    """What sinks that combine segments have in common; `places` says where results go."""

    carries: ClassVar[bool] = True
    segmented: Segmented
    writer: SegmentWriter

    def places(self, writer: KernelWriter, share: Share) -> Places:
        """Where the results of a warp's share go."""
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
        close = closing(writer, b, elements, position, self.writer.start)
        return self.writer.step(b, elements, position, close, state, step.carries)

    def leave(
        self, writer: KernelWriter, slot: Atom, before: State, state: State, carries: State
    ) -> None:
        self.writer.leave(writer.b, slot, before, state, carries)

    def finish(self, sweep: HostSweep) -> None:
        join_carry_outs(sweep.lowering, sweep.let, self.sink, self.segmented, sweep.total)


class CombineSegmentsSink(SegmentSink):
    """A scan counts the segments that are closed, so each knows its place."""

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
