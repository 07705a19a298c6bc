"""Copies of the destination in the shared memory of blocks: what is done with what blocks found.

    partials[block, j] = what the block's copies have for place j, combined
    groups[g, j]       = partials of the g-th 32 blocks, combined in order
    dest[j]            = dest[j] fn groups[0, j] fn groups[1, j] ..    where there is an element

How blocks fill copies is a matter of `in_shared.py` and `shared_atomic.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import replace
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.lower.host.context import Own
from flatweave.lower.host.places import step_blocks, write_steps
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.division import SCANS, Division
from flatweave.lower.scatter.scattering import Scattering
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.scatter_variant import NOT_COMBINED, neutral_of, scattering_sink
from flatweave.lower.sweep.writer import KernelWriter, call_operator
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.traversal import Traversal
from flatweave.nest.schedule import Along
from flatweave.ops import Prefix, ScatterReduce
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, BufferType, Lambda, Var

LEAST = 8192
"""Elements that pay for a block, which clears and combines some thousand places."""
TOGETHER = 32
"""Blocks whose copies are combined by one thread, before what these found is."""
SPARE = 4096
"""Bytes of a block's shared memory for others: marks of a walk along rows, values of lanes."""
Act = Callable[[Builder, Atom], None]
NO_THREADS = "its lanes are no threads, which would share memory"


class SharedCopies(Division):
    """Blocks that leave what they found for each place, and the two launches that combine it."""

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        sink = scattering.sink
        assert isinstance(sink, ScatterReduce)
        self.fn, self.neutral = self.operator(sink)
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
        if not isinstance(scattering_sink(facts), ScatterReduce):
            return NOT_COMBINED
        return SCANS if any(isinstance(let.op, Prefix) for let in facts.op.body.lets) else ""

    def operator(self, sink: ScatterReduce) -> tuple[Lambda, tuple[Atom, ...]]:
        """What combines elements of copies, and its neutral element."""
        return sink.fn, neutral_of(sink)

    def fill(self, host: Builder, partials: Sequence[Var], blocks: Atom) -> None:
        """Launch the blocks that fill copies."""
        raise NotImplementedError

    def blocks(self, host: Builder) -> Atom:
        """How many blocks the elements are divided among, by their number alone."""
        wanted = index(self.scattering.lowering.machine.blocks_wanted)
        found = host.ceil_div(self.scattering.total, index(LEAST))
        return host.apply("minimum", found, wanted)

    def launch(self, host: Builder) -> None:
        """Copies of blocks, then their combination."""
        s = self.scattering
        blocks, site, machine = self.blocks(host), s.lowering.site(), s.lowering.machine
        groups = host.ceil_div(blocks, index(TOGETHER))

        def room(count: Atom) -> list[Var]:
            places = host.mul(count, s.extent)
            return [host.emit(Alloc(dtype, places, site))[0] for dtype in self.dtypes]

        partials, found = room(blocks), room(groups)
        self.fill(host, partials, blocks)
        some = step_blocks(host, machine, host.mul(groups, s.extent))
        s.lowering.launch(self.some, some, Role.PARTIALS, host, (*partials, *found, blocks))
        all_ = step_blocks(host, machine, s.extent)
        s.lowering.launch(self.all, all_, Role.PARTIALS, host, (*found, groups))
        for buffer in (*partials, *found):
            host.emit(Free(buffer))

    # -- what blocks have found -------------------------------------------------------------------

    def folded(
        self, kernel: KernelBuilder, b: Builder, buffers: Sequence[Var], at: tuple[Atom, Atom],
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
        number = kernel.body.ceil_div(blocks, index(TOGETHER))

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
            there, values = (found[0], found[1:]) if self.flagged else (TRUE, found)
            inside = b.inner()
            old = [inside.emit(Load(buffer, j))[0] for buffer in dest]
            for buffer, value in zip(dest, s.combine(kernel, inside, old, values), strict=True):
                inside.emit(Store(buffer, j, value))
            b.emit(If(there, inside.close([], []), NO_BODY))

        write_steps(s.lowering.machine, kernel, extent, act)


def bytes_for_copies(machine: Machine) -> int:
    """What a block has for copies."""
    return machine.shared_bytes - SPARE


def stride_of(b: Builder, places: Atom) -> Atom:
    """Places from one copy to the next: an odd number, so that lanes that go to the same place of
    their copies go to banks of their own."""
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
            for buffer, atom in zip(self.memory, neutral, strict=True):
                b.emit(Store(buffer, at, atom))

        self.each(count, act)

    def each(self, count: Atom, act: Act) -> None:
        """Act at 0, 1, .. below `count`, divided among the threads of the block."""

        def step(b: Builder, position: Position, state: State) -> State:
            inside = b.inner()
            act(inside, position.flat)
            assert position.active is not None
            b.emit(If(position.active, inside.close([], []), NO_BODY))
            return state

        walk = flat(self.machine, count, self.lanes)
        walk.block(self.writer.b, index(0), count, (), step)
