"""Combining rows, for a sweep that does nothing else: each block adapts to its rows.

    not very short  row after row, all lanes along it; the rest of a row with some lanes idle.
                    If elements are cheap, a group of as many rows as lanes: each is combined in a
                    register, in as few steps as fit all, and then all together (`reduce_rows`);
                    flags are combined as words
    short, even     a row for each lane, with an iteration for each element of the longest
    short, uneven   by position, as segments (sweep/segments.py)
    with scans      that start with each row: one lane along it, or by position

Where lanes are threads, each warp has a part of the block, and takes as many rows as it has lanes
at a time: a row for each lane where these are short, else all lanes along each of them.

A row that ends in the block is stored; the last one is the block's carry-out, as in
`sweep/segments.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.syntax import Lane, Lanes, Shared, Store
from flatweave.kernel_ir.warp_ops import Ballot, ReduceLanes, ShiftLanes
from flatweave.lower.element_functions import rows_of
from flatweave.lower.kernel_builder import HostArray
from flatweave.lower.machine import ADDING
from flatweave.lower.schedule.division import along_rows, flag_folds
from flatweave.lower.schedule.steps import Along
from flatweave.lower.sweep import row_elements, segment_rows
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.scans import Prefixes
from flatweave.lower.sweep.segments import Places, SegmentSink, segmented_buffers
from flatweave.lower.sweep.writer import HostSweep, KernelWriter, LoweredSink, Share
from flatweave.lower.traverse import row_lookup
from flatweave.lower.traverse.steps import Position, State, slot_of_warp, steps_of
from flatweave.ops import Index, Prefix
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.operators import carried_by, cast_each
from flatweave.terms.syntax import Atom, Var, scalar_type
from flatweave.terms.traverse import needed_for, walk_lets

IDLE = 4
"""How many lanes there may be for each element where rows are side by side."""


def write_rows(writer: KernelWriter, sinks: Sequence[SegmentSink]) -> None:
    """Write the kernel: rows one by one or side by side, short ones a lane each or by position."""
    b = writer.b
    block, lo, hi = writer.block()
    rows, machine = writer.rows(), writer.lowering.machine
    along = writer.version.rows.along
    if along is Along.GROUPS:
        first, _, end = steps_of(machine).share(b, lo, hi, machine.lanes([]))
        slot = slot_of_warp(b, machine, block)
        folder = _Folder(writer, sinks, rows, slot, first, end)
        return folder.write(b, folder.in_groups)
    folder = _Folder(writer, sinks, rows, block, lo, hi)
    if writer.scans.depth:
        if along is not Along.ROW:
            return Passes(writer, sinks).write_block(block, lo, hi)
        before = Prefixes(writer, None).find(block, lo, hi)
        folder.elements = segment_rows.RowScans(writer, folder.elements.sinks, before)
        folder.width = folder.elements.width
        return folder.write(b, folder.one_by_one)
    if along is Along.ROW:
        at_once, located = folder.elements.at_once, writer.located
        assert located is not None
        sinks_, begun = folder.elements.sinks, folder.elements.begun
        folds = flag_folds(writer.op, located, sinks_, begun) if at_once else None
        if folds is not None:
            folder.elements = row_elements.RowFlags(writer, sinks_, folds)
            folder.width = folder.elements.width
        return folder.write(b, folder.side_by_side if at_once else folder.one_by_one)
    if along is Along.ROWS:
        return folder.write(b, folder.lane_by_lane)
    if _reads_elements(writer):
        return Passes(writer, sinks).write_block(block, lo, hi)
    with b.branches(folder.are_even(b)) as (even, uneven):
        writer.b = uneven
        Passes(writer, sinks).write_block(block, lo, hi)
        writer.b = b
        folder.write(even, folder.lane_by_lane)
    return None


class _Folder:
    """The rows of one block."""

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[SegmentSink], rows: row_lookup.Rows,
        block: Atom, lo: Atom, hi: Atom,
    ) -> None:  # fmt: skip
        self.writer = writer
        self.rows = rows
        self.slot = block
        self.lo = lo
        self.hi = hi
        self.elements = row_elements.RowElements(writer, [each.sink for each in sinks])
        self.buffers = [each.segmented for each in sinks]
        self.neutral = self.elements.neutral
        self.width = self.elements.width

    def write(self, b: Builder, fold: Callable[[Builder, Atom, Atom], State]) -> None:
        """Combine rows by `fold`, which takes the first and the last and returns the carry-out."""
        writer, machine = self.writer, self.writer.lowering.machine
        share = Share(self.lo, self.hi, writer.total, b.apply("eq", self.slot, index(0)))
        found = [
            segment_rows.results_of(writer.kernel, sink, buffers)
            for sink, buffers in zip(self.elements.sinks, self.buffers, strict=True)
        ]
        before, last = ends = segment_rows.row_ends(b, self.rows, share)
        for results in found:
            segment_rows.located_rows(b, machine, results, self.rows, share, ends)

        def some(c: Builder) -> State:
            first = self._first(c, before)
            for results in found:
                segment_rows.fill(c, machine, results, before, first)
            return fold(c, first, last)

        any_ = b.apply("lt", self.lo, self.hi)
        self._leave(b, before, last, b.choose(any_, some, lambda _: self.neutral))

    def _store(self, b: Builder, row: Atom, values: Sequence[Atom]) -> None:
        """The results of a row, or of each lane's."""
        buffers = [buffer for group in self.buffers for buffer in group.results]
        store_each(b, map(self.writer.kernel.buffer, buffers), row, values)

    def _first(self, b: Builder, before: Atom) -> Atom:
        """The row of the block's first element, from that of the one before it on."""
        return self.rows.one(b, self.lo, (before, self.rows.start(b, before)))[0]

    def side_by_side(self, b: Builder, first: Atom, last: Atom) -> State:
        """As many rows as there are lanes, each combined in a separate register; these are stored
        as a square, whose rows are combined at once; or each is a word, which gives its result. The
        last rows of all, past which nothing can be read, are combined one by one."""
        words = isinstance(self.elements, row_elements.RowFlags)
        of_lanes = () if words else self.neutral
        square = [_square(self.writer, b, self.width, atom) for atom in of_lanes]
        start = b.apply("maximum", self.rows.start(b, first), self.lo)
        near = self._near_end(b, first, last)
        with in_lanes(b, self.width) as region:
            group, base, (at,) = region.iteration("r", [start])
            number = group.emit(Lane(base))[0]
            there = group.apply("lt", number, near)
            (length,) = group.choose(
                there, lambda c: [c.sub(self.rows.end(c, number), self.rows.start(c, number))],
                lambda _: [index(0)],
            )  # fmt: skip
            count = group.apply("minimum", group.sub(near, base), index(self.width))
            steps = self.elements.steps
            behind = self._in_steps(group, steps, length, square, base, count, at)
            if square:
                with group.when(there) as stored:
                    self._store(stored, number, self.elements.rows_joined(group, square))
            group.close_loop(first, near, [start], behind, self.width)
        return self.one_by_one(b, near, last)

    def _near_end(self, b: Builder, first: Atom, last: Atom) -> Atom:
        """The first row, up to `last`, past which too few elements can be read."""
        furthest = b.sub(self.writer.total, index(self.elements.ahead))

        def near(c: Builder) -> State:
            row = self.rows.search_once(c, c.apply("maximum", furthest, index(0)))[0]
            return (c.apply("maximum", c.apply("minimum", row, last), first),)

        return b.choose(b.apply("le", self.hi, furthest), lambda _: [last], near)[0]

    def _in_steps(
        self, b: Builder, steps: Sequence[int], length: Atom, square: Sequence[Var], base: Atom,
        count: Atom, at: Atom,
    ) -> State:  # fmt: skip
        """The lanes' values of a group of rows, by the least number of steps that all fit into; and
        where the group ends."""

        def rows(c: Builder) -> State:
            inner, turn, (lo,) = c.iteration("j", [at])
            row = inner.add(base, turn)
            hi = self.rows.end(inner, row)
            of_row = row_lookup.RowOf(row, self.rows.start(inner, row))
            if steps:
                found = self.elements.fold_short(inner, of_row, lo, inner.sub(hi, lo), steps[0])
            else:
                found = self.elements.fold(inner, of_row, lo, hi, ahead=True)
            if square:
                place = inner.emit(Lane(inner.mul(turn, index(self.width))))[0]
                store_each(inner, square, place, found)
            else:
                self._store(inner, row, found)
            return inner.close_loop(index(0), count, [at], [hi])

        if not steps:
            return rows(b)
        (longer,) = b.emit(Ballot(b.apply("gt", length, index(steps[0] * self.width))))
        return b.choose(
            b.apply("eq", longer, row_elements.NO_BITS), rows,
            lambda c: self._in_steps(c, steps[1:], length, square, base, count, at),
        )  # fmt: skip

    def one_by_one(self, b: Builder, first: Atom, last: Atom) -> State:
        """All lanes along one row after the other."""
        outer, row, known = b.iteration("r", self.neutral)
        found = self._fold(outer, row)
        with outer.when(outer.apply("lt", row, last)) as ends:
            self._store(ends, row, found)
        return outer.close_loop(first, b.add(last, index(1)), self.neutral, found)

    def _along(self, b: Builder, first: Atom, last: Atom) -> None:
        """The same of rows that end in the block."""
        with b.loop(first, last, hint="r") as (outer, row):
            self._store(outer, row, self._fold(outer, row))

    def are_even(self, b: Builder) -> Atom:
        """Whether a row for each lane leaves few lanes idle."""
        first, behind = self.rows.between(b, self.lo, self.hi)
        region = b.inner()
        loop, base, (turns,) = region.iteration("r", [index(0)])
        length = self._lengths(loop, base, behind)[2]
        after = [loop.add(turns, self._longest(loop, length))]
        found = loop.close_loop(first, behind, [index(0)], after, self.width)
        (turns_,) = b.emit(Lanes(self.width, region.close([], found)))
        room = b.mul(b.sub(self.hi, self.lo), index(IDLE))
        return b.apply("le", b.mul(turns_, index(self.width)), room)

    def _longest(self, b: Builder, length: Atom) -> Atom:
        """The length of the longest row among those of the lanes."""
        return b.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))[0]

    def _lengths(self, b: Builder, base: Atom, behind: Atom) -> tuple[Atom, Atom, Atom]:
        """The row of each lane from `base` on, where it begins in the block, and how long it is
        there; rows from index `behind` on are empty."""
        row = b.emit(Lane(base))[0]
        there = b.apply("lt", row, behind)
        (end,) = b.choose(there, lambda c: [self.rows.end(c, row)], lambda _: [index(0)])
        start: Atom = b.emit(ShiftLanes((self.rows.start(b, base),), (end,)))[0]
        lo = b.apply("maximum", start, self.lo)
        length = b.sub(b.apply("minimum", end, self.hi), lo)
        return row, start, b.apply("maximum", length, index(0))

    def lane_by_lane(self, b: Builder, first: Atom, last: Atom) -> State:
        """A row for each lane, as many iterations as the longest row of a step requires."""
        with in_lanes(b, self.width) as c, c.loop(first, last, self.width, "r") as (loop, base):
            row, start, length = self._lengths(loop, base, last)
            self._group(loop, row, start, length, self._longest(loop, length), last)
        return self._fold(b, last)

    def _group(
        self, b: Builder, row: Atom, start: Atom, length: Atom, longest: Atom, last: Atom
    ) -> None:
        """A row for each lane, inside of lanes; those below `last` are stored. Threads load the
        values of several iterations before they combine them."""
        of_row, at = row_lookup.RowOf(row, start), b.apply("maximum", start, self.lo)
        at_once = ADDING if self.writer.version.rows.along is Along.GROUPS else 1
        inner, turn, known = b.iteration("t", self.neutral)
        found = [
            self._value(inner, of_row, at, inner.add(turn, index(k)), length)
            for k in range(at_once)
        ]
        state = known
        for there, values in found:
            each = partial(self.elements.each, state=state, values=values, lanewise=True)
            state = inner.choose(there, each, partial(_unchanged, state))
        results = inner.close_loop(index(0), longest, self.neutral, state, at_once)
        with b.when(b.apply("lt", row, last)) as stored:
            self._store(stored, row, results)

    def _value(
        self, b: Builder, row: row_lookup.RowOf, at: Atom, turn: Atom, length: Atom
    ) -> tuple[Atom, State]:
        """Whether a lane's row has an element of this number from `at` on, and its values."""
        there = b.apply("lt", turn, length)
        return there, b.choose(
            there, lambda c: self.elements.values(c, c.add(at, turn), row, begun=True),
            lambda _: self.neutral,
        )  # fmt: skip

    def in_groups(self, b: Builder, first: Atom, last: Atom) -> State:
        """As many rows as there are lanes at a time: each in its lane where the rows of the group
        have fewer elements than a step on the average, and none more than all lanes load at once;
        else all lanes along one row after the other. A sum of f32 in one lane has the error of
        NumPy's blocks of 128."""
        size = index(self.width)
        with b.loop(first, last, size, hint="r") as (group, base):
            behind = group.apply("minimum", group.add(base, size), last)
            start = group.apply("maximum", self.rows.start(group, base), self.lo)
            elements = group.sub(self.rows.start(group, behind), start)
            region = group.inner()
            length = self._lengths(region, base, last)[2]
            body = region.close([], [self._longest(region, length)])
            (longest,) = group.emit(Lanes(self.width, body))
            few = group.apply("le", elements, index(self.width * self.width))
            short = group.apply("le", longest, index(self.width * ADDING))
            with group.branches(group.apply("and", few, short)) as (each, along):
                with in_lanes(each, self.width) as region:
                    self._group(region, *self._lengths(region, base, last), longest, last)
                self._along(along, base, behind)
        return self._fold(b, last)

    def _leave(self, b: Builder, before: Atom, last: Atom, carry_outs: State) -> None:
        """The rows open at both ends of the block, and the value of the last."""
        kernel, left = self.writer.kernel, list(carry_outs)
        for sink, buffers in zip(self.elements.sinks, self.buffers, strict=True):
            mine, left = left[: len(buffers.carry_outs)], left[len(buffers.carry_outs) :]
            carried = cast_each(b, mine, carried_by(sink.fn).result_types())
            pairs = zip((buffers.firsts, buffers.lasts, *buffers.carry_outs),
                        (before, last, *carried), strict=True)  # fmt: skip
            for buffer, value in pairs:
                b.emit(Store(kernel.buffer(buffer), self.slot, value))

    def _fold(self, b: Builder, row: Atom) -> State:
        """The elements of a row in the block, combined."""
        start = self.rows.start(b, row)
        lo = b.apply("maximum", start, self.lo)
        hi = b.apply("minimum", self.rows.end(b, row), self.hi)
        region = b.inner()
        state = self.elements.fold(region, row_lookup.RowOf(row, start), lo, hi)
        joined = self.elements.joined(region, state)
        return b.emit(Lanes(self.elements.width, region.close([], joined)))


