"""Scattering by blocks that own parts of the destination, which only they write.

    block p:   for each chunk of elements, in order:
                   those that go to p's part, on all lanes, into shared memory
                   one by one from there to the destination

Any operator, nothing atomic, the same bits for any division; but each block looks at everything. A
block that owns all of it writes cheap elements where they are computed, without a stage.

    strided:   for each row:    the first and the last step that fall into p's tile, by division
                   for those:   dest[j] = value, or dest[j] fn value

Where indices advance evenly along long rows of an expansion, as in a sieve, a block has a tile that
fits the second-level cache, and computes only what goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import BlockIndex, Load
from flatweave.lower.context import Own
from flatweave.lower.element_functions import Elements, rows_of
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import ADDING, Machine
from flatweave.lower.scatter.scattering import (
    Division,
    Scattering,
    Source,
    Stage,
    cast_like,
    one_by_one,
)
from flatweave.lower.schedule.division import along_rows
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.steps import Axis
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import RowOf
from flatweave.lower.traverse.steps import Position, State
from flatweave.ops import Prefix
from flatweave.passes.cost import READ, STEP, cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.inequalities import LONGEST
from flatweave.terms.syntax import Atom, BufferType, Var
from flatweave.terms.traverse import needed_for, walk_lets

# -- How a block visits elements: each is computed, then handed on to be written -------------------
#
#     staged       a chunk of them on all lanes into shared memory, then one by one from there
#     in groups    neighbours that share a source are computed, then written: what they share is
#                  computed once
#     one by one   as the traversal goes; where that is by position alone, some in an iteration
#
# A stage pays where lanes save work, or where most elements are another block's.


Act = Callable[[Builder, Atom, Sequence[Atom], int], None]
"""Writes an element, given its index, its varying values and its iteration in an unrolled body."""


def visit_staged(b: Builder, source: Source, lo: Atom, hi: Atom, act: Act) -> None:
    """The elements lo to hi that `source` lets through, chunk after chunk."""
    size = source.scattering.lowering.machine.staged
    stage = Stage.of(b, source.scattering, size)
    chunks, at, state = b.iteration("c", source.carries)
    stop = chunks.apply("minimum", chunks.add(at, index(size)), hi)
    count, after = stage.fill(chunks, source, at, stop, state)
    one_by_one(chunks, index(0), count, lambda c, k, turn: act(c, *stage.element(c, k), turn))
    chunks.close_loop(lo, hi, source.carries, after, size)


def visit_share(b: Builder, source: Source, block: Atom, blocks: Atom, act: Act) -> None:
    """The elements of one of `blocks` shares, all of which this block writes."""
    writer, body = source.writer, source.scattering.op.body
    lo, hi = writer.share(b, block, blocks)
    group = Accesses(body.params, body.lets).group(body.params[-1]) if _is_in_a_row(writer) else 1
    if 1 < group <= 2 * ADDING:  # the corners of a cube; more are too much code
        _in_groups(b, source, lo, hi, group, act)
    elif cost_of_body(body) > READ + STEP:  # what a stage costs
        visit_staged(b, source, lo, hi, act)
    elif _is_in_a_row(writer):

        def one(c: Builder, i: Atom, turn: int) -> None:
            found = source.element(c, Position(i, (i,), 1, alone=True), ())
            _act_if(c, found, turn, act)

        one_by_one(b, lo, hi, one)
    else:
        _one_by_one(b, source, lo, hi, act)


def _is_in_a_row(writer: KernelWriter) -> bool:
    """Whether elements are visited in order, by their position alone."""
    by_row = writer.version.lanes.axis is Axis.LAST
    turned = by_row or writer.op.reverse or writer.located is not None or writer.scans.depth > 0
    return len(writer.shape) == 1 and not turned


def _in_groups(b: Builder, source: Source, lo: Atom, hi: Atom, group: int, act: Act) -> None:
    """Whole groups, then the rest; a part of a group before the first whole one is a rest, too."""
    size = max(group, ADDING // group * group)

    def visit(c: Builder, first: Atom, count: int) -> None:
        positions = (c.add(first, index(turn)) for turn in range(count))
        found = [source.element(c, Position(i, (i,), 1, alone=True), ()) for i in positions]
        for turn, each in enumerate(found):
            _act_if(c, each, turn % ADDING, act)

    def loop(first: Atom, last: Atom, scale: int) -> None:
        with b.loop(first, last, hint="k") as (inside, k):
            visit(inside, inside.mul(k, index(scale)), scale)

    begin, end = b.ceil_div(lo, index(size)), b.apply("floordiv", hi, index(size))
    whole = b.apply("minimum", b.mul(begin, index(size)), hi)
    loop(lo, whole, 1)
    loop(begin, end, size)
    loop(b.apply("maximum", whole, b.mul(end, index(size))), hi, 1)


def _one_by_one(b: Builder, source: Source, lo: Atom, hi: Atom, act: Act) -> None:
    """Element by element, as the traversal goes."""

    def step(c: Builder, position: Position, state: State) -> State:
        found = source.element(c, position, state)
        _act_if(c, found, 0, act)
        return found[-1]

    one = min(1, source.writer.version.width)  # 0: folds may use the lanes
    source.writer.traverse((), width=one).block(b, lo, hi, source.carries, step)


def _act_if(b: Builder, found: tuple[Atom, list[Atom], Atom, State], turn: int, act: Act) -> None:
    """One element, if it goes anywhere."""
    place, values, mine, _ = found
    with b.when(mine) as inside:
        act(inside, place, values, turn)


ALONE = "one thread writes all elements where they are computed, in order"


class Owner(Division):
    """A division of the destination among blocks, which any sweep has."""

    name = "owner"
    writes_destination = True
    reason = "each thread writes a part of the destination of its own, and looks at all elements"
    chosen = When.ALWAYS
    divides_scans = True

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        own: Own = [("blocks", i64)]
        self.kernels = scattering.visiting("", self._write, own, self.why)
        self.alone = scattering.visiting("_alone", self._write_alone, own, ALONE)

    def launch(self, host: Builder) -> None:
        """One block for each thread, or one alone."""
        s = self.scattering
        is_alone = s.one_is_faster or host.apply("eq", s.threads, index(1))
        blocks = host.apply("select", is_alone, index(1), s.threads)
        s.launch(self.kernels, blocks, s.role, host, [blocks], self.alone, is_alone)

    def _write(self, writer: KernelWriter, own: Sequence[Var]) -> None:
        """All elements, of which a stage takes those of this block's part."""
        b, s = writer.b, self.scattering
        extent = writer.kernel.capture(s.extent)
        blocks = b.apply("maximum", own[0], index(1))  # so that a division needs no guard
        block = b.emit(BlockIndex())[0]
        first, last = (
            b.apply("floordiv", b.mul(number, extent), blocks)
            for number in (block, b.add(block, index(1)))
        )
        source = Source(s, writer, first, last)
        visit_staged(b, source, index(0), writer.total, self._act(writer))

    def _write_alone(self, writer: KernelWriter, own: Sequence[Var]) -> None:
        """All elements, by the only block."""
        extent = writer.kernel.capture(self.scattering.extent)
        source = Source(self.scattering, writer, index(0), extent)
        visit_share(writer.b, source, index(0), index(1), self._act(writer))

    def _act(self, writer: KernelWriter) -> Act:
        """Writes an element in the same way in every iteration of an unrolled body: the iteration
        depends on how many elements go to this block."""
        s, kernel = self.scattering, writer.kernel
        dest, combine = s.dest_in(kernel), s.anywhere(kernel)

        def act(b: Builder, place: Atom, values: Sequence[Atom], turn: int) -> None:
            s.write(kernel, b, dest, place, values, combine)

        return act


