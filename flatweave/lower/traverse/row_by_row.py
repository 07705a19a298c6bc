"""Along the last axis of an array, each row separately: its index runs with the lanes."""

from __future__ import annotations

from typing import ClassVar

from flatweave.algorithms.loops import BLOCK, adds_floats
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Lane
from flatweave.lower.schedule.steps import Tail, Vectorize
from flatweave.lower.traverse.steps import Position, State, Step
from flatweave.lower.traverse.traversal import At, StepAt, Traversal, span_with_edges
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var

# -- Along a row whose elements may be visited twice, as they are only stored ----------------------
#
#     one by one            reach elements, where a stencil's tests may hold
#     a step                from there on
#     whole steps           at multiples of their width
#     a step                that ends where the whole row does, but for the reach
#     one by one            reach elements
#
# The first step and the last overlap others. A part of a row that is shorter than a step is visited
# in short steps, and its remainder one by one.
#
# `masked` is for elements that are loops, which one lane runs as long as all, and whose code is
# long. So it is written once for each width: all whole steps are one loop, the last of which ends
# where the row does; and so are short ones, in the last of which lanes are idle.


@record
class Overlapping:
    """The visit of a part of a row, by `walk`, in steps at `at`."""

    walk: Traversal
    reach: int
    masked: bool
    step: Step
    at: At

    def visit(self, b: Builder, lo: Atom, hi: Atom) -> None:
        """All positions from lo to hi."""
        walk, reach = self.walk, index(self.reach)
        first, stop = lo, hi
        if self.reach:
            last = b.sub(walk.space.shape[-1], reach)
            first = b.apply("minimum", b.apply("maximum", lo, reach), hi)
            stop = b.apply("maximum", b.apply("minimum", hi, last), first)
            walk.region(b, 1, lo, first, hi, (), self.step, self.at)
        fits = b.apply("ge", b.sub(stop, first), index(walk.width))
        with b.branches(fits) as (wide, narrow):
            self._whole_steps(wide, first, stop)
            self._short_steps(narrow, first, stop)
        if self.reach:
            walk.region(b, 1, stop, hi, hi, (), self.step, self.at)

    def _whole_steps(self, b: Builder, first: Atom, stop: Atom) -> None:
        """Of a part that has at least as many elements as a step."""
        width = index(self.walk.width)
        if self.masked:
            last = b.sub(stop, width)

            def before_last(c: Builder, base: Atom, lanes: int, limit: Atom) -> Position:
                return self._unaligned(c, c.apply("minimum", base, last), lanes, limit)

            self.walk.region(b, self.walk.width, first, stop, stop, (), self.step, before_last)
            return
        raised = b.add(first, b.sub(width, index(1)))
        start = b.round_down(raised, width)
        self._one(b, first, b.apply("lt", first, start))
        steps = b.apply("floordiv", b.sub(stop, start), width)
        end = b.add(start, b.mul(steps, width))
        self.walk.region(b, self.walk.width, start, end, stop, (), self.step, self._inside)
        self._one(b, b.sub(stop, width), b.apply("lt", end, stop))

    def _one(self, b: Builder, first: Atom, there: Atom) -> None:
        """One whole step from anywhere on, if it is there."""

        end = b.apply("select", there, b.add(first, index(1)), first)
        self.walk.region(b, self.walk.width, first, end, end, (), self.step, self._unaligned)

    def _short_steps(self, b: Builder, first: Atom, stop: Atom) -> None:
        """Of a part that has fewer."""
        lanes = self.walk.space.steps.short(self.walk.width)
        if self.masked:
            return self._masked_steps(b, first, stop, lanes or self.walk.width)
        if lanes:
            steps = b.apply("floordiv", b.sub(stop, first), index(lanes))
            end = b.add(first, b.mul(steps, index(lanes)))
            self.walk.region(b, lanes, first, end, stop, (), self.step, self._unaligned)
            first = end
        self.walk.region(b, 1, first, stop, stop, (), self.step, self._inside)

    def _masked_steps(self, b: Builder, first: Atom, stop: Atom, lanes: int) -> None:
        """The same, idle lanes in the last one."""

        def act(c: Builder, i: Atom, state: State) -> State:
            active = c.apply("lt", c.emit(Lane(i))[0], stop)
            with c.when(active) as there:
                position = self._unaligned(there, i, lanes, stop)
                self.step(there, position, ())
            return ()

        self.walk.in_lanes(b, lanes, first, stop, (), act)

    def _inside(self, b: Builder, base: Atom, lanes: int, limit: Atom) -> Position:
        """A step that is far from both ends."""
        position = self.at(b, base, lanes, limit)
        if self.reach:
            b.assume_inside(position.indices[-1], self.walk.space.shape[-1], self.reach)
        return position

    def _unaligned(self, b: Builder, base: Atom, lanes: int, limit: Atom) -> Position:
        return replace(self._inside(b, base, lanes, limit), aligned=False, fetches=False)


