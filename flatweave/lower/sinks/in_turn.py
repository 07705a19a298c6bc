"""The results of each element side by side: weave."""

from __future__ import annotations

from flatweave.kernel_ir.memory_ops import StoreInTurn
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.terms.build import index
from flatweave.terms.syntax import Var


class InTurnSink(LoweredSink):
    """The buffer has room for all results, also where the array that is bound to it has fewer."""

    buffer: Var

    def allocate(self, sweep: HostSweep) -> None:
        room = sweep.lowering.host.mul(sweep.total, index(self.sink.count))
        self.buffer = sweep.lowering.alloc_like(self.vars[0], room)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        position, values = step.position, step.elements.atoms(self.taken)
        streaming = writer.streaming and position.width > 1 and position.aligned
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(StoreInTurn(buffer, position.flat, tuple(values), streaming))
        return state

    def bind(self, sweep: HostSweep) -> None:
        shape = tuple(sweep.lowering.scope.scalar(extent) for extent in self.sink.shape)
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, shape))
