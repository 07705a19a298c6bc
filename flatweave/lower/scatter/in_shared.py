"""Scattering to a small destination: copies of it in the shared memory of each block.

    warp:   copies = the neutral element everywhere            some for each warp, private to it
            for each step of its share of the elements:
                stage[lane] = index, value                     each lane computes one
                lane c:  copy c [index] fn= value              c's part of the stage, in order
    block:  partials[block, j] = copy 0 [j] fn copy 1 [j] ..   in the order of warps and copies

For devices, if sums of floats must have the same bits in each run: an element's position determines
the lane that combines it, and nothing is atomic. An operator that does not commute has one copy for
each warp; one lane fills it, which keeps the order. An operator without a neutral element is
combined together with a flag that says whether there is an element at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flatweave.base.dtypes import i32, i64
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Load, Shared, Sync
from flatweave.lower.machine import Machine
from flatweave.lower.scatter.costs import turns_pay
from flatweave.lower.scatter.scattering import Scattering, Source, bytes_of
from flatweave.lower.scatter.shared_copies import Copies, SharedCopies, bytes_for_copies, stride_of
from flatweave.lower.scatter.sorted import with_flag
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When, neutral_of
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State, warp_index
from flatweave.ops import ScatterReduce
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Var, array_type


class InShared(SharedCopies):
    """One lane of a warp updates each of its copies, in order."""

    name = "shared"
    reason = "blocks combine elements in copies in shared memory, since places are few"
    wished = When.FITS

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        machine = scattering.lowering.machine
        assert machine.fixed_width is not None
        self.lanes, self.warps = machine.fixed_width, machine.warps
        assert scattering.sink is not None
        self.commutes = is_commutative(scattering.sink.fn)
        self.staged = [scattering.dtypes[k] for k in scattering.varying]
        stage = self.lanes * self.warps * bytes_of([i32, *self.staged])
        self.slots = (bytes_for_copies(machine) - stage) // bytes_of(self.dtypes)
        """Elements of all copies of a block."""
        self.own = scattering.visiting(
            "_shared", lambda w, p: _Turns(self, w, p).write(),
            [*self.partials, ("blocks", i64), ("copies", i64)], self.why,
        )  # fmt: skip

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        """False if the extent is known to exceed the room of any copy."""
        if not super().suits(machine, facts):
            return False
        shape = array_type(facts.op.sinks[0].updated[0]).shape
        known = prod(int(extent.value) for extent in shape if isinstance(extent, Const))
        return known * machine.warps <= bytes_for_copies(machine)

    def operator(self, sink: ScatterReduce) -> tuple[Lambda, tuple[Atom, ...]]:
        neutral = neutral_of(sink)
        if neutral:
            return sink.fn, neutral
        return with_flag(Builder(self.scattering.lowering.program.names), sink.fn)

    def copies(self, b: Builder, extent: Atom) -> Atom:
        """How many copies a warp has, at most one for each lane; 0 where not even one fits."""
        most = index(self.lanes if self.commutes else 1)
        room = b.apply("floordiv", index(self.slots // self.warps), stride_of(b, extent))
        return b.apply("minimum", room, most)

    def fits(self, host: Builder) -> Atom:
        """Whether each warp has room for a copy."""
        return host.apply("gt", self.copies(host, self.scattering.extent), index(0))

    def pays(self, host: Builder) -> Atom:
        """Whether a copy fits, and serial updates of it cost less than the passes of a sort."""
        s = self.scattering
        copies = host.apply("maximum", self.copies(host, s.extent), index(1))
        turns = host.ceil_div(index(self.lanes), copies)
        return host.apply("and", self.fits(host), turns_pay(host, s, turns))

    def fill(self, host: Builder, partials: Sequence[Var], blocks: Atom) -> None:
        s = self.scattering
        own = (*partials, blocks, self.copies(host, s.extent))
        s.launch(self.own, blocks, Role.VARIANT, host, own)


class _Turns:
    """The kernel in which warps fill copies, and blocks combine theirs."""

    def __init__(self, division: InShared, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.division, self.scattering = division, division.scattering
        self.writer, self.kernel, self.b = writer, writer.kernel, writer.b
        *self.partials, self.blocks, self.copies = own
        b = self.b
        self.extent = self.kernel.capture(self.scattering.extent)
        self.stride = stride_of(b, self.extent)
        self.number = b.emit(BlockIndex())[0]
        self.warp = warp_index(b, self.scattering.lowering.machine)
        self.held = Copies(writer, division.dtypes, division.slots)
        threads = division.lanes * division.warps
        self.places = b.emit(Shared(i32, threads))[0]
        self.values = [b.emit(Shared(dtype, threads))[0] for dtype in division.staged]

    def write(self) -> None:
        """Clear the copies, combine this block's elements into them, then all copies."""
        b = self.b
        count = b.mul(self.copies, index(self.division.warps))
        neutral = [self.kernel.scalar(atom) for atom in self.division.neutral]
        self.held.clear(b.mul(self.stride, count), neutral)
        b.emit(Sync())
        source = Source(self.scattering, self.writer, index(0), self.extent)
        lo, hi = self.writer.share(b, self.number, self.blocks)
        walk = self.held.walk(meets=True)
        walk.block(b, lo, hi, (), lambda c, position, _: self._step(c, source, position))
        b.emit(Sync())
        self._leave(count)

    def _step(self, b: Builder, source: Source, position: Position) -> State:
        """Each lane computes an element; then some lanes combine several of them."""
        place, values, mine, _ = source.element(b, position, ())
        lanes = index(self.division.lanes)
        first = b.mul(self.warp, lanes)
        lane = b.emit(Lane(index(0)))[0]
        place = b.apply("select", mine, b.cast(place, i32), Const(-1, i32))
        store_each(b, (self.places, *self.values), b.add(first, lane), (place, *values))
        b.emit(Sync("warp"))
        turns = b.ceil_div(lanes, self.copies)
        copy = b.mul(b.add(b.mul(self.warp, self.copies), lane), self.stride)
        lo = b.apply("minimum", b.mul(lane, turns), lanes)
        hi = b.apply("minimum", b.add(lo, turns), lanes)
        with b.loop(lo, hi, hint="k") as (turn, k):
            self._combine_one(turn, copy, turn.add(first, k))
        b.emit(Sync("warp"))
        return ()

    def _combine_one(self, b: Builder, copy: Atom, staged: Atom) -> None:
        """A staged element into a copy, if it goes anywhere."""
        place = b.emit(Load(self.places, staged))[0]
        there = b.apply("ge", place, Const(0, i32))
        memory = self.held.memory
        flag = (TRUE,) if self.division.flagged else ()
        with b.when(there) as c:
            at = c.add(copy, c.cast(place, i64))
            old = [c.emit(Load(buffer, at))[0] for buffer in memory]
            varying = [c.emit(Load(buffer, staged))[0] for buffer in self.values]
            new = (*flag, *self.scattering.whole(self.kernel, varying))
            made = self.division.call(self.kernel, c, (*old, *new))
            store_each(c, memory, at, made)

    def _leave(self, count: Atom) -> None:
        """Combines all copies of each index, in order, and stores the results for the next launch.
        """
        base = self.b.mul(self.number, self.extent)

        def act(b: Builder, j: Atom) -> None:
            memory = self.held.memory
            found = self.division.folded(self.kernel, b, memory, (j, self.stride), count)
            store_each(b, self.partials, b.add(base, j), found)

        self.held.each(self.extent, act)
