"""Scattering, owner by owner: block p owns a part of the destination and looks at all elements.

    block p:   for each chunk of elements, in order:
                   those that go to p's part, on all lanes, into shared memory
                   one by one from there to their places

A block that owns all of it writes cheap elements where they are computed, without a stage. Any
operator, nothing atomic, the same bits for any division; but each block looks at everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.host.context import Own
from flatweave.lower.machine.cost import room
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.scattering import (
    UNROLLED,
    Division,
    Scattering,
    Source,
    Stage,
    one_by_one,
)
from flatweave.lower.schedule.plan import When
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State
from flatweave.nest.schedule import Axis
from flatweave.ops import Sweep
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, Apply, For, If
from flatweave.terms.syntax import Atom, Const, Var

# -- How a block visits elements: each is computed, then handed on to be written -------------------
#
#     staged       a chunk of them on all lanes into shared memory, then one by one from there
#     in groups    some neighbours are computed, then written: what they share is computed once
#     one by one   as the traversal goes
#
# A stage pays where lanes save work, or where most elements are another block's.


CHEAP = 8
"""A body up to this cost is computed where its element is written, without a stage."""
MOST_NEIGHBOURS = 8
"""Elements of one source that are computed together, without a stage, at most."""

Act = Callable[[Builder, Atom, Sequence[Atom], int], None]
"""Writes an element: its place, its varying values, and which turn of a loop takes it."""


def chunk_of(machine: Machine) -> int:
    """Elements staged at a time: their indices have room in the nearest cache."""
    return room(machine.first_level) // i64.bytes


def visit_staged(b: Builder, source: Source, lo: Atom, hi: Atom, act: Act) -> None:
    """The elements lo to hi that `source` lets through, chunk after chunk."""
    size = chunk_of(source.scattering.lowering.machine)
    stage = Stage.of(b, source.scattering, size)
    chunks = b.inner()
    at = chunks.param("c", i64)
    carries = source.carries
    state = tuple(chunks.param("s", atom.type) for atom in carries)
    stop = chunks.apply("minimum", chunks.add(at, index(size)), hi)
    count, after = stage.fill(chunks, source, at, stop, state)
    one_by_one(
        chunks, index(0), count, lambda c, k, turn: act(c, *stage.element(c, k), turn)
    )
    b.emit(For(lo, hi, index(size), chunks.close([at, *state], after), carries))


def visit_share(b: Builder, source: Source, block: Atom, blocks: Atom, act: Act) -> None:
    """The elements of one of `blocks` shares, all of which this block writes."""
    writer, op = source.writer, source.scattering.op
    near, cheap = neighbours(op), cost_of_body(op.body) <= CHEAP
    if _is_in_a_row(writer) and (near > 1 or cheap):
        size = max(near, UNROLLED // near * near)
        _in_groups(b, source, block, blocks, size, act)
        return
    lo, hi = writer.share(b, block, blocks)
    if cheap:
        _one_by_one(b, source, lo, hi, act)
    else:
        visit_staged(b, source, lo, hi, act)


def neighbours(op: Sweep) -> int:
    """How many neighbours share a source, in an expansion by a small constant; else 1."""
    for let in op.body.lets:
        if isinstance(let.op, Apply) and let.op.fn == "floordiv":
            position, size = let.op.args
            if position is op.body.params[-1] and isinstance(size, Const):
                return int(size.value) if 1 < size.value <= MOST_NEIGHBOURS else 1
    return 1


def _is_in_a_row(writer: KernelWriter) -> bool:
    """Whether elements are visited one after the other, by nothing but their position."""
    by_row = writer.version.lanes.axis is Axis.LAST
    turned = by_row or writer.op.reverse or writer.located is not None or writer.scans.depth > 0
    return len(writer.shape) == 1 and not turned


def _in_groups(
    b: Builder, source: Source, block: Atom, blocks: Atom, size: int, act: Act
) -> None:
    """So many neighbours are computed, then written: what they share is computed once."""
    total, each = source.writer.total, index(size)

    def group(c: Builder, first: Atom, count: int) -> None:
        found = []
        for turn in range(count):
            i = c.add(first, index(turn))
            found.append(source.element(c, Position(i, (i,), 1, alone=True), ()))
        for turn, (place, values, mine, _) in enumerate(found):
            _act_if(c, mine, place, values, turn % UNROLLED, act)

    def bound(number: Atom) -> Atom:
        part = b.apply("floordiv", b.mul(number, total), blocks)
        return b.apply("floordiv", part, each)

    lo, hi = bound(block), bound(b.add(block, index(1)))
    loop = b.inner()
    k = loop.param("k", i64)
    group(loop, loop.mul(k, each), size)
    b.emit(For(lo, hi, index(1), loop.close([k], []), ()))
    last = b.apply("eq", b.add(block, index(1)), blocks)
    rest = b.inner()
    i = rest.param("i", i64)
    group(rest, i, 1)
    stop = b.mul(hi, each)
    behind = b.apply("select", last, total, stop)
    b.emit(For(stop, behind, index(1), rest.close([i], []), ()))


def _one_by_one(b: Builder, source: Source, lo: Atom, hi: Atom, act: Act) -> None:
    """Element by element, as the traversal goes."""

    def step(c: Builder, position: Position, state: State) -> State:
        place, values, mine, after = source.element(c, position, state)
        _act_if(c, mine, place, values, 0, act)
        return after

    one = min(1, source.writer.version.width)  # 0: folds may use the lanes
    source.writer.traverse((), width=one).block(b, lo, hi, source.carries, step)


def _act_if(
    b: Builder, mine: Atom, place: Atom, values: Sequence[Atom], turn: int, act: Act
) -> None:
    """One element, if it goes anywhere."""
    inside = b.inner()
    act(inside, place, values, turn)
    b.emit(If(mine, inside.close([], []), NO_BODY))


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
        """Writes an element, so that it does not matter which turn of a loop takes it: that
        depends on how many go to this block."""
        s, kernel = self.scattering, writer.kernel
        dest, combine = s.dest_in(kernel), s.anywhere(kernel)

        def act(b: Builder, place: Atom, values: Sequence[Atom], turn: int) -> None:
            s.write(kernel, b, dest, place, values, combine)

        return act
