"""Elements combined into computed places by threads that may collide: by one of `update/`."""

from __future__ import annotations

from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.lower.update.arrays import Merged
from flatweave.lower.update.atomic import merge_element
from flatweave.lower.update.choose import merged


class ScatterReduceSink(LoweredSink):
    """In any order, so that the operator must commute."""

    merged: Merged

    def allocate(self, sweep: HostSweep) -> None:
        way = sweep.plan.scatter[0].name
        self.merged = merged(sweep.lowering, sweep.let, self.sink, way)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        values = step.elements.atoms(self.taken)
        merge_element(step.inside, step.elements, self.merged, values)
        return state

    def bind(self, sweep: HostSweep) -> None:
        self.merged.finish(sweep.lowering, sweep.let)
        scope = sweep.lowering.scope
        for var, buffer, array in zip(self.vars, self.merged.dest, self.sink.dest, strict=True):
            scope.bind(var, HostArray(buffer, scope.array(array).shape))