def _unchanged(state: State, b: Builder) -> State:
    """The state in lanes that are idle."""
    return state


def _square(writer: KernelWriter, b: Builder, width: int, neutral: Atom) -> Var:
    """The values of the lanes of as many rows, initially neutral."""
    size = width * width
    room = writer.kernel.body.emit(Shared(scalar_type(neutral), size))[0]
    with in_lanes(b, width) as c, c.loop(index(0), index(size), width) as (loop, at):
        loop.emit(Store(room, loop.emit(Lane(at))[0], neutral))
    return room


def _reads_elements(writer: KernelWriter) -> bool:
    """Whether lanes on separate rows would read memory with a large stride."""
    assert writer.located is not None
    known = along_rows(writer.op, writer.located)
    reads = [let.op for let in walk_lets(writer.op.body) if isinstance(let.op, Index)]
    return any(known.along(i) for read in reads for i in read.indices)


# -- Segments that are rows, combined: the result of row r is stored at index r --------------------


class CombineRowsSink(SegmentSink):
    """Rows without elements have the neutral one, so there is a block to fill them."""

    least_blocks: ClassVar[int] = 1

    def allocate(self, sweep: HostSweep) -> None:
        room = sweep.lowering.scope.scalar(self.sink.rows)
        self.segmented = segmented_buffers(sweep.lowering, self.sink, room, sweep.blocks)

    def places(self, writer: KernelWriter, share: Share) -> Places:
        b, machine = writer.b, writer.lowering.machine
        results = segment_rows.results_of(writer.kernel, self.sink, self.segmented)
        if writer.heads is None:
            row = self.taken[0]
            at = self._row_at(writer, row)
            return segment_rows.filled_rows(b, machine, results, row, at, share)
        located = rows_of(writer.kernel, writer.heads.located)
        ends = segment_rows.row_ends(b, located, share)
        return segment_rows.located_rows(b, machine, results, located, share, ends)

    def _row_at(self, writer: KernelWriter, row: Atom) -> segment_rows.RowAt:
        """A function that emits the row of any position."""
        lets = needed_for(writer.op.body.lets, [row])
        if any(isinstance(let.op, Prefix) for let in lets):
            raise CompilerBug("the row of combine_rows depends on a prefix.")

        def at(b: Builder, flat: Atom) -> Atom:
            shape = [writer.kernel.scalar(extent) for extent in writer.op.shape]
            elements = writer.elements(Position(flat, b.unravel(flat, shape), 1, alone=True))
            elements.emit(b, lets)
            return elements.atom(row)

        return at

    def bind(self, sweep: HostSweep) -> None:
        scope = sweep.lowering.scope
        extent = scope.scalar(self.sink.rows)
        for var, buffer in zip(self.vars, self.segmented.results, strict=True):
            scope.bind(var, HostArray(buffer, (extent,)))

    def write_alone(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        write_rows(writer, [s for s in sinks if isinstance(s, SegmentSink)])
