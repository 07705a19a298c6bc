"""Scattering into few places by operators that are exact: shared memory, updated atomically.

    block:  copies = the neutral element everywhere
            for its elements:   atomic fn copies [lane mod copies] [place] value
            partials[block, j] = copy 0 [j] fn copy 1 [j] ..

As many copies as there is room for, at most one for each lane of a warp, so that a hot place is
several. A destination that has no room is cut into parts: blocks side by side go over the same
elements, each for its own part. Where all elements add the same integer they are counted.
The number of places must be known when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flatweave.base.dtypes import DType, i64, u32
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Load, Store, Sync
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.counted import is_counted, times_added
from flatweave.lower.scatter.scattering import Scattering, Source, bytes_of
from flatweave.lower.scatter.shared_copies import Copies, SharedCopies, bytes_for_copies
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.scatter_variant import scattering_sink
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.update.atomic import ByAtomics
from flatweave.ops import ScatterReduce
from flatweave.ops.rows import array_type, scalar_type
from flatweave.passes.operators import is_exact, known_neutral
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Lambda, Var, constant

WORD_BITS = 32
"""Narrower elements share a word with neighbours, which would wait for each other."""
COUNT = lambda_of("add", u32)
UNKNOWN = "it is not known before the call how many places there are"
NARROW = "elements narrower than 32 bits share a word with others"


class SharedAtomic(SharedCopies):
    """Lanes update the copies of their block."""

    name = "shared-atomic"
    reason = "blocks update copies in shared memory, since places are few"
    chosen = When.ALWAYS

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        machine, extent = scattering.lowering.machine, scattering.extent
        assert machine.fixed_width is not None and isinstance(extent, Const)
        self.lanes, self.extent = machine.fixed_width, int(extent.value)
        self.counts = is_counted(scattering.op)
        self.kept: Sequence[DType] = [u32] if self.counts else self.dtypes
        room = bytes_for_copies(machine) // bytes_of(self.kept)
        self.parts = max(1, -(-self.extent // room))
        self.places = -(-self.extent // self.parts)
        """Places of a part."""
        self.stride = min(self.places | 1, room)
        self.copies = min(self.lanes, room // self.stride)
        self.own = scattering.visiting(
            "_shared", lambda w, p: _Updates(self, w, p).write(),
            [*self.partials, ("blocks", i64)], self.why,
        )  # fmt: skip

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        sink, found = scattering_sink(facts), super().obstacle(machine, facts)
        if found or not isinstance(sink, ScatterReduce):
            return found
        if any(scalar_type(result).bits < WORD_BITS for result in sink.fn.results):
            return NARROW
        return ByAtomics.misfit(machine, sink) or ("" if _extent(facts) is not None else UNKNOWN)

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        """In one part: several are for who wishes for them."""
        if not super().suits(machine, facts):
            return False
        extent, dtypes = _extent(facts), [scalar_type(x) for x in facts.op.body.results[1:]]
        size = bytes_of([u32] if is_counted(facts.op) else dtypes)
        return extent is not None and extent * size <= bytes_for_copies(machine)

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        sink = scattering_sink(facts)
        return isinstance(sink, ScatterReduce) and is_exact(sink.fn)

    def operator(self, sink: ScatterReduce) -> tuple[Lambda, tuple[Atom, ...]]:
        return sink.fn, known_neutral(sink.fn)

    def fill(self, host: Builder, partials: Sequence[Var], blocks: Atom) -> None:
        grid = host.mul(blocks, index(self.parts))
        self.scattering.launch(self.own, grid, Role.VARIANT, host, (*partials, blocks))


def _extent(facts: SweepFacts) -> int | None:
    """How many places there are, if that is known."""
    shape = array_type(scattering_sink(facts).dest[0]).shape
    known = [int(extent.value) for extent in shape if isinstance(extent, Const)]
    return prod(known) if len(known) == len(shape) else None


class _Updates:
    """The kernel in which blocks fill and combine copies of a part of the destination."""

    def __init__(self, division: SharedAtomic, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.division, self.scattering = division, division.scattering
        self.writer, self.kernel, self.b = writer, writer.kernel, writer.b
        *self.partials, self.blocks = own
        b, parts = self.b, index(division.parts)
        number = b.emit(BlockIndex())[0]
        self.share = b.apply("floordiv", number, parts)
        self.first = b.mul(b.apply("mod", number, parts), index(division.places))
        behind = b.add(self.first, index(division.places))
        self.last = b.apply("minimum", behind, index(division.extent))
        slots = max(1, division.stride * division.copies)
        self.held = Copies(writer, division.kept, slots)

    def write(self) -> None:
        """Clear the copies, update them by this block's elements, then combine them."""
        b, division = self.b, self.division
        neutral = [constant(0, u32)] if division.counts else list(division.neutral)
        self.held.clear(index(division.stride * division.copies), neutral)
        b.emit(Sync())
        source = Source(self.scattering, self.writer, self.first, self.last)
        lo, hi = self.writer.share(b, self.share, self.blocks)
        walk = self.held.walk(meets=False)
        walk.block(b, lo, hi, (), lambda c, position, _: self._step(c, source, position))
        b.emit(Sync())
        self._leave()

    def _step(self, b: Builder, source: Source, position: Position) -> State:
        """Each lane computes an element and updates a copy."""
        place, varying, mine, _ = source.element(b, position, ())
        lane = b.emit(Lane(index(0)))[0]
        c = b.inner()
        copy = c.mul(c.apply("mod", lane, index(self.division.copies)), index(self.division.stride))
        at = c.add(copy, c.sub(place, self.first))
        values: Sequence[Atom] = [constant(1, u32)]
        names: Sequence[str] = ["add"]
        if not self.division.counts:
            values = self.scattering.whole(self.kernel, varying)
            names = component_functions(self.division.fn) or ()
        for name, buffer, value in zip(names, self.held.memory, values, strict=True):
            c.emit(Atomic(name, buffer, at, value))
        b.emit(If(mine, c.close([], []), NO_BODY))
        return ()

    def _leave(self) -> None:
        """All copies of a place to where the next launch finds them."""
        division, base = self.division, self.b.mul(self.share, index(self.division.extent))

        def act(b: Builder, j: Atom) -> None:
            at, count = (j, index(division.stride)), index(division.copies)
            if division.counts:
                counted = [self._sum(b, *at, count)] * len(division.dtypes)
                found: Sequence[Atom] = times_added(b, self.scattering.op, counted)
            else:
                found = division.folded(self.kernel, b, self.held.memory, at, count)
            place = b.add(b.add(base, self.first), j)
            for buffer, value in zip(self.partials, found, strict=True):
                b.emit(Store(buffer, place, value))

        self.held.each(self.b.sub(self.last, self.first), act)

    def _sum(self, b: Builder, first: Atom, step: Atom, count: Atom) -> Atom:
        """How many elements copies have counted for a place."""
        inside = b.inner()
        k, before = inside.param("k", i64), inside.param("s", u32)
        (more,) = inside.emit(Load(self.held.memory[0], inside.add(first, inside.mul(k, step))))
        body = inside.close([k, before], inside.inline(COUNT, (before, more)))
        return b.emit(For(index(0), count, index(1), body, (constant(0, u32),)))[0]
