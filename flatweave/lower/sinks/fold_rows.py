"""Combining rows, where that is all a sweep does: as the rows of a block ask for.

    long rows       one after the other, all lanes along it; the rest of a row with some lanes idle
    short, even     a row for each lane, as many turns as the longest of them has elements
    short, uneven   by position, as segments (sinks/segments.py)

A row that ends in the block is stored; the last one is the block's carry-out, as in
`sinks/segments.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.collectives import ReduceLanes, ShiftLanes
from flatweave.kernel_ir.syntax import Lane, Lanes, Store
from flatweave.lower.schedule.plan import Along
from flatweave.lower.schedule.strides import Course, course_of, courses_along_rows
from flatweave.lower.sinks.combine_segments import SegmentSink
from flatweave.lower.sinks.segment_rows import fill, located_rows, results_of
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.sink import Share
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.row_of_position import RowOf, Rows
from flatweave.ops import CombineRows, Index
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import walk_lets

WIDTH = 16
"""Lanes of a step: fewer would wait for each other, more would idle at the end of a row."""
IDLE = 4
"""How many lanes there may be for each element where rows lie side by side."""


def write_rows(writer: KernelWriter, sinks: Sequence[SegmentSink]) -> None:
    """Write the kernel: long rows one by one, short ones a lane each, uneven ones by position."""
    b = writer.b
    block, lo, hi = writer.block()
    rows = writer.rows()
    folder = _Folder(writer, sinks, rows, block, lo, hi)
    along = writer.traversal.along
    if along is Along.ROW:
        return folder.write(b, folder.one_by_one)
    if along is Along.ROWS:
        return folder.write(b, folder.lane_by_lane)
    if folder.reads_elements():
        return Passes(writer, sinks).write_block(block, lo, hi)
    even, uneven = b.inner(), b.inner()
    writer.b = uneven
    Passes(writer, sinks).write_block(block, lo, hi)
    writer.b = b
    folder.write(even, folder.lane_by_lane)
    b.emit(If(folder.are_even(b), even.close([], []), uneven.close([], [])))
    return None


class _Folder:
    """The rows of one block."""

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[SegmentSink], rows: Rows, block: Atom,
        lo: Atom, hi: Atom,
    ) -> None:  # fmt: skip
        self.writer = writer
        self.rows = rows
        self.slot = block
        self.lo = lo
        self.hi = hi
        self.sinks: list[CombineRows] = [each.sink for each in sinks]
        self.buffers = [each.segmented for each in sinks]
        self.neutral = tuple(
            writer.kernel.scalar(atom) for sink in self.sinks for atom in sink.neutral
        )

    def write(self, b: Builder, fold: Callable[[Builder, Atom, Atom], State]) -> None:
        """Rows by `fold`, which is told the first and the last; what that has is left as a tail."""
        writer, machine = self.writer, self.writer.lowering.machine
        share = Share(self.lo, self.hi, writer.total, b.apply("eq", self.slot, index(0)))
        found = [
            results_of(writer.kernel, sink, buffers)
            for sink, buffers in zip(self.sinks, self.buffers, strict=True)
        ]
        opened = [located_rows(b, machine, results, self.rows, share) for results in found]
        before, last = opened[0].before, opened[0].last
        some, none = b.inner(), b.inner()
        first = self.rows.search_once(some, self.lo)[0]
        for results in found:
            fill(some, machine, results, before, first)
        carry_outs = some.close([], fold(some, first, last))
        any_ = b.apply("lt", self.lo, self.hi)
        self._leave(b, before, last, b.emit(If(any_, carry_outs, none.close([], self.neutral))))

    def _store(self, b: Builder, row: Atom, values: Sequence[Atom]) -> None:
        """The results of a row, or of each lane's."""
        buffers = [buffer for group in self.buffers for buffer in group.results]
        for buffer, value in zip(buffers, values, strict=True):
            b.emit(Store(self.writer.kernel.buffer(buffer), row, value))

    def one_by_one(self, b: Builder, first: Atom, last: Atom) -> State:
        """All lanes along one row after the other."""
        outer = b.inner()
        row = outer.param("r", i64)
        self._store(outer, row, self._fold(outer, row))
        b.emit(For(first, last, index(1), outer.close([row], []), ()))
        return self._fold(b, last)

    def reads_elements(self) -> bool:
        """Whether lanes on rows of their own would read memory far apart."""
        op, located = self.writer.op, self.writer.located
        assert located is not None
        courses = courses_along_rows(op, located)
        reads = [let.op for let in walk_lets(op.body) if isinstance(let.op, Index)]
        return any(
            course_of(courses, i) is not Course.FIXED for read in reads for i in read.indices
        )

    def are_even(self, b: Builder) -> Atom:
        """Whether a row for each lane leaves few lanes idle."""
        first, behind = self.rows.between(b, self.lo, self.hi)
        region = b.inner()
        loop = region.inner()
        base, turns = loop.param("r", i64), loop.param("n", i64)
        length = self._lengths(loop, base, behind)[2]
        (longest,) = loop.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))
        body = loop.close([base, turns], [loop.add(turns, longest)])
        found = region.emit(For(first, behind, index(WIDTH), body, (index(0),)))
        (turns_,) = b.emit(Lanes(WIDTH, region.close([], found)))
        room = b.mul(b.sub(self.hi, self.lo), index(IDLE))
        return b.apply("le", b.mul(turns_, index(WIDTH)), room)

    def _lengths(self, b: Builder, base: Atom, behind: Atom) -> tuple[Atom, Atom, Atom]:
        """The row of each lane from `base` on, where it begins in the block, and how long it is
        there; rows from `behind` on are empty."""
        row = b.emit(Lane(base))[0]
        some, none = b.inner(), b.inner()
        there = some.close([], [self.rows.end(some, row)])
        (end,) = b.emit(If(b.apply("lt", row, behind), there, none.close([], [index(0)])))
        start: Atom = b.emit(ShiftLanes((self.rows.start(b, base),), (end,)))[0]
        lo = b.apply("maximum", start, self.lo)
        length = b.sub(b.apply("minimum", end, self.hi), lo)
        return row, start, b.apply("maximum", length, index(0))

    def lane_by_lane(self, b: Builder, first: Atom, last: Atom) -> State:
        """A row for each lane, as many turns as the longest row of a step asks for."""
        region = b.inner()
        loop = region.inner()
        base = loop.param("r", i64)
        row, start, length = self._lengths(loop, base, last)
        (longest,) = loop.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))
        inner = loop.inner()
        turn = inner.param("t", i64)
        known = tuple(inner.param("s", atom.type) for atom in self.neutral)
        flat = inner.add(inner.apply("maximum", start, self.lo), turn)
        active, idle = inner.inner(), inner.inner()
        values = self._values(active, flat, RowOf(row, start))
        joined = active.close([], self._each(active, known, values, lanewise=True))
        there = inner.apply("lt", turn, length)
        body = inner.close([turn, *known], inner.emit(If(there, joined, idle.close([], known))))
        results: State = loop.emit(For(index(0), longest, index(1), body, self.neutral))
        stored = loop.inner()
        self._store(stored, row, results)
        loop.emit(If(loop.apply("lt", row, last), stored.close([], []), NO_BODY))
        region.emit(For(first, last, index(WIDTH), loop.close([base], []), ()))
        b.emit(Lanes(WIDTH, region.close([], [])))
        return self._fold(b, last)

    def _leave(self, b: Builder, before: Atom, last: Atom, carry_outs: State) -> None:
        """The rows open at both ends of the block, and the value of the last."""
        kernel, left = self.writer.kernel, list(carry_outs)
        for buffers in self.buffers:
            mine, left = left[: len(buffers.carry_outs)], left[len(buffers.carry_outs) :]
            pairs = zip((buffers.firsts, buffers.lasts, *buffers.carry_outs), (before, last, *mine),
                        strict=True)  # fmt: skip
            for buffer, value in pairs:
                b.emit(Store(kernel.buffer(buffer), self.slot, value))

    def _fold(self, b: Builder, row: Atom) -> State:
        """The elements of a row that lie in the block, combined."""
        start = self.rows.start(b, row)
        lo = b.apply("maximum", start, self.lo)
        hi = b.apply("minimum", self.rows.end(b, row), self.hi)
        whole = b.apply("floordiv", b.sub(hi, lo), index(WIDTH))
        mid = b.add(lo, b.mul(whole, index(WIDTH)))
        region = b.inner()
        loop = region.inner()
        i = loop.param("i", i64)
        known = tuple(loop.param("s", atom.type) for atom in self.neutral)
        flat = loop.emit(Lane(i))[0]
        turn = self._each(loop, known, self._values(loop, flat, RowOf(row, start)), lanewise=False)
        body = loop.close([i, *known], turn)
        state: State = region.emit(For(lo, mid, index(WIDTH), body, self.neutral))
        state = self._rest(region, state, RowOf(row, start), mid, hi)
        return b.emit(Lanes(WIDTH, region.close([], self._joined(region, state))))

    def _rest(self, b: Builder, state: State, row: RowOf, mid: Atom, hi: Atom) -> State:
        """What is left of a row after its whole steps."""
        flat = b.emit(Lane(mid))[0]
        some, none = b.inner(), b.inner()
        values = self._values(some, flat, row)
        there = b.apply("lt", flat, hi)
        found: State = b.emit(If(there, some.close([], values), none.close([], self.neutral)))
        return self._each(b, state, found, lanewise=False)

    def _values(self, b: Builder, flat: Atom, row: RowOf) -> list[Atom]:
        """What the elements of a step hand to the sinks."""
        op = self.writer.op
        elements = self.writer.elements(Position(flat, (flat,), WIDTH, row=row))
        b.hoists, hoists = False, b.hoists
        elements.emit(b, op.body.lets)
        b.hoists = hoists
        return [elements.atom(atom) for taken in op.portions() for atom in taken[2:]]

    def _each(
        self, b: Builder, state: Sequence[Atom], values: Sequence[Atom], *, lanewise: bool
    ) -> State:
        """For each sink its part combined with the state: `lanewise` where each lane has a row of
        its own, else in order across the lanes unless the operator commutes."""
        out: list[Atom] = []
        for sink in self.sinks:
            part = slice(len(out), len(out) + len(sink.neutral))
            mine: Sequence[Atom] = values[part]
            if not (lanewise or is_commutative(sink.fn)):
                mine = self._across(b, sink, mine)
            out.extend(self.writer.call(b, sink.fn, [*state[part], *mine]))
        return tuple(out)

    def _joined(self, b: Builder, state: State) -> State:
        """What the lanes of a row have, combined."""
        out: list[Atom] = []
        for sink in self.sinks:
            mine = state[len(out) : len(out) + len(sink.neutral)]
            out.extend(self._across(b, sink, mine) if is_commutative(sink.fn) else mine)
        return tuple(out)

    def _across(self, b: Builder, sink: CombineRows, values: Sequence[Atom]) -> Sequence[Atom]:
        elements = self.writer.elements(Position(index(0), (index(0),), 1))
        return b.emit(ReduceLanes(elements.function(b, sink.fn), tuple(values)))
