"""Visiting the positions of a block in steps of a warp; the common part of all traversals.

    lanes W:  for i = lo, lo + W, .. :  step at i, i + 1, .. i + W - 1
    lanes 1:  for the rest:             step at i

A *carry* is one value for the warp (a scan's prefix so far); an *accumulator* is kept by each lane
and combined at the end of the region, which only a commutative operator allows.

    here                    along the row-major position; one element at a time, outside any lanes;
                            a known number of steps for each warp; a consecutive run for each lane
    row_by_row.py           along the last axis, each row separately
    ragged_rows.py          along rows whose ends are data
    ragged_row_search.py    the same, each lane searching for its row; or the cheapest way
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from flatweave.algorithms.operator import Operator
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.steps import Axis, Vectorize
from flatweave.lower.traverse.steps import (
    InMemory,
    InRegisters,
    Position,
    Square,
    State,
    Step,
    Steps,
    Tile,
    steps_of,
    warp_index,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var

At = Callable[[Builder, Atom, int, Atom], Position]
"""The step from a position on, on some lanes, of elements that end at a limit."""
StepAt = Callable[[Builder, Atom, int], Position]
"""The same for a step all of whose lanes have an element."""


class Traverses(Protocol):
    """A visitor of the positions of a block."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""


@record
class Space:
    """The positions of a sweep: the kernel atoms of its extents, their product, the direction."""

    machine: Machine
    shape: tuple[Atom, ...]
    total: Atom
    reverse: bool = False

    @property
    def steps(self) -> Steps:
        """How spans end."""
        return steps_of(self.machine)

    def inside(self, b: Builder) -> Builder:
        """A body for elements: where it runs, no extent is 0; around it, all may be."""
        inside = b.inner()
        inside.assume_space(self.shape)
        return inside

    def at(self, b: Builder, base: Atom, width: int, limit: Atom) -> Position:
        """The step from a running position on."""
        if self.reverse:
            return self._reversed(b, base, width, limit)
        flat, active = self.steps.lanes(b, base, width, limit)
        return Position(flat, b.unravel(flat, self.shape), width, active, base=base)

    def _reversed(self, b: Builder, base: Atom, width: int, limit: Atom) -> Position:
        """Running position f is element total - 1 - f."""
        last = b.sub(self.total, index(1))
        flat, active = self.steps.lanes_back(b, last, base, width, limit)
        return Position(flat, b.unravel(flat, self.shape), width, active)


@record
class Traversal:
    """Steps of `width` lanes over a space; one class for each order of visiting it."""

    space: Space
    width: int
    accumulators: tuple[Operator, ...]
    has_rows: ClassVar[bool] = False
    """Whether each step is inside a row."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        raise NotImplementedError

    def whole_step(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, all of its lanes inside."""
        return self.space.at(b, base, width, b.add(base, index(width)))

    def row_before(self, b: Builder, last: Atom) -> tuple[Atom, StepAt]:
        """Where the row of a position starts, and its steps, where there are rows."""
        raise NotImplementedError

    def without_rows(self) -> Traversal:
        """The same steps, without row lookup."""
        return self

    def span(
        self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At
    ) -> State:
        """Steps from lo to hi."""
        for width, first, end, limit in self.space.steps.regions(b, lo, hi, self.width):
            state = self.region(b, width, first, end, limit, state, step, at)
        return state

    def region(
        self, b: Builder, width: int, lo: Atom, hi: Atom, limit: Atom, state: State, step: Step,
        at: At,
    ) -> State:  # fmt: skip
        """A loop over lo to hi on `width` lanes; accumulators start neutral in each lane.

        Elements from `limit` on are not there: the lanes that reach them are idle.
        """

        def turn(body: Builder, i: Atom, known: State) -> State:
            return step(body, at(body, i, width, limit), known)

        return self.in_lanes(b, width, lo, hi, state, turn)

    def in_lanes(
        self, b: Builder, width: int, lo: Atom, hi: Atom, state: State,
        act: Callable[[Builder, Atom, State], State], each: int = 0,
    ) -> State:  # fmt: skip
        """act at lo, lo + width, .., or at every `each`, on `width` lanes; accumulators start
        neutral in each lane."""

        def loop(region: Builder, init: State) -> State:
            body, i, params = region.iteration("i", init, self.space.inside(region))
            after = act(body, i, tuple(params))
            found: State = body.close_loop(lo, hi, init, after, each or width)
            return found

        return self.around(b, width, state, loop)

    def around(
        self, b: Builder, width: int, state: State, act: Callable[[Builder, State], State]
    ) -> State:
        """act on `width` lanes; accumulators start neutral in each lane, and are combined."""
        kept = sum(len(acc.neutral) for acc in self.accumulators)
        region = b.inner()
        out = act(region, state if width == 1 else (*self.neutral, *state[kept:]))
        if width > 1:
            out = (*self.across_lanes(region, out), *out[kept:])
        done: State = b.emit(Lanes(width, region.close([], out)))
        if width == 1:
            return done
        return (*self.joined(b, state, done), *done[kept:])

    @property
    def neutral(self) -> State:
        """The initial accumulators in each lane."""
        return tuple(atom for acc in self.accumulators for atom in acc.neutral)

    def across_lanes(self, b: Builder, out: State) -> State:
        """The combined accumulators of the lanes."""
        reduced: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            args = out[start : start + len(acc.neutral)]
            reduced.extend(b.emit(ReduceLanes(acc.function(b), args)))
            start += len(acc.neutral)
        return tuple(reduced)

    def joined(self, b: Builder, before: State, region: State) -> State:
        """The accumulators from before a region and from it, combined."""
        joined: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            stop = start + len(acc.neutral)
            joined.extend(acc.combine(b, before[start:stop], region[start:stop]))
            start = stop
        return tuple(joined)


