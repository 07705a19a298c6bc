"""Sweeps that write to computed indices, scatter, permute, reduce_by_index: which variant divides.

    owner       a block owns a part of the destination and looks at all elements
    private     a block combines its elements into a copy of its own; for small destinations
    partition   elements are sorted by tile of the destination first; for large ones
    strided     rows write in even steps: a block finds those of its tile
    atomic, cas, locks    as the sweep feeds its sinks; `update/`; where they are forced

Owner, partition and strided keep the order of the sweep at every place, so that all three leave the
same bits; how many copies there are depends on sizes, or the operator is exact in any grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.scatter.costs import Costs, is_large
from flatweave.lower.scatter.owner import Owner
from flatweave.lower.scatter.partition import Partition
from flatweave.lower.scatter.private import Private
from flatweave.lower.scatter.sample import UNKNOWN, WHOLE, sampled
from flatweave.lower.scatter.scattering import NO, YES, Scattering
from flatweave.lower.scatter.strided import Strided
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import ScatterVariant, SweepPlan, When
from flatweave.lower.schedule.scatter_variants import can_fail, neutral_of
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Let

LaunchIn = Callable[[Builder], None]
ConditionIn = Callable[[Builder], Atom]


def lower_scatter(lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan) -> None:
    """Emit the launches of a sweep that writes to computed places, and bind its results."""
    scattering = Scattering(lowering, let, facts, plan)
    _Divided(scattering).launch(plan.scatter)
    for var, buffer, array in zip(let.vars, scattering.dest, scattering.sink.dest, strict=True):
        lowering.scope.bind(var, HostArray(buffer, lowering.scope.array(array).shape))


class _Divided:
    """The ways that divide one scattering sweep among blocks."""

    def __init__(self, scattering: Scattering) -> None:
        self.scattering = scattering
        self.lowering = scattering.lowering

    def launch(self, ways: Sequence[ScatterVariant]) -> None:
        """The first whose condition holds."""
        *others, last = ways
        _one_of(self.lowering.host, [self._option(way) for way in others], self._way(last).launch)

    def _option(self, way: ScatterVariant) -> tuple[ConditionIn, LaunchIn]:
        made = self._way(way)
        return lambda host: self._holds(host, way, made), made.launch

    def _way(self, way: ScatterVariant) -> Owner | Private | Partition | Strided:
        named = "" if way.when is When.ALWAYS else f"_{way.name}"
        match way.name:
            case "owner":
                return Owner(self.scattering)
            case "private":
                return Private(self.scattering, neutral_of(self.scattering.sink), named)
            case "partition":
                return Partition(self.scattering, "_partition")
            case _:
                return Strided(self.scattering)

    def _holds(
        self, host: Builder, way: ScatterVariant, made: Owner | Private | Partition | Strided
    ) -> Atom:
        match made:
            case Partition() if way.when is When.PAYS:
                return self._partition_pays(host, made)
            case Partition():
                return made.fits(host)
            case Private() | Strided():
                return made.pays(host)
            case Owner():
                return YES

    def _partition_pays(self, host: Builder, partition: Partition) -> Atom:
        """Whether sorting elements by tile costs less than what the caches miss; owners learn
        whether one of them is enough."""
        s = self.scattering
        large = is_large(host, s)
        if large == NO:
            return NO
        asks = host.apply("and", large, partition.fits(host))
        far: Atom = index(WHOLE)
        if not can_fail(s.op.body):
            yes, no = host.inner(), host.inner()
            sample = yes.close([], [sampled(yes, s)])
            far = host.emit(If(asks, sample, no.close([], [index(UNKNOWN)])))[0]
        costs = Costs.of(host, s, far)
        s.one_is_faster = costs.one_is_faster(host)
        return host.apply("and", asks, costs.partition_pays(host))


def _one_of(
    host: Builder, options: Sequence[tuple[ConditionIn, LaunchIn]], last: LaunchIn
) -> None:
    """The first whose condition holds, else the last; it is asked for where no other holds."""
    if not options:
        return last(host)
    (condition, launch), *others = options
    holds = condition(host)
    yes, no = host.inner(), host.inner()
    launch(yes)
    _one_of(no, others, last)
    host.emit(If(holds, yes.close([], []), no.close([], [])))
