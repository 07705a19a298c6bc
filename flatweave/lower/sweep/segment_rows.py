"""Rows combined into one result each: segments that are rows, and rows of scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.lanes import scan_step
from flatweave.algorithms.operator import select
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.syntax import Lane, Load, Store, StoreCompact
from flatweave.kernel_ir.warp_ops import LastLane, ShiftLanes
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.scan_levels import record_of, with_slots
from flatweave.lower.sweep.row_elements import RowElements
from flatweave.lower.sweep.segments import Segmented, Step
from flatweave.lower.sweep.writer import KernelWriter, Share
from flatweave.lower.traverse.row_lookup import RowOf, Rows
from flatweave.lower.traverse.steps import Position, State, steps_of
from flatweave.lower.traverse.traversal import flat
from flatweave.ops import CombineRows, Prefix
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.syntax import Atom, Var, scalar_type
from flatweave.terms.traverse import needed_for

# -- row scans ------------------------------------------------------------------------------------
#
# The elements of one row with which scans start, combined by one lane.
#
#     for each element of the row
#         the scans' values, from nothing on    registers, next to those of the sinks
#         the sinks, with what these give
#
# Nothing is passed on from row to row. Only the row in which a block begins goes on from what the
# scans give of the elements before it, which the blocks tell each other.


class RowScans(RowElements):
    """Such elements, of a sweep's rows; `before` is what scans give before the block."""

    lanes_agree = True

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[CombineRows], before: State
    ) -> None:
        super().__init__(writer, sinks)
        self.before = before
        self.width = 1

    def fold(
        self, b: Builder, row: RowOf, lo: Atom, hi: Atom, *, ahead: bool = False
    ) -> State:
        """Those from lo to hi of one row, inside of a lane."""
        anew, count = b.apply("eq", lo, row.start), len(self.neutral)
        carried: list[Atom] = []
        for slot, scan in with_slots(self.writer.scans.records):
            assert scan.inner is not None
            operator = self.writer.operator_of(scan.inner)
            before = self.before[slot + 1 : slot + len(scan.neutral)]
            first = operator.carry(b, operator.neutral)
            carried += [FALSE, *select(b, anew, first, before)]
        state = (*self.neutral, *carried)
        loop, i, known = b.iteration("i", state)
        after = self._after(loop, row, i, known)
        return loop.close_loop(lo, hi, state, after, 1)[:count]

    def _after(self, b: Builder, row: RowOf, base: Atom, known: State) -> State:
        """The state after one more element."""
        writer, count = self.writer, len(self.neutral)
        flat, carries = b.emit(Lane(base))[0], list(known[count:])
        elements = writer.elements(Position(flat, (flat,), 1, row=row))
        for let in needed_for(writer.op.body.lets, self.begun):
            scan, slot = record_of(writer.scans.records, let)
            if scan is None or scan.inner is None:
                elements.emit(b, (let,))
                continue
            assert isinstance(let.op, Prefix)
            mine, values = slice(slot + 1, slot + len(scan.neutral)), elements.atoms(scan.args[1:])
            results, carries[mine] = scan_step(
                b, writer.operator_of(scan.inner), tuple(carries[mine]), values, 1,
                exclusive=let.op.exclusive,
            )  # fmt: skip
            elements.env.update(zip(let.vars, results, strict=True))
        found = [elements.atom(atom) for atom in self.begun]
        return (*self.each(b, known[:count], found, lanewise=True), *carries)


# -- segment rows ---------------------------------------------------------------------------------
#
# Segments that are rows: index r stores the result of row r, the neutral element if it is empty.
#
#     row      0 0 0 3 3 | 3 3 5 5 6 | 6 6          the shares of three warps, of 8 rows
#     closed   0           3 5                      rows from that of the element before the share
#                                                   up to that of its last element
#     neutral  1 2         4         7              those passed, before the first, after the last
#
# Where a search finds the row of any position, a share stores its results contiguously. If it
# passed rows without elements, it moves the results to their indices at the end. Otherwise it fills
# its indices first and stores each result separately.


RowAt = Callable[[Builder, Atom], Atom]
"""Emits the row of the element at a position."""


@record
class Results:
    """Buffers of one element for each of `rows` rows, and the value of an empty row."""

    buffers: tuple[Var, ...]
    neutral: State
    rows: Atom


def results_of(kernel: KernelBuilder, sink: CombineRows, buffers: Segmented) -> Results:
    """The destination of a sink's results, inside the kernel."""
    return Results(
        tuple(kernel.buffer(buffer) for buffer in buffers.results),
        tuple(kernel.scalar(atom) for atom in sink.neutral), kernel.scalar(sink.rows),
    )  # fmt: skip


class FromBefore:
    """Places whose state is that of the open row; at first the row of the element `before`."""

    before: Atom

    def enter(self) -> State:
        return (self.before,)

    def number(self, kept: State, carries: State) -> Atom:
        return kept[0]


