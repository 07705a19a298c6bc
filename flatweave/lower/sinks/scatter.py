"""Elements written to computed places by threads that may collide: the last one wins.

Where blocks divide the destination instead, `lower/scatter/` has the launches.
"""

from __future__ import annotations

from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.lower.update.arrays import Claims
from flatweave.lower.update.atomic import claim_element, make_claims, write_winners
from flatweave.terms.build import index


class ScatterSink(LoweredSink):
    """Each place is claimed by the element that comes last in the order of the sweep."""

    claims: Claims

    def allocate(self, sweep: HostSweep) -> None:
        self.claims = make_claims(sweep.lowering, sweep.let, self.sink, self.taken, sweep.total)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        inside, order = step.inside, step.position.flat
        if writer.op.reverse:
            order = inside.sub(inside.sub(writer.total, index(1)), order)
        values = step.elements.atoms(self.taken)
        claim_element(inside, writer.kernel, self.claims, values, order)
        return state

    def bind(self, sweep: HostSweep) -> None:
        write_winners(sweep.lowering, sweep.let, self.claims)
        scope = sweep.lowering.scope
        for var, buffer, array in zip(self.vars, self.claims.dest, self.sink.dest, strict=True):
            scope.bind(var, HostArray(buffer, scope.array(array).shape))
