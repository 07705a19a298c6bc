"""Along rows whose ends are data: each step knows which row each of its positions belongs to.

    by position     lanes along the positions; a cursor goes along the rows
    by row          row after row, each in whole steps and a remainder
    by lane         a row for each lane, as many iterations as the longest row requires
    by warp         a row for each warp of a block, its lanes along it

Where rows are `mixed`, lanes and warps take those of a block in an order without pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import in_lanes
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.schedule.steps import Axis, Vectorize
from flatweave.lower.traverse.row_by_row import visit_row
from flatweave.lower.traverse.row_lookup import RowOf, Rows, mixed
from flatweave.lower.traverse.steps import Position, State, Step, warp_index
from flatweave.lower.traverse.traversal import (
    At,
    Flat,
    OneByOne,
    StepAt,
    Traversal,
    one_by_one,
    span_with_edges,
)
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import Atom


@record
class AlongRows(Traversal):
    """The common part of traversals along `rows`; for `reach`, see `traversal.py`."""

    rows: Rows
    reach: int
    mixed: bool = False
    has_rows: ClassVar[bool] = True

    def at(self, b: Builder, base: Atom, width: int, limit: Atom) -> Position:
        """The step from a position on, which knows its last position, too."""
        position = self.space.at(b, base, width, limit)
        last = b.add(base, index(width - 1))
        if position.active is not None:
            last = b.apply("minimum", last, b.sub(limit, index(1)))
        return replace(position, last=last)

    def whole_step(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, all of its lanes inside."""
        position = self.at(b, base, width, b.add(base, index(width)))
        return replace(position, alone=self.width == 0)

    def without_rows(self) -> Traversal:
        """The same steps, without row lookup."""
        if self.width == 0:
            return OneByOne(self.space, 0, self.accumulators)
        lanes = Vectorize(Axis.SPACE, self.width, peel=self.reach)
        return Flat(self.space, self.width, self.accumulators, lanes)

    def row_at(self, b: Builder, number: Atom, first: Atom, behind: Atom) -> Atom:
        """The row visited as `number`, of those from `first` up to, not including, `behind`."""
        if not self.mixed:
            return number
        return b.add(first, mixed(b, b.sub(number, first), b.sub(behind, first)))

    def on_lanes(
        self, b: Builder, base: Atom, first: Atom, behind: Atom, limit: Atom, lo: Atom, hi: Atom
    ) -> OnLanes:
        """The rows of a step's lanes, from `first` up to, not including, `behind`, clipped to lo to
        hi; lanes from `limit` on have none."""
        number = b.emit(Lane(base))[0]
        there = b.apply("lt", number, limit)
        near = b.apply("minimum", number, b.sub(limit, index(1)))
        row = self.row_at(b, near, first, behind)
        start = self.rows.start(b, row)
        p_lo = b.apply("maximum", start, lo)
        stop = b.apply("minimum", self.rows.end(b, row), hi)
        return OnLanes(row, start, p_lo, b.apply("select", there, b.sub(stop, p_lo), index(0)))

    def row_before(self, b: Builder, last: Atom) -> tuple[Atom, StepAt]:
        """Where the row of a position starts, and its steps."""
        number, start = self.rows.search(b, last)

        def at(d: Builder, base: Atom, width: int) -> Position:
            step = self.whole_step(d, base, width)
            return replace(step, row=RowOf(number, start), aligned=False)

        return start, at


@record
class OnLanes:
    """The row of each lane, where it begins, its first position, and how many there are."""

    row: Atom
    start: Atom
    first: Atom
    length: Atom


@record
class ByPosition(AlongRows):
    """By a cursor: the row of the position before the step, and where it begins."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        first = self.space.steps.share(b, lo, hi, self.width)[0]

        def located(c: Builder, position: Position, known: State) -> State:
            here, after = _rows_of(c, self.rows, position, known[-2:])
            return (*step(c, replace(position, row=here), known[:-2]), *after)

        state = (*state, *self.rows.enter(b, first))
        if self.width == 0:
            return one_by_one(self.space, b, lo, hi, state, located, self.at)[:-2]
        return span_with_edges(self, self.reach, b, lo, hi, state, located, self.at)[:-2]


@record
class ByRow(AlongRows):
    """One row after the other, each in whole steps, and at the end by the tail of `lanes`."""

    lanes: Vectorize = Vectorize(Axis.SPACE, 1)

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        first, behind = self.rows.between(b, lo, hi)
        outer, row, params = b.iteration("r", state)
        start = self.rows.start(outer, row)
        p_lo = outer.apply("maximum", start, lo)
        p_hi = outer.apply("minimum", self.rows.end(outer, row), hi)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            position = self.at(c, base, width, limit)
            return replace(position, row=RowOf(row, start), aligned=False)

        out = visit_row(self, self.lanes, outer, p_lo, p_hi, params, step, at)
        return outer.close_loop(first, behind, state, out)


@record
class ByLane(AlongRows):
    """A row for each lane, as many iterations as the longest row requires."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        return self.among(b, *self.rows.between(b, lo, hi), lo, hi, state, step)

    def among(
        self, b: Builder, first: Atom, behind: Atom, lo: Atom, hi: Atom, state: State, step: Step
    ) -> State:
        """The same where the rows of lo to hi are known."""
        begin, end, limit = self.space.steps.share(b, first, behind, self.width)

        def of_rows(c: Builder, base: Atom, known: State) -> State:
            rows = self.on_lanes(c, base, first, behind, limit, lo, hi)
            row, start, p_lo, length = rows.row, rows.start, rows.first, rows.length
            (longest,) = c.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))
            inside, turn, params = c.iteration("t", known, self.space.inside(c))
            active = inside.apply("lt", turn, length)
            flat = inside.apply("select", active, inside.add(p_lo, turn), lo)
            indices = inside.unravel(flat, self.space.shape)
            position = Position(
                flat, indices, self.width, active, row=RowOf(row, start), aligned=False
            )
            return inside.close_loop(index(0), longest, known, step(inside, position, params))

        return self.in_lanes(b, self.width, begin, end, state, of_rows)


