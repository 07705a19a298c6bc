"""Visiting the positions of a block in steps of a warp; what all traversals have in common.

    lanes W:  for i = lo, lo + W, .. :  step at i, i + 1, .. i + W - 1
    lanes 1:  for the rest:             step at i

A *carry* is one value for the warp (a scan's prefix so far); an *accumulator* is kept by each lane
and combined at the end of the region, which only a commutative operator allows.

    flat.py         along the row-major position
    row_by_row.py   along the last axis, each row by itself
    one_by_one.py   one element at a time, outside any lanes
    blocked.py      a consecutive run of positions for each lane
    along_rows.py   along rows whose ends are data
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lanes
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.steps import Steps, steps_of
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom

At = Callable[[Builder, Atom, int, Atom], Position]
"""The step from a position on, on some lanes, of elements that end at a limit."""
StepAt = Callable[[Builder, Atom, int], Position]
"""The same for a step all of whose lanes have an element."""


class Traverses(Protocol):
    """What visits the positions of a block."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""


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
        """Running position f stands for element total - 1 - f."""
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
    """Whether steps lie inside of rows."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        raise NotImplementedError

    def whole_step(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, all of its lanes inside."""
        return self.space.at(b, base, width, b.add(base, index(width)))

    def row_before(self, b: Builder, last: Atom) -> tuple[Atom, StepAt]:
        """Where the row of a position starts, and its steps, where there are rows."""
        raise NotImplementedError

    def without_rows(self) -> Traversal:
        """The same steps, where nobody asks which rows they are in."""
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
        kept = sum(len(acc.neutral) for acc in self.accumulators)
        region = b.inner()
        body = self.space.inside(region)
        i = body.param("i", i64)
        params = tuple(body.param("s", atom.type) for atom in state)
        turn = body.close([i, *params], act(body, i, params))
        init = state if width == 1 else (*self.neutral, *state[kept:])
        out: State = region.emit(For(lo, hi, index(each or width), turn, init))
        if width > 1:
            out = (*self.across_lanes(region, out), *out[kept:])
        done: State = b.emit(Lanes(width, region.close([], out)))
        if width == 1:
            return done
        return (*self.joined(b, state, done), *done[kept:])

    @property
    def neutral(self) -> State:
        """What the accumulators begin with in each lane."""
        return tuple(atom for acc in self.accumulators for atom in acc.neutral)

    def across_lanes(self, b: Builder, out: State) -> State:
        """What the lanes have accumulated, combined."""
        reduced: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            args = out[start : start + len(acc.neutral)]
            reduced.extend(b.emit(ReduceLanes(acc.function(b), args)))
            start += len(acc.neutral)
        return tuple(reduced)

    def joined(self, b: Builder, before: State, region: State) -> State:
        """What was accumulated before a region and in it, combined."""
        joined: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            stop = start + len(acc.neutral)
            joined.extend(acc.combine(b, before[start:stop], region[start:stop]))
            start = stop
        return tuple(joined)