# -- Along a row whose elements are combined, each lane separately ---------------------------------
#
#     predicated steps      reach elements, where a stencil's tests may hold
#     whole steps
#     a predicated step     the rest; several of them where `reach` elements are among it
#
# An idle lane keeps what it has, so that no operator needs a neutral element. Lanes are around all
# rows of a block, and are combined once, at its end.


def visit_in_lanes(
    walk: Traversal, reach: int, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At
) -> State:
    """The steps of a row, or of a part of it, inside lanes."""
    width, extent = walk.width, walk.space.shape[-1]

    def one(c: Builder, i: Atom, end: Atom, before: State) -> State:
        active = c.apply("lt", c.emit(Lane(i))[0], end)
        return c.choose(active, lambda d: step(d, at(d, i, width, end), before), lambda _: before)

    def predicated(first: Atom, end: Atom, before: State) -> State:
        if not reach:
            return one(b, first, end, before)
        body, i, known = b.iteration("i", before)
        return body.close_loop(first, end, before, one(body, i, end, known), width)

    first, stop = lo, hi
    if reach:
        first = b.apply("minimum", b.apply("maximum", lo, index(reach)), hi)
        stop = b.apply("maximum", b.apply("minimum", hi, b.sub(extent, index(reach))), first)
        state = predicated(lo, first, state)
    body, i, known = b.iteration("i", state)
    position = at(body, i, width, hi)
    if reach:
        body.assume_inside(position.indices[-1], extent, reach)
    end = b.add(first, b.round_down(b.sub(stop, first), index(width)))
    state = body.close_loop(first, end, state, step(body, position, known), width)
    return predicated(end, hi, state)


def visit_row(
    walk: Traversal, lanes: Vectorize, b: Builder, lo: Atom, hi: Atom, state: State, step: Step,
    at: At, short: int = 0,
) -> State:  # fmt: skip
    """The steps of one row, or a part of it, and its end as `lanes` say."""
    if lanes.tail is Tail.PREDICATE:
        return visit_in_lanes(walk, lanes.peel, b, lo, hi, state, step, at)
    if lanes.tail not in (Tail.SHIFT, Tail.SHIFT_OR_MASK):
        return span_with_edges(walk, lanes.peel, b, lo, hi, state, step, at, short)
    Overlapping(walk, lanes.peel, lanes.tail is Tail.SHIFT_OR_MASK, step, at).visit(b, lo, hi)
    return ()


# -- Along the last axis, each row separately, so that its index runs with the lanes ---------------


