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

from flatweave.base.dtypes import bool_
from flatweave.kernel_ir.host import Threads
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.scatter.owner import Owner
from flatweave.lower.scatter.partition import Partition
from flatweave.lower.scatter.private import Private
from flatweave.lower.scatter.scattering import Scattering, bytes_of
from flatweave.lower.scatter.strided import Strided
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import ScatterVariant, SweepPlan, When
from flatweave.lower.schedule.scatter_variants import neutral_of
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Const, Let

CACHED = 2 * 1024 * 1024
"""A destination up to so many bytes is written at random without leaving the cores' own caches."""
OWNED = 8 * 1024 * 1024
"""By few threads owners write up to twice that: so many bytes, divided by the threads that each
look at all elements."""
FEW = 1 << 14
"""Up to so many elements are not worth sorting."""

LaunchIn = Callable[[Builder], None]


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
        host = self.lowering.host
        *others, last = ways
        _one_of(host, [self._option(way) for way in others], self._way(last).launch)

    def _option(self, way: ScatterVariant) -> tuple[Atom, LaunchIn]:
        made = self._way(way)
        return self._holds(way, made), made.launch

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

    def _holds(self, way: ScatterVariant, made: Owner | Private | Partition | Strided) -> Atom:
        host = self.lowering.host
        match made:
            case Partition() if way.when is When.PAYS:
                return host.apply("and", self._is_large(host), made.fits(host))
            case Partition():
                return made.fits(host)
            case Private() | Strided():
                return made.pays(host)
            case Owner():
                return Const(True, bool_)

    def _is_large(self, host: Builder) -> Atom:
        """Whether sorting elements by tile costs less than what the caches miss."""
        s = self.scattering
        each = bytes_of(s.dtypes)
        large = host.apply("gt", s.extent, index(CACHED // each))
        many = host.apply("gt", s.total, index(FEW))
        owned = host.apply("floordiv", index(OWNED // each), host.emit(Threads())[0])
        most = host.apply("minimum", owned, index(2 * CACHED // each))
        worth = host.apply("and", large, host.apply("gt", s.extent, most))
        return host.apply("and", worth, many)


def _one_of(host: Builder, options: Sequence[tuple[Atom, LaunchIn]], last: LaunchIn) -> None:
    """The first whose condition holds, else the last."""
    if not options:
        return last(host)
    (condition, launch), *others = options
    yes, no = host.inner(), host.inner()
    launch(yes)
    _one_of(no, others, last)
    host.emit(If(condition, yes.close([], []), no.close([], [])))