# -- Along the row-major position ------------------------------------------------------------------


@record
class Flat(Traversal):
    """By the steps of a schedule's `lanes`, of which `width` says how many there are here: one by
    one within their `peel`, so that elsewhere the tests of a stencil's boundary fall away."""

    lanes: Vectorize = Vectorize(Axis.SPACE, 1)

    @property
    def reach(self) -> int:
        """How far from both ends positions are visited separately."""
        return self.lanes.peel

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        return span_with_edges(self, self.reach, b, lo, hi, state, step, self.space.at)


def span_with_edges(
    walk: Traversal, reach: int, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At,
    short: int = 0,
) -> State:  # fmt: skip
    """One by one near the ends of the last axis, in whole steps between them.

        lo .. one by one .. short steps .. whole steps .. short steps .. one by one .. hi

    Steps begin at multiples of their width; `short` is the width of the short ones, if any. The
    elements before the first whole step and after the last are 3 % of a row of 4,096 elements. One
    by one, they take a fifth of the time.
    """
    if not reach or walk.width == 1:
        return walk.span(b, lo, hi, state, step, at)
    extent, first = walk.space.shape[-1], short or walk.width
    stop = b.apply("minimum", hi, b.sub(extent, index(reach)))

    def inside(c: Builder, base: Atom, lanes: int, limit: Atom) -> Position:
        position = at(c, base, lanes, limit)
        c.assume_inside(position.indices[-1], extent, reach)
        return position

    start = _rounded_up(b, b.apply("maximum", lo, index(reach)), first)
    here = b.apply("minimum", start, hi)
    state = walk.region(b, 1, lo, here, hi, state, step, at)
    parts = [(walk.width, stop)]
    if short:
        aligned = b.apply("minimum", stop, _rounded_up(b, here, walk.width))
        parts = [(short, aligned), *parts, (short, stop)]
    for width, end in parts:
        length = b.apply("maximum", b.sub(end, here), index(0))
        there = b.add(here, b.round_down(length, index(width)))
        state = walk.region(b, width, here, there, hi, state, step, inside)
        here = there
    return walk.region(b, 1, here, hi, hi, state, step, at)


def _rounded_up(b: Builder, atom: Atom, width: int) -> Atom:
    """The first multiple of a width from there on."""
    raised = b.add(atom, index(width - 1))
    return b.round_down(raised, index(width))


def flat(machine: Machine, extent: Atom, width: int) -> Flat:
    """Over the positions of one axis, from the front."""
    return Flat(Space(machine, (extent,), extent), width, ())


# -- One element at a time, outside any lanes: the folds inside it have them all -------------------