@record
class SideBySide(FromBefore):
    """Results from index `before` on, one for each row closed; `last` is the last element's row.

    `before` is the row of the element before the share. The index of the open row is carried.
    """

    located: Rows
    neutral: State
    before: Atom
    last: Atom

    def store(
        self, b: Builder, step: Step, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        b.emit(StoreCompact(tuple(results), step.number, self.last, step.close, tuple(values)))

    def behind(self, b: Builder, step: Step, *, busy: bool) -> State:
        return (b.add(step.number, step.count) if busy else step.number,)

    def leave(
        self, b: Builder, results: Sequence[Var], kept: State, carries: State
    ) -> Atom:
        """Move results to their rows, the last one first, where there are gaps."""
        has_gaps = b.apply("ne", kept[0], self.last)
        with b.when(has_gaps) as inside:
            passed, top = inside.sub(self.last, self.before), inside.sub(kept[0], index(1))
            loop, turn, (place,) = inside.iteration("t", [top])
            row = loop.sub(loop.sub(self.last, index(1)), turn)
            there = loop.apply("gt", self.located.end(loop, row), self.located.start(loop, row))
            for buffer, empty in zip(results, self.neutral, strict=True):
                value = loop.emit(Load(buffer, place))[0]
                loop.emit(Store(buffer, row, loop.apply("select", there, value, empty)))
            loop.close_loop(index(0), passed, [top], [loop.sub(place, loop.cast(there, i64))])
        return self.last


@record
class OneByOne(FromBefore):
    """Each result overwrites the fill value of its row; the row of the open segment is carried."""

    row: Atom
    before: Atom

    def store(
        self, b: Builder, step: Step, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        """Each to the row of the element before it."""
        (closed,) = b.emit(ShiftLanes((step.number,), (step.elements.atom(self.row),)))
        with b.when(step.close) as inside:
            store_each(inside, results, closed, values)

    def behind(self, b: Builder, step: Step, *, busy: bool) -> State:
        if not busy:
            return (step.number,)
        row, known = step.elements.atom(self.row), step.position.row
        if known is not None and known.row == row and known.last is not None:
            return (known.last,)
        return (b.emit(LastLane((row,)))[0] if step.position.width > 1 else row,)

    def leave(
        self, b: Builder, results: Sequence[Var], kept: State, carries: State
    ) -> Atom:
        return kept[0]


def row_ends(b: Builder, located: Rows, share: Share) -> tuple[Atom, Atom]:
    """The rows of the element before a share and of its last, found by a search."""
    return _ends(b, lambda c, at: located.search_once(c, at)[0], share)


def located_rows(
    b: Builder, machine: Machine, results: Results, located: Rows, share: Share,
    ends: tuple[Atom, Atom],
) -> SideBySide:  # fmt: skip
    """The rows of a share, of known ends; fills those before the first and after the last."""
    before, last = ends
    leading = b.apply("select", b.apply("eq", share.first, index(0)), before, index(0))
    fill(b, machine, results, index(0), leading)
    fill(b, machine, results, last, b.apply("select", _is_last(b, share), results.rows, last))
    return SideBySide(located, results.neutral, before, last)


def filled_rows(
    b: Builder, machine: Machine, results: Results, row: Atom, row_at: RowAt, share: Share
) -> OneByOne:
    """The rows of a share, all of them filled; `row_at` gives the row of any position."""
    before, last = _ends(b, row_at, share)
    lo = b.apply("select", b.apply("eq", share.first, index(0)), index(0), before)
    hi = b.apply("select", b.apply("eq", share.first, share.limit), lo, last)
    fill(b, machine, results, lo, b.apply("select", _is_last(b, share), results.rows, hi))
    steps_of(machine).wait_for_lanes(b)  # they store over what others have filled
    return OneByOne(row, before)


def _is_last(b: Builder, share: Share) -> Atom:
    """Whether a share has the last element; where there are none the first one counts as such."""
    has_any = b.apply("or", b.apply("lt", share.first, share.limit), share.leads)
    return b.apply("and", b.apply("eq", share.limit, share.total), has_any)


def _ends(b: Builder, row_at: RowAt, share: Share) -> tuple[Atom, Atom]:
    """The rows of the element before the share and of its last; 0 where there are no elements."""

    def ends(c: Builder) -> list[Atom]:
        c.hoists = False
        ends_at = (c.sub(at, index(1)) for at in (share.first, share.limit))
        return [row_at(c, c.apply("maximum", before, index(0))) for before in ends_at]

    any_ = b.apply("gt", share.total, index(0))
    before, last = b.choose(any_, ends, lambda _: [index(0), index(0)])
    return before, last


def fill(b: Builder, machine: Machine, results: Results, lo: Atom, hi: Atom) -> None:
    """Store the neutral elements at the indices from lo to hi, by this warp only."""
    alone = replace(machine, warps=1)
    width = machine.lanes([scalar_type(atom) for atom in results.neutral])

    def step(c: Builder, position: Position, state: State) -> State:
        with c.when(position.active) as inside:
            store_each(inside, results.buffers, position.flat, results.neutral)
        return state

    flat(alone, hi, width).block(b, lo, hi, (), step)