@record
class RowByRow(Traversal):
    """By the steps of a schedule's `lanes`: one by one within their `peel` of both ends of a row,
    and at the end by their `tail`. With a `panel`, all rows of that many columns come before the
    next columns."""

    lanes: Vectorize
    panel: int = 0
    has_rows: ClassVar[bool] = True

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        if self.lanes.tail is not Tail.PREDICATE:
            return self._columns(b, lo, hi, state, step)
        return self.around(
            b, self.width, state, lambda region, known: self._columns(region, lo, hi, known, step)
        )

    def _columns(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """The same, a panel after the other if there are any."""
        extent = self.space.shape[-1]
        if not self.panel:
            return self._rows(b, lo, hi, index(0), extent, state, step)
        outer, first, params = b.iteration("c", state, self.space.inside(b))
        behind = outer.apply("minimum", outer.add(first, index(self.panel)), extent)
        out = self._rows(outer, lo, hi, first, behind, params, step)
        return outer.close_loop(index(0), extent, state, out, self.panel)

    def _rows(
        self, b: Builder, lo: Atom, hi: Atom, j_first: Atom, j_behind: Atom, state: State,
        step: Step,
    ) -> State:  # fmt: skip
        """The same, of the columns j_first to j_behind. Rows of some 64 steps are a block of those
        that keep the errors of sums of floats small."""
        extent = self.space.shape[-1]
        first = b.apply("floordiv", lo, extent)
        last = b.apply("floordiv", b.add(b.sub(hi, index(1)), extent), extent)

        def rows(c: Builder, begin: Atom, end: Atom, before: State) -> State:
            return self._some_rows(c, (lo, hi), (j_first, j_behind), (begin, end), before, step)

        sums = any(adds_floats(acc.function(b)) for acc in self.accumulators)
        if self.lanes.tail is not Tail.PREDICATE or not sums:
            return rows(b, first, last, state)
        each = b.apply("maximum", b.apply("floordiv", extent, index(self.width)), index(1))
        each = b.apply("maximum", b.apply("floordiv", index(BLOCK), each), index(1))
        loop, q, known = b.iteration("q", state)
        found = rows(loop, q, loop.apply("minimum", loop.add(q, each), last), self.neutral)
        return loop.close_loop(first, last, state, self.joined(loop, known, found), each)

    def _some_rows(
        self, b: Builder, positions: tuple[Atom, Atom], columns: tuple[Atom, Atom],
        rows: tuple[Atom, Atom], state: State, step: Step,
    ) -> State:  # fmt: skip
        """Of some positions, those in some columns and rows."""
        extent, (lo, hi), (j_first, j_behind) = self.space.shape[-1], positions, columns
        outer, row, params = b.iteration("r", state, self.space.inside(b))
        start = outer.mul(row, extent)
        leading = self._leading(outer, row)
        j_lo = outer.apply("maximum", outer.sub(lo, start), j_first)
        j_hi = outer.apply("minimum", outer.sub(hi, start), j_behind)
        if self.panel:  # of its first or last row a block may have no element here
            j_hi = outer.apply("maximum", j_lo, j_hi)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            j, active = self.space.steps.lanes(c, base, width, limit)
            if isinstance(j, Var):
                c.assume_below(j, extent)
            fetches = self.panel > 0 and width == self.width
            flat, in_row = c.add(start, j), None if self.panel else outer
            return Position(
                flat, (*leading, j), width, active, fetches=fetches, in_row=in_row
            )

        short = self.space.steps.short(self.width)
        out = visit_row(self, self.lanes, outer, j_lo, j_hi, params, step, at, short)
        return outer.close_loop(*rows, state, out)

    def _leading(self, b: Builder, row: Atom) -> tuple[Atom, ...]:
        """The indices of a row."""
        shape = self.space.shape
        if len(shape) == 1:
            return ()
        return b.unravel(row, shape[:-1]) if len(shape) > 2 else (row,)

    def row_before(self, b: Builder, last: Atom) -> tuple[Atom, StepAt]:
        """Where the row of a position starts, and its steps."""
        extent = self.space.shape[-1]
        number = b.apply("floordiv", last, extent)
        start = b.mul(number, extent)
        leading = self._leading(b, number)

        def at(d: Builder, base: Atom, width: int) -> Position:
            flat: Atom = d.emit(Lane(base))[0] if width > 1 else base
            return Position(flat, (*leading, d.sub(flat, start)), width)

        return start, at
