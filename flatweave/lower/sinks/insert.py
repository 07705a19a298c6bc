"""Elements written into an array that is there, one after the other from an offset: concat."""

from __future__ import annotations

from flatweave.kernel_ir.syntax import Store
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.terms.syntax import Atom, Var


class InsertSink(LoweredSink):
    """Writes into the array itself where nobody else needs it."""

    buffer: Var
    offset: Atom

    def allocate(self, sweep: HostSweep) -> None:
        self.buffer = sweep.lowering.own(self.sink.dest, sweep.let)
        self.offset = sweep.lowering.scope.scalar(self.sink.offset)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        place = step.inside.add(writer.kernel.capture(self.offset), step.position.flat)
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(Store(buffer, place, step.elements.atoms(self.taken)[0]))
        return state

    def bind(self, sweep: HostSweep) -> None:
        shape = sweep.lowering.scope.array(self.sink.dest).shape
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, shape))
