"""The arrays that threads write to side by side, as the host holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from flatweave.base.records import record
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.scatter_variant import NOT_COMBINED, ScatterVariant, scattering_sink
from flatweave.ops import ScatterReduce
from flatweave.passes.operators import is_exact, may_commute
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Var

NOT_COMMUTATIVE = "it takes elements in any order, and a op b is not b op a"


class Updates(Protocol):
    """Arrays of `extent` elements into which blocks combine theirs side by side.

    `update` combines one element into a place that is there; `finish` is for when all have.
    """

    @property
    def dest(self) -> tuple[Var, ...]: ...

    @property
    def extent(self) -> Atom: ...

    def update(
        self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]
    ) -> None: ...

    def finish(self, lowering: Lowering, let: Let) -> None: ...


class Update(ScatterVariant):
    """A variant in which blocks combine elements side by side, as they come."""

    chosen = When.ALWAYS
    stores: ClassVar[bool] = False
    """Whether it also does what combines nothing."""

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        sink = scattering_sink(facts)
        if not isinstance(sink, ScatterReduce):
            return "" if cls.stores else NOT_COMBINED
        return cls.misfit(machine, sink) if may_commute(sink.fn) else NOT_COMMUTATIVE

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        sink = scattering_sink(facts)
        return not isinstance(sink, ScatterReduce) or is_exact(sink.fn)

    @classmethod
    def misfit(cls, machine: Machine, sink: ScatterReduce) -> str:
        """Why an operator that may commute cannot be done so; "" if it can."""
        return ""

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> Updates:
        """The arrays that elements are combined into."""
        raise NotImplementedError


@record
class Claims:
    """Which element came last at each place, and all elements in running order."""

    dest: tuple[Var, ...]
    winners: Var
    elements: tuple[Var, ...]
    extent: Atom