@record
class ByWarp(AlongRows):
    """A row for each warp of the block, its lanes along it, if warps synchronize separately."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        return self.among(b, *self.rows.between(b, lo, hi), lo, hi, state, step)

    def among(
        self, b: Builder, first: Atom, behind: Atom, lo: Atom, hi: Atom, state: State, step: Step
    ) -> State:
        """The same where the rows of lo to hi are known."""
        machine = self.space.machine
        mine = b.add(first, warp_index(b, machine))

        def of_row(c: Builder, number: Atom, known: State) -> State:
            row = self.row_at(c, number, first, behind)
            start = self.rows.start(c, row)
            p_lo = c.apply("maximum", start, lo)
            stop = c.apply("minimum", self.rows.end(c, row), hi)
            inside, base, params = c.iteration("base", known, self.space.inside(c))
            lane = inside.emit(Lane(base))[0]
            active = inside.apply("lt", lane, stop)
            flat = inside.apply("select", active, lane, p_lo)
            position = Position(
                flat, (flat,), self.width, active, row=RowOf(row, start), aligned=False
            )
            after = step(inside, position, params)
            return inside.close_loop(p_lo, stop, known, after, self.width)

        return self.in_lanes(b, self.width, mine, behind, state, of_row, each=machine.warps)


def _rows_of(
    b: Builder, rows: Rows, position: Position, cursor: State
) -> tuple[RowOf, State]:
    """The rows of a step's positions, and the cursor after them."""
    assert position.base is not None and position.last is not None
    if position.width == 1 and position.active is None:
        row, start = rows.one(b, position.flat, cursor)
        return RowOf(row, start), (row, start)
    return rows.step(b, position.base, position.flat, position.last, cursor)


# -- Along rows in whole steps, which may continue into the next rows ------------------------------
#
#     for each row:
#         lanes W:  step at its start, and at start + W, .. below its end; in a long row from the
#                   second step on at multiples of W, where no store lies across two lines
#                   elements past the end are overwritten by the next rows
#         lanes 1:  the rest one by one, where a step would read past the end of an array
#     lanes W:  the last step of the block, where its last row has as many positions
#     lanes 1:  else the last positions one by one, where a whole step would leave the block
#
# No row needs a remainder loop. A row that is shorter than a step needs no branch, nor does an
# empty one, if nothing is read along rows.


LONG = 16
"""Steps of a row that are worth one more, so that the others are aligned."""


@record
class FillRows(AlongRows):
    """Steps that may continue into the next rows; nothing is carried from step to step.

    `left` says how many elements there are from what the element at a position reads on, for each
    read along rows.
    """

    left: Callable[[Builder, Position], Sequence[Atom]] = lambda b, position: ()

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""
        assert not state
        whole = b.apply("maximum", lo, b.sub(hi, index(self.width - 1)))
        first, behind = self.rows.between(b, lo, whole)
        outer, row, _ = b.iteration("r", (), self.space.inside(b))
        start = self.rows.start(outer, row)
        p_lo = outer.apply("maximum", start, lo)
        p_hi = outer.apply("minimum", self.rows.end(outer, row), whole)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            position = self.whole_step(c, base, width)
            return replace(position, row=RowOf(row, start), aligned=False)

        left = self.left(outer, at(outer, p_lo, 1, p_hi))
        if not left:
            self._row(outer, p_lo, p_hi, step, at)
        else:
            stop = p_hi
            for count in left:
                end = outer.add(p_lo, outer.sub(count, index(self.width - 1)))
                stop = outer.apply("minimum", stop, end)
            stop = outer.apply("maximum", stop, p_lo)
            with outer.when(outer.apply("lt", p_lo, stop)) as some:
                self._row(some, p_lo, stop, step, at)
            self.region(outer, 1, stop, p_hi, p_hi, (), step, at)
        outer.close_loop(first, behind, [], [])
        self._rest(b, lo, whole, hi, step)
        return ()

    def _row(self, b: Builder, first: Atom, stop: Atom, step: Step, at: At) -> None:
        """Steps from `first` on that begin before `stop`; one at least."""
        with in_lanes(b, self.width) as region:
            step(region, at(region, first, self.width, stop), ())
            second = self._second(region, first, stop)
            with region.loop(second, stop, self.width) as (more, base):
                step(more, at(more, base, self.width, stop), ())

    def _rest(self, b: Builder, lo: Atom, whole: Atom, hi: Atom, step: Step) -> None:
        """The positions from `whole` on, where no whole step begins."""
        row, start = self.rows.search_once(b, b.sub(hi, index(1)))
        last = b.sub(hi, index(self.width))
        in_row = b.apply("ge", last, b.apply("maximum", start, lo))
        with b.branches(in_row) as (one, each):
            with in_lanes(one, self.width) as region:
                position = self.whole_step(region, last, self.width)
                step(region, replace(position, row=RowOf(row, start), aligned=False), ())
            ByRow(self.space, 1, (), self.rows, 0).block(each, whole, hi, (), step)

    def _second(self, b: Builder, first: Atom, behind: Atom) -> Atom:
        """Where the second step of a row is."""
        following = b.add(first, index(self.width))
        aligned = b.apply("and", following, index(-self.width))
        is_long = b.apply("gt", b.sub(behind, first), index(LONG * self.width))
        return b.apply("select", is_long, aligned, following)
