"""The array of all results: each element at its own position."""

from __future__ import annotations

from flatweave.kernel_ir.syntax import Store
from flatweave.lower.host.given import room_in
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.terms.syntax import Var


class StoreSink(LoweredSink):
    """Stores around the caches where the variant streams, in whole steps that are aligned."""

    buffer: Var
    is_given = False

    def allocate(self, sweep: HostSweep) -> None:
        given = room_in(
            sweep.lowering, sweep.let, sweep.facts, sweep.plan, self.vars[0], sweep.total
        )
        self.is_given = given is not None
        self.buffer = given or sweep.lowering.alloc_like(self.vars[0], sweep.total)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        position, (value,) = step.position, step.elements.atoms(self.taken)
        aligned = position.aligned and not self.is_given  # which may begin anywhere
        streaming = writer.streaming and position.width > 1 and aligned
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(Store(buffer, position.flat, value, streaming))
        return state

    def bind(self, sweep: HostSweep) -> None:
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, sweep.shape))
