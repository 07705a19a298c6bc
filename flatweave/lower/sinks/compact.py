"""The elements whose flag holds, side by side: a scan counts them, so each knows its place."""

from __future__ import annotations

from flatweave.kernel_ir.host import Trim
from flatweave.kernel_ir.syntax import Store, StoreCompact
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State, while_active
from flatweave.terms.build import FALSE, index
from flatweave.terms.control import NO_BODY, If


class CompactSink(LoweredSink):
    """Into the result, or into scratch memory on its way there."""

    def allocate(self, sweep: HostSweep) -> None:
        self.compacted = tuple(sweep.lowering.alloc_like(var, sweep.total) for var in self.vars[1:])

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        b, slot = step.b, writer.scans.slot_of_count(self.number)
        place, limit = step.carries[slot], writer.ends[slot]
        flag, *values = step.elements.atoms(self.taken)
        keep = while_active(b, (flag,), (FALSE,), step.position)[0]
        if writer.scratch is not None:
            buffers = writer.scratch.buffers[self.number]
            place = b.sub(place, writer.scratch.bases[self.number])
            limit = index(writer.scratch.room)
        else:
            buffers = tuple(writer.kernel.buffer(buffer) for buffer in self.compacted)
        if step.position.width > 1:
            b.emit(StoreCompact(buffers, place, limit, keep, tuple(values)))
            return state
        inside = b.inner()
        for buffer, value in zip(buffers, values, strict=True):
            inside.emit(Store(buffer, place, value))
        b.emit(If(keep, inside.close([], []), NO_BODY))
        return state

    def bind(self, sweep: HostSweep) -> None:
        scope, kept = sweep.lowering.scope, sweep.counted(self.number)
        scope.bind(self.vars[0], kept)
        for var, buffer in zip(self.vars[1:], self.compacted, strict=True):
            sweep.lowering.host.emit(Trim(buffer, kept))
            scope.bind(var, HostArray(buffer, (kept,)))
