"""Copies of the destination in the shared memory of blocks: how their contents are combined.

    partials[block, j] = index j of all the block's copies, combined
    groups[g, j]       = partials of the g-th 32 blocks, combined in order
    dest[j]            = dest[j] fn groups[0, j] fn groups[1, j] ..    where there is an element

`in_shared.py` and the second part below say how blocks fill the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from flatweave.base.dtypes import DType, i64, u32
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Role, free
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Load, Shared, Sync
from flatweave.lower.atomic import ByAtomics
from flatweave.lower.context import Own
from flatweave.lower.kernel_builder import KernelBuilder, step_blocks, write_steps
from flatweave.lower.machine import Machine
from flatweave.lower.scatter.scattering import (
    SCANS,
    Division,
    Scattering,
    Source,
    bytes_of,
    is_counted,
    times_added,
)
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import NOT_COMBINED, When, combining, neutral_of
from flatweave.lower.schedule.steps import Along
from flatweave.lower.sweep.writer import KernelWriter, call_operator
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import Traversal, flat
from flatweave.ops import ScatterReduce
from flatweave.passes.operators import is_exact, known_neutral
from flatweave.terms.build import TRUE, Builder, index, lambda_of
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Const,
    Lambda,
    Var,
    array_type,
    constant,
    scalar_type,
)

TOGETHER = 32
"""Blocks whose copies are combined by one thread, before what these found is."""
SPARE = 4096
"""Bytes of a block's shared memory for others: marks of a walk along rows, values of lanes."""
Act = Callable[[Builder, Atom], None]
NO_THREADS = "its lanes are no threads, which would share memory"