@record
class OneByOne(Traversal):
    """Its width is 0: there are no lanes."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""
        first, _, limit = self.space.steps.share(b, lo, hi, 1)
        return one_by_one(self.space, b, first, limit, state, step, self.space.at)

    def whole_step(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, outside any lanes."""
        return replace(Traversal.whole_step(self, b, base, width), alone=True)


def one_by_one(
    space: Space, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At
) -> State:
    """Steps of one element each."""
    inside, i, params = b.iteration("i", state, space.inside(b))
    position = replace(at(inside, i, 1, hi), alone=True)
    return inside.close_loop(lo, hi, state, step(inside, position, params))


# --------------------------------------------------------------------------------------------------
# A fixed number of steps for each warp, known beforehand: values of lanes may stay in registers.
#
#     warp w takes lo + w each 32 .. , step k of it the elements from lo + (w each + k) 32 on
#
# The last block has lanes, and whole steps, without elements.


@record
class Turns(Traversal):
    """Each lane takes `each` elements, one in each step."""

    each: int

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        warp = warp_index(b, self.space.machine)
        first = b.add(lo, b.mul(warp, index(self.each * self.width)))

        def turn(c: Builder, k: Atom, known: State) -> State:
            base = c.add(first, c.mul(k, index(self.width)))
            position = self.space.at(c, base, self.width, hi)
            return step(c, replace(position, turn=k), known)

        return self.in_lanes(b, self.width, index(0), index(self.each), state, turn, each=1)


# --------------------------------------------------------------------------------------------------
# A block divided into one consecutive run for each lane: how operators that do not commute reduce.
#
#     lane l takes lo + l q, lo + l q + 1, .. lo + (l + 1) q - 1; then the lanes combine in order
#
# So each lane accumulates independently of its neighbours, and the order is preserved. Arrays read
# in place are loaded as square tiles along memory and transposed (`load_tile`).


TileStep = Callable[[Builder, Atom, Tile, State], State]


@record
class Blocked(Traversal):
    """One run for each lane, then the rest; the state is all accumulators.

    A `heavy` body is a loop over the columns of a tile, not written out for each.
    """

    heavy: bool

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""

        def tile_step(c: Builder, flat: Atom, tile: Tile, known: State) -> State:
            c.assume_space(self.space.shape)
            indices = c.unravel(flat, self.space.shape)
            return step(c, Position(flat, indices, self.width, None, tile), known)

        done, rest = self._tiles(b, lo, hi, self.neutral, tile_step)
        joined = self.joined(b, state, done)
        return self.region(b, 1, rest, hi, hi, joined, step, self.space.at)

    def _tiles(
        self, b: Builder, lo: Atom, hi: Atom, neutral: State, step: TileStep
    ) -> tuple[State, Atom]:
        """The whole tiles of lo to hi, reduced; and where the rest begins."""
        width = index(self.width)
        turns = b.apply("floordiv", b.sub(hi, lo), b.mul(width, width))
        stride = b.mul(turns, width)
        region = b.inner()
        lane = region.emit(Lane(index(0)))[0]
        inside, at, params = region.iteration("i", neutral)
        square = Square(inside.add(lo, at), stride, self.width)
        first = inside.add(inside.mul(lane, stride), square.base)
        columns = self._loop if self.heavy else self._written_out
        state = columns(b, inside, square, first, params, step)
        out = inside.close_loop(index(0), stride, neutral, state, width)
        reduced = region.close([], self.across_lanes(region, out))
        done: State = b.emit(Lanes(self.width, reduced))
        return done, b.add(lo, b.mul(stride, width))

    def _written_out(
        self, kernel: Builder, b: Builder, square: Square, first: Atom, state: State, step: TileStep
    ) -> State:
        loaded: dict[Var, tuple[Atom, ...]] = {}
        for column in range(self.width):
            tile = InRegisters(square, column, loaded)
            state = step(b, b.add(first, index(column)), tile, state)
        return state

    def _loop(
        self, kernel: Builder, b: Builder, square: Square, first: Atom, state: State, step: TileStep
    ) -> State:
        inside, column, params = b.iteration("k", state)
        tile = InMemory(square, column, b, kernel, {})
        after = step(inside, inside.add(first, column), tile, params)
        return inside.close_loop(index(0), index(self.width), state, after)
