"""Along rows whose ends are data, where each lane finds its own row: a search in shared memory.

    block:  mark[t] = where its row (t + 1) * stride - 1 ends     t below MARKS, far past its rows
    lane:   j = 0; for step 128, 64, .. 1 (written out): if mark[j + step - 1] <= p: j += step
            then among the rows after mark j, in global memory, where strides are longer

Where a block has MARKS rows or fewer, as is so where it has a number of sources, all of their ends
are marks. Lanes do not wait for each other as they do where a warp walks along the rows; so it is
for threads, and for rows that are shorter than a step.
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator, addition, meet_all
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import Values
from flatweave.kernel_ir.syntax import Load, Shared, Store, Sync
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine import ALONE, AWAY, LOOKED, SEEN, searched
from flatweave.lower.traverse.ragged_rows import AlongRows, ByLane, ByWarp
from flatweave.lower.traverse.row_lookup import RowOf
from flatweave.lower.traverse.steps import Position, State, Step, while_active
from flatweave.lower.traverse.traversal import Flat, Space, flat, span_with_edges
from flatweave.passes.cost import STEP
from flatweave.terms.build import Builder, index, lambda_of
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
        """Steps over the positions lo to hi; the accumulators are first in the state."""
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
        if b.outer is not None:  # others may still search the marks of an earlier iteration
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

        def end(c: Builder) -> tuple[Atom, ...]:
            return (self.walk.rows.end(c, c.add(self.first, c.sub(number, index(1)))),)

        with b.when(position.active) as inside:
            (known,) = inside.choose(there, end, lambda _: (FAR,))
            inside.emit(Store(self.memory, position.flat, known))
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


# -- Along rows whose ends are data: each block selects the cheapest way for its rows --------------
#
#     search    lanes along the positions, each finding its row
#     lanes     a row for each lane: as many iterations as the longest of W rows requires
#     warps     a row for each warp, its lanes along it: in its last iteration some are idle
#
# The cost model counts iterations of warps. Each costs an element's work and what its way adds:
#
#     search    (hi - lo) / W                  `searched`, and two steps for each in memory
#     lanes     the longest of each W rows     `per_lane` for what is adjacent in memory; LOOKED for
#                                              W rows
#     warps     ceil(length / W) of each row   for each row ALONE
#
# Warps wait for the slowest warp of their block. The cost of `search` follows from sizes. For the
# other two, each warp samples some of its rows; no row is longer than the distance of two marks.
# Where rows are so short that neither can pay, no rows are sampled.


@record
class ByCost(AlongRows):
    """`element` is the cost of an element, `per_lane` its additional cost where each lane of a step
    is in a separate row: both in operations."""

    element: int = 0
    per_lane: int = 0

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        made = (self.space, self.width, self.accumulators, self.rows, self.reach, self.mixed)
        by_search, by_lane, by_warp = BySearch(*made), ByLane(*made), ByWarp(*made)
        marks = Marks.of(b, by_search, lo, hi)
        among = marks.first, b.add(marks.first, marks.count), lo, hi, state, step
        lanes, warps = self._cheapest(b, marks, lo, hi)
        return b.choose(
            lanes, lambda c: by_lane.among(c, *among), lambda c: c.choose(
                warps, lambda d: by_warp.among(d, *among),
                lambda d: by_search.among(d, marks, lo, hi, state, step),
            ),
        )  # fmt: skip

    def _cheapest(self, b: Builder, marks: Marks, lo: Atom, hi: Atom) -> tuple[Atom, Atom]:
        """Whether a row for each lane is cheapest; and if not, whether one for each warp is."""
        width, warps = index(self.width), index(self.space.machine.warps)
        steps, groups = b.ceil_div(b.sub(hi, lo), width), b.ceil_div(marks.count, width)
        further = b.sub(index(64), b.apply("clz", b.sub(marks.stride, index(1))))
        each = b.add(index(self.element + searched(MARKS)), b.mul(further, index(AWAY * STEP)))
        by_search = b.mul(steps, each)
        looked = b.mul(groups, index(LOOKED))
        at_least = b.add(b.mul(steps, index(self.element)), looked)
        alone, together, longest = self._turns(b, marks, lo, hi, at_least, by_search)
        slowest = b.apply("maximum", together, b.mul(longest, warps))
        by_lane = b.add(b.mul(slowest, index(self.element + self.per_lane)), looked)
        slowest = b.apply("maximum", alone, b.mul(b.ceil_div(longest, width), warps))
        by_warp = b.add(b.mul(slowest, index(self.element)), b.mul(marks.count, index(ALONE)))
        lanes = b.apply("lt", by_lane, b.apply("minimum", by_search, by_warp))
        return lanes, b.apply("lt", by_warp, by_search)

    def _turns(
        self, b: Builder, marks: Marks, lo: Atom, hi: Atom, least: Atom, most: Atom
    ) -> Values:
        """Iterations with a row for each warp, and for each lane, and a bound of the rows' lengths.
        Where `least` is not less than `most`, no rows are sampled, and each is the number of
        positions.
        """
        machine, width = self.space.machine, self.width
        behind = b.add(marks.first, marks.count)
        begin, end, limit = self.space.steps.share(b, marks.first, behind, width)
        groups = b.apply("floordiv", b.sub(end, begin), index(width))
        pays = b.apply("lt", least, most)
        seen = b.apply("minimum", groups, b.apply("select", pays, index(SEEN), index(0)))
        some = b.apply("maximum", seen, index(1))

        def act(c: Builder, k: Atom, known: State) -> State:
            group = c.apply("floordiv", c.mul(k, groups), some)
            base = c.add(begin, c.mul(group, index(width)))
            length = self.on_lanes(c, base, marks.first, behind, limit, lo, hi).length
            (longest,) = c.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))
            alone, together = known
            return c.add(alone, c.ceil_div(length, index(width))), c.add(together, longest)

        walk = Flat(self.space, width, (addition(),))
        found = walk.in_lanes(b, width, index(0), seen, (index(0),) * 2, act, each=1)
        mine = (*found, marks.most_between(b, lo, hi))
        if machine.warps > 1:
            mine = meet_all(b, TURNS, mine, machine.warps)
        all_ = [b.apply("floordiv", b.mul(turns, groups), some) for turns in mine[:2]]
        none = b.sub(hi, lo)
        turns = [b.apply("select", pays, turns, none) for turns in all_]
        return (*turns, mine[2])


def _joined(b: Builder, left: Values, right: Values) -> Values:
    """The iterations of all warps, and the longest row of all."""
    sums = [b.add(x, y) for x, y in zip(left[:2], right[:2], strict=True)]
    return (*sums, b.apply("maximum", left[2], right[2]))


TURNS = Operator(_joined, (index(0),) * 3)
