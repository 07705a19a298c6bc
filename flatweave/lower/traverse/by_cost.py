"""Along rows whose ends are data: a block finds what is cheapest for its rows, and does that.

    search    lanes along the positions, each finding its row (by_search.py)
    lanes     a row for each lane: as many turns as the longest of W rows asks for
    warps     a row for each warp, its lanes along it: in its last turn some are idle

What is counted is turns of warps, each with what an element costs, and what each way adds to it:

    search    (hi - lo) / W                  SEARCHED, and FURTHER for each step in memory
    lanes     the longest of each W rows     APART for what lies side by side in memory; for W rows
                                             LOOKED
    warps     ceil(length / W) of each row   for each row ALONE

Warps wait for the slowest one of their block. What the first is follows from numbers; for the
others each warp looks at some of its rows, and no row is longer than what lies between two marks.
Where rows are so short that they cannot pay, nobody looks.
"""

from __future__ import annotations

from flatweave.algorithms.meet import meet
from flatweave.algorithms.operator import Operator, addition
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine.thresholds import ALONE, FURTHER, LOOKED, SEARCHED, SEEN
from flatweave.lower.traverse.along_rows import AlongRows, ByLane, ByWarp
from flatweave.lower.traverse.by_search import BySearch, Marks
from flatweave.lower.traverse.flat import Flat
from flatweave.lower.traverse.position import State, Step
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom


@record
class ByCost(AlongRows):
    """`element` is what an element costs, `apart` what it costs more where the lanes of a step are
    in rows of their own: both in operations."""

    element: int = 0
    apart: int = 0

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        made = (self.space, self.width, self.accumulators, self.rows, self.reach, self.mixed)
        by_search, by_lane, by_warp = BySearch(*made), ByLane(*made), ByWarp(*made)
        marks = Marks.of(b, by_search, lo, hi)
        among = marks.first, b.add(marks.first, marks.count), lo, hi, state, step
        lanes, warps = self._cheapest(b, marks, lo, hi)
        in_lanes, others = b.inner(), b.inner()
        lane_way = in_lanes.close([], by_lane.among(in_lanes, *among))
        inside = others.inner()
        warp_way = inside.close([], by_warp.among(inside, *among))
        search = others.inner()
        search_way = search.close([], by_search.among(search, marks, lo, hi, state, step))
        found = others.emit(If(warps, warp_way, search_way))
        return b.emit(If(lanes, lane_way, others.close([], found)))

    def _cheapest(self, b: Builder, marks: Marks, lo: Atom, hi: Atom) -> tuple[Atom, Atom]:
        """Whether a row for each lane is cheapest; and if not, whether one for each warp is."""
        width, warps = index(self.width), index(self.space.machine.warps)
        steps, groups = b.ceil_div(b.sub(hi, lo), width), b.ceil_div(marks.count, width)
        further = b.sub(index(64), b.apply("clz", b.sub(marks.stride, index(1))))
        each = b.add(index(self.element + SEARCHED), b.mul(further, index(FURTHER)))
        by_search = b.mul(steps, each)
        looked = b.mul(groups, index(LOOKED))
        at_least = b.add(b.mul(steps, index(self.element)), looked)
        alone, together, longest = self._turns(b, marks, lo, hi, at_least, by_search)
        slowest = b.apply("maximum", together, b.mul(longest, warps))
        by_lane = b.add(b.mul(slowest, index(self.element + self.apart)), looked)
        slowest = b.apply("maximum", alone, b.mul(b.ceil_div(longest, width), warps))
        by_warp = b.add(b.mul(slowest, index(self.element)), b.mul(marks.count, index(ALONE)))
        lanes = b.apply("lt", by_lane, b.apply("minimum", by_search, by_warp))
        return lanes, b.apply("lt", by_warp, by_search)

    def _turns(
        self, b: Builder, marks: Marks, lo: Atom, hi: Atom, least: Atom, most: Atom
    ) -> Values:
        """Turns of a row for each warp, of one for each lane, and what no row is longer than. Where
        `least` is not less than `most`, nobody looks, and they are as many as there are positions.
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
            mine = meet(b, TURNS, mine, machine.warps)[1]
        all_ = [b.apply("floordiv", b.mul(turns, groups), some) for turns in mine[:2]]
        none = b.sub(hi, lo)
        turns = [b.apply("select", pays, turns, none) for turns in all_]
        return (*turns, mine[2])


def _joined(b: Builder, left: Values, right: Values) -> Values:
    """The turns of all warps, and the longest row of all."""
    sums = [b.add(x, y) for x, y in zip(left[:2], right[:2], strict=True)]
    return (*sums, b.apply("maximum", left[2], right[2]))


TURNS = Operator(_joined, (index(0),) * 3)
