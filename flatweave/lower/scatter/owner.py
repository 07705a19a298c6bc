"""Scattering, owner by owner: block p owns a part of the destination and looks at all elements.

    block p:   for each chunk of elements, in order:
                   those that go to p's part, on all lanes, into shared memory
                   one by one from there to the destination

A block that owns all of it writes cheap elements where they are computed, without a stage. Any
operator, nothing atomic, the same bits for any division; but each block looks at everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.context import Own
from flatweave.lower.machine import Machine, room
from flatweave.lower.scatter.scattering import (
    UNROLLED,
    Division,
    Scattering,
    Source,
    Stage,
    one_by_one,
)
from flatweave.lower.schedule.plan import When
from flatweave.lower.schedule.steps import Axis
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var

# -- How a block visits elements: each is computed, then handed on to be written -------------------
#
#     staged       a chunk of them on all lanes into shared memory, then one by one from there
#     in groups    neighbours that share a source are computed, then written: what they share is
#                  computed once
#     one by one   as the traversal goes; where that is by position alone, some in an iteration
#
# A stage pays where lanes save work, or where most elements are another block's.


CHEAP = 8
"""A body up to this cost is computed where its element is written, without a stage."""

Act = Callable[[Builder, Atom, Sequence[Atom], int], None]
"""Writes an element, given its index, its varying values and its iteration in an unrolled body."""


def chunk_of(machine: Machine) -> int:
    """Elements staged at a time: their indices have room in the nearest cache."""
    return room(machine.first_level) // i64.bytes


def visit_staged(b: Builder, source: Source, lo: Atom, hi: Atom, act: Act) -> None:
    """The elements lo to hi that `source` lets through, chunk after chunk."""
    size = chunk_of(source.scattering.lowering.machine)
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
    if 1 < group <= 2 * UNROLLED:  # the corners of a cube; more are too much code
        _in_groups(b, source, lo, hi, group, act)
    elif cost_of_body(body) > CHEAP:
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
    size = max(group, UNROLLED // group * group)

    def visit(c: Builder, first: Atom, count: int) -> None:
        positions = (c.add(first, index(turn)) for turn in range(count))
        found = [source.element(c, Position(i, (i,), 1, alone=True), ()) for i in positions]
        for turn, each in enumerate(found):
            _act_if(c, each, turn % UNROLLED, act)

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
