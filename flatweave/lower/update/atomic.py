"""Writing to computed indices where threads may collide, by the machine's atomic instructions.

    scatter_reduce add dest   atomic add dest[j] x              any order gives the same combination
    scatter_store dest        atomic maximum winners[j] i; elements[i] = x
                              then for each j: dest[j] = elements[winners[j]]
                              i counts in running order, so the last one wins

The first part of each stands where the sweep feeds its sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from flatweave.base.dtypes import i64, u64
from flatweave.base.pretty import listed
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.memory_ops import ATOMIC, Atomic, AtomicUpdate
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering, each_place, fill
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.scatter_variant import NOT_COMBINED, ScatterVariant, combining
from flatweave.ops import ScatterReduce, ScatterStore
from flatweave.ops.rows import scalar_type
from flatweave.passes.operators import is_commutative, is_exact, may_commute
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Lambda, Let, Var

# -- The arrays that threads write to side by side, as the host holds them -------------------------


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
        sink = combining(facts.op)
        if sink is None:
            return "" if cls.stores else NOT_COMBINED
        return cls.misfit(machine, sink) if may_commute(sink.fn) else NOT_COMMUTATIVE

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        sink = combining(facts.op)
        return sink is None or is_exact(sink.fn)

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


NOBODY = index(-1)
NOT_ATOMIC = f"its operator is none of {listed(ATOMIC)}, component by component"


@record
class ByComponent:
    """Arrays that are updated each by a function of its own."""

    dest: tuple[Var, ...]
    extent: Atom
    functions: tuple[str | Lambda, ...]

    def update(self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]) -> None:
        """One instruction, or a swap, for each component."""
        for fn, dest, value in zip(self.functions, self.dest, values, strict=True):
            buffer = elements.kernel.buffer(dest)
            if isinstance(fn, str):
                b.emit(Atomic(fn, buffer, place, value))
            else:
                b.emit(AtomicUpdate(elements.function(b, fn), buffer, place, (value,)))

    def finish(self, lowering: Lowering, let: Let) -> None:
        """All is where it belongs."""


class ByAtomics(Update):
    """Each component by an instruction or a swap of its own: they know nothing of each other."""

    name = "atomic"
    stores = True

    @classmethod
    def misfit(cls, machine: Machine, sink: ScatterReduce) -> str:
        names = component_functions(sink.fn)
        return "" if names and all(name in ATOMIC for name in names) else NOT_ATOMIC

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        sink = combining(facts.op)
        if sink is None:
            return True
        return is_commutative(sink.fn) and not cls.misfit(machine, sink)

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> ByComponent:
        names = component_functions(sink.fn)
        assert names is not None
        dtypes = [scalar_type(param) for param in sink.fn.params]
        functions = tuple(
            name if name in ATOMIC else lambda_of(name, dtype)
            for name, dtype in zip(names, dtypes, strict=False)
        )
        return ByComponent(dest, extent, functions)


def make_claims(
    lowering: Lowering, let: Let, sink: ScatterStore, taken: Sequence[Atom], total: Atom
) -> Claims:
    """The arrays to write, nobody's yet, and room for every element."""
    extent = lowering.host.product(lowering.scope.array(sink.dest[0]).shape)
    dest = lowering.own_all(sink.dest, let)
    winners = lowering.host.emit(Alloc(i64, extent, lowering.site()))[0]
    fill(lowering, let, winners, extent, NOBODY, NOBODY)
    elements = tuple(lowering.alloc_like(atom, total) for atom in sink.dest)
    return Claims(dest, winners, elements, extent)


def scatter_reduce_element(
    b: Builder, elements: Elements, updates: Updates, taken: Sequence[Atom]
) -> None:
    """Combine one element into its place; outside it is dropped."""
    place, *values = taken
    place = b.cast(place, i64)
    inside = b.inner()
    updates.update(inside, elements, place, values)
    there = _is_inside(b, elements.kernel, place, updates.extent)
    b.emit(If(there, inside.close([], []), NO_BODY))


def claim_element(
    b: Builder, kernel: KernelBuilder, claims: Claims, taken: Sequence[Atom], order: Atom
) -> None:
    """Keep one element, and claim its place for it; outside nothing is claimed."""
    place, *values = taken
    place = b.cast(place, i64)
    for buffer, value in zip(claims.elements, values, strict=True):
        b.emit(Store(kernel.buffer(buffer), order, value))
    inside = b.inner()
    inside.emit(Atomic("maximum", kernel.buffer(claims.winners), place, order))
    b.emit(If(_is_inside(b, kernel, place, claims.extent), inside.close([], []), NO_BODY))


def write_winners(lowering: Lowering, let: Let, claims: Claims) -> None:
    """Launch: every place that somebody claimed gets the element that came last."""

    def write(b: Builder, kernel: KernelBuilder, j: Atom) -> None:
        winner = b.emit(Load(kernel.buffer(claims.winners), j))[0]
        inside = b.inner()
        for buffer, elements in zip(claims.dest, claims.elements, strict=True):
            value = inside.emit(Load(kernel.buffer(elements), winner))[0]
            inside.emit(Store(kernel.buffer(buffer), j, value))
        b.emit(If(b.apply("ge", winner, index(0)), inside.close([], []), NO_BODY))

    each_place(lowering, let, "_winners", Role.PASS, claims.extent, [i64], write)
    for buffer in (claims.winners, *claims.elements):
        lowering.host.emit(Free(buffer))


def _is_inside(b: Builder, kernel: KernelBuilder, place: Atom, extent: Atom) -> Atom:
    return b.apply("lt", b.cast(place, u64), b.cast(kernel.capture(extent), u64))
