"""Scattering into few places: copies of the destination in the shared memory of each block.

    warp:   copies = the neutral element everywhere            some for each warp, nobody else's
            for each step of its share of the elements:
                stage[lane] = place, value                     each lane computes one
                lane c:  copy c [place] fn= value              c's part of the stage, in order
    block:  partials[block, j] = copy 0 [j] fn copy 1 [j] ..   in the order of warps and copies
    then    dest[j] = dest[j] fn partials[0, j] fn partials[1, j] ..     in order, by tens at first

For devices, where sums of floats shall have the same bits in each run: which lane combines an
element follows from its position, and nothing is atomic. An operator that does not commute has one
copy for each warp, which one lane fills, so that order is kept. One without a neutral element is
combined together with a flag that says whether there is an element at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from flatweave.base.dtypes import DType, i32, i64
from flatweave.base.records import replace
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Load, Shared, Store, Sync
from flatweave.lower.host.context import Own
from flatweave.lower.host.places import step_blocks, write_steps
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.costs import turns_pay
from flatweave.lower.scatter.division import SCANS, Division
from flatweave.lower.scatter.flagged import YES, with_flag
from flatweave.lower.scatter.scattering import Scattering, Source, bytes_of, ceil_div
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import Along, When
from flatweave.lower.schedule.scatter_variant import NOT_COMBINED, neutral_of, scattering_sink
from flatweave.lower.sweep.writer import KernelWriter, call_operator
from flatweave.lower.traverse.flat import Flat, flat
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.traversal import Traversal
from flatweave.lower.traverse.warp_share import warp_index
from flatweave.ops import Prefix, ScatterReduce
from flatweave.ops.rows import array_type, scalar_type
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, BufferType, Const, Var

LEAST = 8192
"""Elements that pay for a block, which clears and combines some thousand places."""
TOGETHER = 32
"""Blocks whose copies are combined by one thread, before what these found is."""
Act = Callable[[Builder, Atom], None]
NO_THREADS = "its lanes are no threads, which would share memory"


class InShared(Division):
    """Copies in shared memory, and the two launches that combine them."""

    name = "shared"
    reason = "blocks combine elements in copies in shared memory, since places are few"
    wished = When.FITS

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        sink, machine = scattering.sink, scattering.lowering.machine
        assert isinstance(sink, ScatterReduce) and machine.fixed_width is not None
        self.lanes, self.warps = machine.fixed_width, machine.warps
        self.fn, self.neutral = sink.fn, neutral_of(sink)
        self.flagged = not self.neutral
        if self.flagged:
            self.fn, self.neutral = with_flag(Builder(scattering.lowering.program.names), sink.fn)
        self.dtypes: list[DType] = [scalar_type(result) for result in self.fn.results]
        self.commutes = is_commutative(sink.fn)
        self.staged = [scattering.dtypes[k] for k in scattering.varying]
        stage = self.lanes * self.warps * bytes_of([i32, *self.staged])
        self.slots = (machine.shared_bytes - stage) // bytes_of(self.dtypes)
        """Elements of all copies of a block."""
        partials: Own = [("partials", BufferType(dtype)) for dtype in self.dtypes]
        groups: Own = [("groups", BufferType(dtype)) for dtype in self.dtypes]
        self.own = scattering.visiting(
            "_shared", lambda w, p: _Copies(self, w, p).write(),
            [*partials, ("blocks", i64), ("copies", i64)], self.why,
        )  # fmt: skip
        self.some = scattering.later(
            "_some", self._write_some, [*partials, *groups, ("blocks", i64)]
        )
        self.all = scattering.later("_all", self._write_all, [*groups, ("count", i64)])

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        if not machine.atomics:
            return NO_THREADS
        sink = scattering_sink(facts)
        if not isinstance(sink, ScatterReduce):
            return NOT_COMBINED
        return SCANS if any(isinstance(let.op, Prefix) for let in facts.op.body.lets) else ""

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        """Not where it is known that there are more places than any copy has."""
        if not super().suits(machine, facts):
            return False
        shape = array_type(scattering_sink(facts).dest[0]).shape
        known = prod(int(extent.value) for extent in shape if isinstance(extent, Const))
        return known * machine.warps <= machine.shared_bytes

    # -- the host ---------------------------------------------------------------------------------

    def copies(self, b: Builder, extent: Atom) -> Atom:
        """How many copies a warp has, at most one for each lane; 0 where not even one fits."""
        most = index(self.lanes if self.commutes else 1)
        room = b.apply("floordiv", index(self.slots // self.warps), stride(b, extent))
        return b.apply("minimum", room, most)

    def fits(self, host: Builder) -> Atom:
        """Whether each warp has room for a copy."""
        return host.apply("gt", self.copies(host, self.scattering.extent), index(0))

    def pays(self, host: Builder) -> Atom:
        """Whether it has room, and turns at a copy cost less than passes of a sort."""
        s = self.scattering
        copies = host.apply("maximum", self.copies(host, s.extent), index(1))
        turns = ceil_div(host, index(self.lanes), copies)
        return host.apply("and", self.fits(host), turns_pay(host, s, turns))

    def blocks(self, host: Builder) -> Atom:
        """How many blocks the elements are divided among, by their number alone."""
        wanted = index(self.scattering.lowering.machine.blocks_wanted)
        found = ceil_div(host, self.scattering.total, index(LEAST))
        return host.apply("maximum", host.apply("minimum", found, wanted), index(1))

    def launch(self, host: Builder) -> None:
        """Copies of blocks, then their combination."""
        s = self.scattering
        blocks, site = self.blocks(host), s.lowering.site()
        groups = ceil_div(host, blocks, index(TOGETHER))

        def room(count: Atom) -> list[Var]:
            places = host.mul(count, s.extent)
            return [host.emit(Alloc(dtype, places, site))[0] for dtype in self.dtypes]

        partials, found = room(blocks), room(groups)
        own = (*partials, blocks, self.copies(host, s.extent))
        s.launch(self.own, blocks, Role.VARIANT, host, own)
        machine = s.lowering.machine
        some = step_blocks(host, machine, host.mul(groups, s.extent))
        s.lowering.launch(self.some, some, Role.PARTIALS, host, (*partials, *found, blocks))
        all_ = step_blocks(host, machine, s.extent)
        s.lowering.launch(self.all, all_, Role.PARTIALS, host, (*found, groups))
        for buffer in (*partials, *found):
            host.emit(Free(buffer))

    # -- what blocks have found -------------------------------------------------------------------

    def folded(
        self, kernel: KernelBuilder, b: Builder, buffers: Sequence[Var], at: Sequence[Atom],
        count: Atom,
    ) -> tuple[Atom, ...]:  # fmt: skip
        """The elements at first, first + step, .. combined from left to right."""
        first, step = at
        inside = b.inner()
        k = inside.param("k", i64)
        params = [inside.param("s", dtype) for dtype in self.dtypes]
        place = inside.add(first, inside.mul(k, step))
        found = [inside.emit(Load(buffer, place))[0] for buffer in buffers]
        body = inside.close([k, *params], self.call(kernel, inside, [*params, *found]))
        init = tuple(kernel.scalar(atom) for atom in self.neutral)
        return tuple(b.emit(For(index(0), count, index(1), body, init)))

    def call(self, kernel: KernelBuilder, b: Builder, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The operator, with the flag where there is one."""
        return call_operator(self.scattering.lowering, kernel, b, self.fn, args)

    def _write_some(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        """groups[g, j] = partials of the blocks of a group, combined in order."""
        half = len(self.dtypes)
        partials, groups, blocks = own[:half], own[half : 2 * half], own[-1]
        extent = kernel.capture(self.scattering.extent)
        number = ceil_div(kernel.body, blocks, index(TOGETHER))

        def act(b: Builder, q: Atom) -> None:
            group = b.apply("floordiv", q, extent)
            first = b.mul(group, index(TOGETHER))
            count = b.apply("minimum", b.sub(blocks, first), index(TOGETHER))
            start = b.add(q, b.mul(b.mul(group, index(TOGETHER - 1)), extent))
            found = self.folded(kernel, b, partials, (start, extent), count)
            for buffer, value in zip(groups, found, strict=True):
                b.emit(Store(buffer, q, value))

        machine = self.scattering.lowering.machine
        write_steps(machine, kernel, kernel.body.mul(number, extent), act)

    def _write_all(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        """dest[j] = dest[j] fn groups[0, j] fn groups[1, j] .., where there is an element."""
        s, (*groups, count) = self.scattering, own
        extent, dest = kernel.capture(s.extent), s.dest_in(kernel)

        def act(b: Builder, j: Atom) -> None:
            found = self.folded(kernel, b, groups, (j, extent), count)
            there, values = (found[0], found[1:]) if self.flagged else (YES, found)
            inside = b.inner()
            old = [inside.emit(Load(buffer, j))[0] for buffer in dest]
            for buffer, value in zip(dest, s.combine(kernel, inside, old, values), strict=True):
                inside.emit(Store(buffer, j, value))
            b.emit(If(there, inside.close([], []), NO_BODY))

        write_steps(s.lowering.machine, kernel, extent, act)



def stride(b: Builder, extent: Atom) -> Atom:
    """Places from one copy to the next: an odd number, so that lanes that go to the same place of
    their copies go to banks of their own."""
    return b.apply("or", extent, index(1))


class _Copies:
    """The kernel in which warps fill copies, and blocks combine theirs."""

    def __init__(self, division: InShared, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.division = division
        self.scattering = division.scattering
        self.writer, self.kernel, self.b = writer, writer.kernel, writer.b
        *self.partials, self.blocks, self.copies = own
        b = self.b
        self.extent = self.kernel.capture(self.scattering.extent)
        self.stride = stride(b, self.extent)
        self.number = b.emit(BlockIndex())[0]
        self.warp = warp_index(b, self.scattering.lowering.machine)
        self.memory = [b.emit(Shared(dtype, division.slots))[0] for dtype in division.dtypes]
        threads = division.lanes * division.warps
        self.places = b.emit(Shared(i32, threads))[0]
        self.values = [b.emit(Shared(dtype, threads))[0] for dtype in division.staged]

    def write(self) -> None:
        """Clear the copies, combine this block's elements into them, then all copies."""
        b = self.b
        self._clear()
        b.emit(Sync())
        source = Source(self.scattering, self.writer, index(0), self.extent)
        lo, hi = self.writer.share(b, self.number, self.blocks)
        self._walk().block(b, lo, hi, (), lambda c, position, _: self._step(c, source, position))
        b.emit(Sync())
        self._combine()

    def _walk(self) -> Traversal:
        """Steps of a lane for each element, of which all warps take equally many."""
        traversal = self.writer.traversal
        if traversal.along in (Along.ROWS, Along.WARPS):
            self.writer.traversal = replace(traversal, along=Along.POSITIONS)
        walk = self.writer.traverse(())
        return walk if walk.width > 1 else Flat(walk.space, self.division.lanes, ())

    def _clear(self) -> None:
        """The neutral element everywhere."""
        neutral = [self.kernel.scalar(atom) for atom in self.division.neutral]

        def clear(b: Builder, at: Atom) -> None:
            for buffer, atom in zip(self.memory, neutral, strict=True):
                b.emit(Store(buffer, at, atom))

        self._each(self.b.mul(self.stride, self._all_copies()), clear)

    def _all_copies(self) -> Atom:
        return self.b.mul(self.copies, index(self.division.warps))

    def _step(self, b: Builder, source: Source, position: Position) -> State:
        """Each lane computes an element; then some lanes combine several of them."""
        place, values, mine, _ = source.element(b, position, ())
        first = b.mul(self.warp, index(self.division.lanes))
        lane = b.emit(Lane(index(0)))[0]
        slot = b.add(first, lane)
        place = b.apply("select", mine, b.cast(place, i32), Const(-1, i32))
        for buffer, value in zip((self.places, *self.values), (place, *values), strict=True):
            b.emit(Store(buffer, slot, value))
        b.emit(Sync("warp"))
        turns = ceil_div(b, index(self.division.lanes), self.copies)
        copy = b.mul(b.add(b.mul(self.warp, self.copies), lane), self.stride)
        lo = b.apply("minimum", b.mul(lane, turns), index(self.division.lanes))
        hi = b.apply("minimum", b.add(lo, turns), index(self.division.lanes))
        turn = b.inner()
        k = turn.param("k", i64)
        self._combine_one(turn, copy, turn.add(first, k))
        b.emit(For(lo, hi, index(1), turn.close([k], []), ()))
        b.emit(Sync("warp"))
        return ()

    def _combine_one(self, b: Builder, copy: Atom, staged: Atom) -> None:
        """A staged element into a copy, if it goes anywhere."""
        place = b.emit(Load(self.places, staged))[0]
        there = b.apply("ge", place, Const(0, i32))
        c = b.inner()
        at = c.add(copy, c.cast(place, i64))
        old = [c.emit(Load(buffer, at))[0] for buffer in self.memory]
        varying = [c.emit(Load(buffer, staged))[0] for buffer in self.values]
        flag = (YES,) if self.division.flagged else ()
        new = (*flag, *self.scattering.whole(self.kernel, varying))
        made = self.division.call(self.kernel, c, (*old, *new))
        for buffer, value in zip(self.memory, made, strict=True):
            c.emit(Store(buffer, at, value))
        b.emit(If(there, c.close([], []), NO_BODY))

    def _combine(self) -> None:
        """All copies of a place, in order, to where the next launch finds them."""
        base, count = self.b.mul(self.number, self.extent), self._all_copies()

        def act(b: Builder, j: Atom) -> None:
            found = self.division.folded(self.kernel, b, self.memory, (j, self.stride), count)
            for buffer, value in zip(self.partials, found, strict=True):
                b.emit(Store(buffer, b.add(base, j), value))

        self._each(self.extent, act)

    def _each(self, count: Atom, act: Act) -> None:
        """Act at 0, 1, .. below `count`, divided among the threads of the block."""

        def step(b: Builder, position: Position, state: State) -> State:
            inside = b.inner()
            act(inside, position.flat)
            assert position.active is not None
            b.emit(If(position.active, inside.close([], []), NO_BODY))
            return state

        machine = self.scattering.lowering.machine
        flat(machine, count, self.division.lanes).block(self.b, index(0), count, (), step)
