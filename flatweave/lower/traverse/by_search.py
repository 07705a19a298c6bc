"""Along rows whose ends are data, where each lane finds its own row: a search in shared memory.

    block:  mark[t] = where its row (t + 1) * stride - 1 ends     t below MARKS, far behind its rows
    lane:   j = 0; for step 128, 64, .. 1 (written out): if mark[j + step - 1] <= p: j += step
            then among the rows behind mark j, in memory of the grid, where strides are longer

Where a block has MARKS rows or fewer, as is so where it has a number of sources, all of their ends
are marks. Lanes do not wait for each other as they do where a warp walks along the rows; so it is
for threads, and for rows that are shorter than a step.
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Load, Shared, Store, Sync
from flatweave.lower.traverse.along_rows import AlongRows
from flatweave.lower.traverse.flat import Flat, flat, span_with_edges
from flatweave.lower.traverse.position import Position, State, Step, while_active
from flatweave.lower.traverse.row_of_position import RowOf
from flatweave.lower.traverse.traversal import Space
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Var

MARKS = 256
"""A power of two; with ends of 64 bits they take 2 KiB of a block's memory."""
FAR = index(1 << 62)
LONGEST = Operator(
    lambda b, left, right: (b.apply("maximum", left[0], right[0]),), (index(0),),
    lambda b: lambda_of("maximum", i64),
)  # fmt: skip


@record
class BySearch(AlongRows):
    """A step's lanes along the positions, each of which is searched for."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        return self.among(b, Marks.of(b, self, lo, hi), lo, hi, state, step)

    def among(
        self, b: Builder, marks: Marks, lo: Atom, hi: Atom, state: State, step: Step
    ) -> State:
        """The same where there are marks."""

        def located(c: Builder, position: Position, known: State) -> State:
            row, start = marks.row_of(c, position.flat)
            return step(c, replace(position, row=RowOf(row, start)), known)

        return span_with_edges(self, self.reach, b, lo, hi, state, located, self.at)


@record
class Marks:
    """Every `stride`-th end of the rows of a block, which are `count` from `first`."""

    walk: BySearch
    memory: Var
    first: Atom
    count: Atom
    stride: Atom
    start: Atom

    @staticmethod
    def of(b: Builder, walk: BySearch, lo: Atom, hi: Atom) -> Marks:
        """Those of the positions lo to hi, put there by all warps."""
        first, behind = walk.rows.between(b, lo, hi)
        count = b.sub(behind, first)
        stride = b.apply("floordiv", b.add(count, index(MARKS - 1)), index(MARKS))
        stride = b.apply("maximum", stride, index(1))
        memory = b.emit(Shared(i64, MARKS))[0]
        marks = Marks(walk, memory, first, count, stride, walk.rows.start(b, first))
        if b.outer is not None:  # in a loop others may still search among those of an earlier turn
            b.emit(Sync())
        flat(walk.space.machine, index(MARKS), walk.width).block(
            b, index(0), index(MARKS), (), marks._put
        )
        b.emit(Sync())
        return marks

    def _put(self, b: Builder, position: Position, state: State) -> State:
        """One mark by each lane."""
        number = b.mul(b.add(position.flat, index(1)), self.stride)
        there = b.apply("le", number, self.count)
        near, far, inside = b.inner(), b.inner(), b.inner()
        row = near.add(self.first, near.sub(number, index(1)))
        known = If(there, near.close([], [self.walk.rows.end(near, row)]), far.close([], [FAR]))
        inside.emit(Store(self.memory, position.flat, inside.emit(known)[0]))
        assert position.active is not None
        b.emit(If(position.active, inside.close([], []), NO_BODY))
        return state

    def most_between(self, b: Builder, lo: Atom, hi: Atom) -> Atom:
        """The most positions between two marks, as a warp sees them: no row is longer."""

        def gap(c: Builder, position: Position, state: State) -> State:
            t = position.flat
            end = c.emit(Load(self.memory, t))[0]
            before = c.apply("maximum", c.sub(t, index(1)), index(0))
            last = c.emit(Load(self.memory, before))[0]
            start = c.apply("select", c.apply("eq", t, index(0)), lo, last)
            length = c.sub(c.apply("minimum", end, hi), c.apply("minimum", start, hi))
            (here,) = while_active(c, (length,), (index(0),), position)
            return (c.apply("maximum", state[0], here),)

        space = Space(self.walk.space.machine, (index(MARKS),), index(MARKS))
        walk = Flat(space, self.walk.width, (LONGEST,))
        return walk.block(b, index(0), index(MARKS), (index(0),), gap)[0]

    def row_of(self, b: Builder, position: Atom) -> tuple[Atom, ...]:
        """The row of a position, and where that begins."""
        mark: Atom = index(0)
        start: Atom = self.start
        step = MARKS // 2
        while step:
            tried = b.add(mark, index(step))
            end = b.emit(Load(self.memory, b.sub(tried, index(1))))[0]
            before = b.apply("le", end, position)
            mark = b.apply("select", before, tried, mark)
            start = b.apply("select", before, end, start)
            step //= 2
        passed = b.mul(mark, self.stride)
        rest = b.apply("minimum", b.sub(self.stride, index(1)), b.sub(self.count, passed))
        return self.walk.rows.search_among(
            b, position, b.add(self.first, passed), start, rest, b.sub(self.stride, index(1))
        )
