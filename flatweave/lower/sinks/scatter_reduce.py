"""Elements combined into computed places by threads that may collide: by one of `update/`."""

from __future__ import annotations

from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.lower.update.arrays import Updates
from flatweave.lower.update.atomic import scatter_reduce_element
from flatweave.lower.update.choose import choose_updates


class ScatterReduceSink(LoweredSink):
    """In any order, so that the operator must commute."""

    updates: Updates

    def allocate(self, sweep: HostSweep) -> None:
        way = sweep.plan.scatter[0].name
        self.updates = choose_updates(sweep.lowering, sweep.let, self.sink, way)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        values = step.elements.atoms(self.taken)
        scatter_reduce_element(step.inside, step.elements, self.updates, values)
        return state

    def bind(self, sweep: HostSweep) -> None:
        self.updates.finish(sweep.lowering, sweep.let)
        scope = sweep.lowering.scope
        for var, buffer, array in zip(self.vars, self.updates.dest, self.sink.dest, strict=True):
            scope.bind(var, HostArray(buffer, scope.array(array).shape))