class SharedCopies(Division):
    """Blocks that store a partial result for each index, and the two launches that combine them."""

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        assert scattering.sink is not None
        self.fn, self.neutral = self.operator(scattering.sink)
        self.dtypes: list[DType] = [scalar_type(result) for result in self.fn.results]
        self.flagged = len(self.dtypes) > len(scattering.dtypes)
        self.partials: Own = [("partials", BufferType(dtype)) for dtype in self.dtypes]
        groups: Own = [("groups", BufferType(dtype)) for dtype in self.dtypes]
        self.some = scattering.later(
            "_some", self._write_some, [*self.partials, *groups, ("blocks", i64)]
        )
        self.all = scattering.later("_all", self._write_all, [*groups, ("count", i64)])

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        if not machine.atomics:
            return NO_THREADS
        if combining(facts.op) is None:
            return NOT_COMBINED
        return SCANS if facts.op.scans else ""

    def operator(self, sink: ScatterReduce) -> tuple[Lambda, tuple[Atom, ...]]:
        """What combines elements of copies, and its neutral element."""
        return sink.fn, neutral_of(sink)

    def fill(self, host: Builder, partials: Sequence[Var], blocks: Atom) -> None:
        """Launch the blocks that fill copies."""
        raise NotImplementedError

    def blocks(self, host: Builder) -> Atom:
        """How many blocks the elements are divided among, by their number alone."""
        machine = self.scattering.lowering.machine
        found = host.ceil_div(self.scattering.total, index(max(1, machine.block_work)))
        return host.apply("minimum", found, index(machine.blocks_wanted))

    def launch(self, host: Builder) -> None:
        """Copies of blocks, then their combination."""
        s = self.scattering
        blocks, machine = self.blocks(host), s.lowering.machine
        groups = host.ceil_div(blocks, index(TOGETHER))

        def room(count: Atom) -> list[Var]:
            places = host.mul(count, s.extent)
            return [s.lowering.alloc(dtype, places, host=host) for dtype in self.dtypes]

        partials, found = room(blocks), room(groups)
        self.fill(host, partials, blocks)
        some = step_blocks(host, machine, host.mul(groups, s.extent))
        s.lowering.launch(self.some, some, Role.PARTIALS, host, (*partials, *found, blocks))
        all_ = step_blocks(host, machine, s.extent)
        s.lowering.launch(self.all, all_, Role.PARTIALS, host, (*found, groups))
        free(host, *partials, *found)

    # -- what blocks have found -------------------------------------------------------------------

    def folded(
        self, kernel: KernelBuilder, b: Builder, buffers: Sequence[Var], at: tuple[Atom, Atom],
        count: Atom,
    ) -> tuple[Atom, ...]:  # fmt: skip
        """The elements at first, first + step, .. combined from left to right."""
        first, step = at
        init = tuple(kernel.scalar(atom) for atom in self.neutral)
        inside, k, params = b.iteration("k", init)
        place = inside.add(first, inside.mul(k, step))
        found = [inside.emit(Load(buffer, place))[0] for buffer in buffers]
        after = self.call(kernel, inside, [*params, *found])
        return inside.close_loop(index(0), count, init, after)

    def call(self, kernel: KernelBuilder, b: Builder, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The operator, with the flag where there is one."""
        return call_operator(self.scattering.lowering, kernel, b, self.fn, args)

    def _write_some(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        """groups[g, j] = partials of the blocks of a group, combined in order."""
        half = len(self.dtypes)
        partials, groups, blocks = own[:half], own[half : 2 * half], own[-1]
        extent = kernel.capture(self.scattering.extent)
        number = kernel.body.ceil_div(blocks, index(TOGETHER))

        def act(b: Builder, q: Atom) -> None:
            group = b.apply("floordiv", q, extent)
            first = b.mul(group, index(TOGETHER))
            count = b.apply("minimum", b.sub(blocks, first), index(TOGETHER))
            start = b.add(q, b.mul(b.mul(group, index(TOGETHER - 1)), extent))
            found = self.folded(kernel, b, partials, (start, extent), count)
            store_each(b, groups, q, found)

        machine = self.scattering.lowering.machine
        write_steps(machine, kernel, kernel.body.mul(number, extent), act)

    def _write_all(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        """dest[j] = dest[j] fn groups[0, j] fn groups[1, j] .., where there is an element."""
        s, (*groups, count) = self.scattering, own
        extent, dest = kernel.capture(s.extent), s.dest_in(kernel)

        def act(b: Builder, j: Atom) -> None:
            found = self.folded(kernel, b, groups, (j, extent), count)
            there, values = (found[0], found[1:]) if self.flagged else (TRUE, found)
            with b.when(there) as inside:
                old = [inside.emit(Load(buffer, j))[0] for buffer in dest]
                store_each(inside, dest, j, s.combine(kernel, inside, old, values))

        write_steps(s.lowering.machine, kernel, extent, act)


def bytes_for_copies(machine: Machine) -> int:
    """What a block has for copies."""
    return machine.shared_bytes - SPARE


def stride_of(b: Builder, places: Atom) -> Atom:
    """The distance from one copy to the next: an odd number, so that lanes that update the same
    index of different copies use different banks."""
    return b.apply("or", places, index(1))


class Copies:
    """The copies of one block in a kernel: `slots` elements of each of these dtypes."""

    def __init__(self, writer: KernelWriter, dtypes: Sequence[DType], slots: int) -> None:
        self.writer, self.machine = writer, writer.lowering.machine
        self.lanes = self.machine.lanes([i64])
        self.memory = [writer.b.emit(Shared(dtype, slots))[0] for dtype in dtypes]

    def walk(self, *, meets: bool) -> Traversal:
        """Steps of a lane for each element. Where lanes of a warp meet in a step, and warps cannot
        do so alone, all of them take equally many."""
        if meets and not self.machine.warps_meet_alone:
            alike = {Along.ROWS: Along.POSITIONS, Along.COST: Along.SEARCH}
            version = self.writer.version
            along = alike.get(version.rows.along, version.rows.along)
            self.writer.version = version.but(replace(version.rows, along=along))
        return self.writer.traverse(())

    def clear(self, count: Atom, neutral: Sequence[Atom]) -> None:
        """So many elements are neutral."""

        def act(b: Builder, at: Atom) -> None:
            store_each(b, self.memory, at, neutral)

        self.each(count, act)

    def each(self, count: Atom, act: Act) -> None:
        """Act at 0, 1, .. below `count`, divided among the threads of the block."""

        def step(b: Builder, position: Position, state: State) -> State:
            assert position.active is not None
            with b.when(position.active) as inside:
                act(inside, position.flat)
            return state

        walk = flat(self.machine, count, self.lanes)
        walk.block(self.writer.b, index(0), count, (), step)


# -- Scattering to small destinations by exact operators: atomic updates of shared memory ----------
#
#     block:  copies = the neutral element everywhere
#             for its elements:   atomic fn copies [lane mod copies] [index] value
#             partials[block, j] = copy 0 [j] fn copy 1 [j] ..
#
# There are as many copies as fit, at most one for each lane of a warp, so that updates of a hot
# index spread over several copies. A destination that does not fit is cut into parts: neighbouring
# blocks read the same elements, each for one part. If all elements add the same integer, they are
# counted. The extent must be known when the program is compiled.


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
        sink, found = combining(facts.op), super().obstacle(machine, facts)
        if found or sink is None:
            return found
        if any(scalar_type(result).bits < u32.bits for result in sink.fn.results):
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
        sink = combining(facts.op)
        return sink is not None and is_exact(sink.fn)

    def operator(self, sink: ScatterReduce) -> tuple[Lambda, tuple[Atom, ...]]:
        return sink.fn, known_neutral(sink.fn)

    def fill(self, host: Builder, partials: Sequence[Var], blocks: Atom) -> None:
        grid = host.mul(blocks, index(self.parts))
        self.scattering.launch(self.own, grid, Role.VARIANT, host, (*partials, blocks))


def _extent(facts: SweepFacts) -> int | None:
    """The extent of the destination, if it is known."""
    shape = array_type(facts.op.sinks[0].updated[0]).shape
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
        values: Sequence[Atom] = [constant(1, u32)]
        names: Sequence[str] = ["add"]
        if not self.division.counts:
            values = self.scattering.whole(self.kernel, varying)
            names = component_functions(self.division.fn) or ()
        with b.when(mine) as c:
            copy = c.mul(
                c.apply("mod", lane, index(self.division.copies)), index(self.division.stride)
            )
            at = c.add(copy, c.sub(place, self.first))
            for name, buffer, value in zip(names, self.held.memory, values, strict=True):
                c.emit(Atomic(name, buffer, at, value))
        return ()

    def _leave(self) -> None:
        """Combines all copies of each index and stores the results for the next launch."""
        division, base = self.division, self.b.mul(self.share, index(self.division.extent))

        def act(b: Builder, j: Atom) -> None:
            at, count = (j, index(division.stride)), index(division.copies)
            if division.counts:
                counted = [self._sum(b, *at, count)] * len(division.dtypes)
                found: Sequence[Atom] = times_added(b, self.scattering.op, counted)
            else:
                found = division.folded(self.kernel, b, self.held.memory, at, count)
            place = b.add(b.add(base, self.first), j)
            store_each(b, self.partials, place, found)

        self.held.each(self.b.sub(self.last, self.first), act)

    def _sum(self, b: Builder, first: Atom, step: Atom, count: Atom) -> Atom:
        """How many elements the copies have counted for an index."""
        none = constant(0, u32)
        inside, k, (before,) = b.iteration("k", [none])
        (more,) = inside.emit(Load(self.held.memory[0], inside.add(first, inside.mul(k, step))))
        after = inside.inline(COUNT, (before, more))
        return inside.close_loop(index(0), count, [none], after)[0]