VISIT = 8
"""What finding a row's steps in a tile costs, in elements written."""
UNROLL = index(ADDING)
UNEVEN = "rows do not write in even steps"


class Strided(Division):
    """The kernel that writes a tile, and its launch."""

    name = "strided"
    writes_destination = True
    reason = (
        "tiles of the destination look for the elements of each row, since rows write in"
        " even steps and are long"
    )

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        own: Own = [*(("dest", BufferType(dtype)) for dtype in scattering.held), ("extent", i64)]
        self.kernel = scattering.later("_strided", self._write, own, self.why)

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        return super().obstacle(machine, facts) or ("" if _is_strided(facts) else UNEVEN)

    def _write(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        b, (*dest, extent) = kernel.body, own
        size = index(self._size())
        lo = b.mul(b.emit(BlockIndex())[0], size)
        hi = b.apply("minimum", b.add(lo, size), extent)
        writer = self.scattering.writer(kernel, width=1)
        _Tile(writer, self.scattering, dest, lo, hi).write(b)

    def _tiles(self, host: Builder) -> Atom:
        """How many tiles the destination has."""
        return host.ceil_div(self.scattering.extent, index(self._size()))

    def _size(self) -> int:
        """Elements of the destination that a block writes."""
        machine = self.scattering.lowering.machine
        return machine.among_streams // sum(dtype.bytes for dtype in self.scattering.held)

    def pays(self, host: Builder) -> Atom:
        """Whether rows are long enough to be looked up in every tile."""
        s, located = self.scattering, self.scattering.facts.located
        assert located is not None
        ends = s.lowering.scope.array(located.ends).shape[0]
        tiles, rows = self._tiles(host), host.sub(ends, index(located.skip))
        visits = host.mul(host.mul(rows, tiles), index(VISIT))
        return host.apply("le", visits, s.total)

    def launch(self, host: Builder) -> None:
        """One block for each tile."""
        s, own = self.scattering, (*self.scattering.dest, self.scattering.extent)
        s.lowering.launch(self.kernel, self._tiles(host), Role.VARIANT, host, own)


def _is_strided(facts: SweepFacts) -> bool:
    """Whether a sweep writes along each row in even steps, and fails nowhere."""
    op, located = facts.op, facts.located
    if located is None or facts.can_fail:
        return False
    if any(isinstance(let.op, Prefix) for let in walk_lets(op.body)):
        return False
    return along_rows(op, located).is_linear(op.body.results[0], op.body.params[0])


class _Tile:
    """One tile of the destination, [lo, hi)."""

    def __init__(
        self, writer: KernelWriter, scattering: Scattering, dest: Sequence[Var], lo: Atom, hi: Atom
    ) -> None:
        assert writer.located is not None
        self.writer = writer
        self.scattering = scattering
        self.dest = dest
        self.lo = lo
        self.hi = hi
        self.rows = rows_of(writer.kernel, writer.located)
        self.known = along_rows(writer.op, writer.located)

    def write(self, b: Builder) -> None:
        """Emits the loop over all rows; what a row's elements share is computed once."""
        with b.loop(index(0), self.rows.count, hint="r") as (outer, row):
            start, stop = self.rows.start(outer, row), self.rows.end(outer, row)
            fixed = self._fixed(outer, row, start)
            at = self._place(outer, fixed, start)
            stride = outer.sub(self._place(outer, fixed, outer.add(start, index(1))), at)
            size = outer.sub(stop, start)
            first, behind = self._steps(outer, at, stride, size)
            row_of_tile = _Row(start, at, stride, fixed)
            moderate = _moderate(outer, at, stride, size)
            with outer.branches(moderate) as (known, unknown):
                self._run(known, row_of_tile, first, behind, tested=False)
                self._run(unknown, row_of_tile, index(0), size, tested=True)

    def _run(self, b: Builder, row: _Row, lo: Atom, hi: Atom, *, tested: bool) -> None:
        """The steps lo to hi of a row; `tested` where some may lie outside the tile."""
        with in_lanes(b, 1) as region:
            mid = region.add(lo, region.round_down(region.sub(hi, lo), UNROLL))
            self._steps_written(region, row, lo, mid, ADDING, tested=tested)
            self._steps_written(region, row, mid, hi, 1, tested=tested)

    def _steps_written(
        self, b: Builder, row: _Row, lo: Atom, hi: Atom, turns: int, *, tested: bool
    ) -> None:
        """Emits an unrolled loop over the steps."""
        begin = b.add(row.at, b.mul(lo, row.stride))
        inner, k, (place,) = b.iteration("k", [begin])
        at: Atom = place
        for turn in range(turns):
            p = inner.add(inner.add(row.start, k), index(turn))
            self._write(inner, row.fixed, p, at, tested=tested)
            at = inner.add(at, row.stride)
        inner.close_loop(lo, hi, [begin], [at], turns)

    def _steps(self, b: Builder, at: Atom, stride: Atom, size: Atom) -> tuple[Atom, Atom]:
        """The first step of a row that falls into the tile, and the one after the last."""
        falls = b.apply("lt", stride, index(0))
        length = b.apply("maximum", b.apply("abs", stride), index(1))
        # measured along the row's direction: the tile begins `near` ahead, and ends `far` ahead
        near = b.apply("select", falls, b.add(b.sub(at, self.hi), index(1)), b.sub(self.lo, at))
        far = b.apply("select", falls, b.add(b.sub(at, self.lo), index(1)), b.sub(self.hi, at))
        first, behind = b.ceil_div(near, length), b.ceil_div(far, length)
        first = b.apply("minimum", b.apply("maximum", first, index(0)), size)
        behind = b.apply("minimum", b.apply("maximum", behind, first), size)
        return first, behind

    def _fixed(self, b: Builder, row: Atom, start: Atom) -> dict[Var, Atom]:
        """What is the same for all elements of a row."""
        elements = self._elements(start, {})
        elements.located, elements.row = self.writer.located, RowOf(row, start)
        lets = self.writer.op.body.lets
        elements.emit(b, [let for let in lets if not self.known.along(let.vars[0])])
        return elements.env

    def _elements(self, p: Atom, known: dict[Var, Atom]) -> Elements:
        writer = self.writer
        elements = Elements(writer.kernel, p, writer.lowering.checks)
        elements.env.update({**known, writer.op.body.params[0]: p})
        return elements

    def _computed(
        self, b: Builder, fixed: dict[Var, Atom], p: Atom, results: Sequence[Atom]
    ) -> Sequence[Atom]:
        """Some of what the element at p gives."""
        elements, lets = self._elements(p, fixed), needed_for(self.writer.op.body.lets, results)
        elements.emit(b, [let for let in lets if let.vars[0] not in fixed])
        return elements.atoms(results)

    def _place(self, b: Builder, fixed: dict[Var, Atom], p: Atom) -> Atom:
        """The index that the element at p writes to."""
        return self._computed(b, fixed, p, self.writer.op.body.results[:1])[0]

    def _write(
        self, b: Builder, fixed: dict[Var, Atom], p: Atom, place: Atom, *, tested: bool
    ) -> None:
        """Writes the element at p to its index if that falls into the tile."""
        values = list(self._computed(b, fixed, p, self.writer.op.body.results[1:]))
        mine = None
        if tested:
            above = b.cast(b.sub(place, self.lo), u64)
            mine = b.apply("lt", above, b.cast(b.sub(self.hi, self.lo), u64))
        with b.when(mine) as inside:
            if self.scattering.sink is not None:
                old = [inside.emit(Load(buffer, place))[0] for buffer in self.dest]
                new = cast_like(inside, self.dest, values)
                values = list(self.scattering.combine(self.writer.kernel, inside, old, new))
            store_each(inside, self.dest, place, values)


@record
class _Row:
    """One row: its first position, where that writes to, the way to the next, what all share."""

    start: Atom
    at: Atom
    stride: Atom
    fixed: dict[Var, Atom]


def _moderate(b: Builder, at: Atom, stride: Atom, size: Atom) -> Atom:
    """Whether a row moves at all, and no index of it can overflow."""
    moves = b.apply("ne", stride, index(0))
    half = isqrt(LONGEST)
    for value, bound in ((at, LONGEST), (stride, half), (size, half)):
        moves = b.apply("and", moves, b.apply("lt", value, index(bound)))
        moves = b.apply("and", moves, b.apply("gt", value, index(-bound)))
    return moves
