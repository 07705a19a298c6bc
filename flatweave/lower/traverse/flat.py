"""Along the row-major position."""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.traversal import At, Space, Traversal
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


@record
class Flat(Traversal):
    """With a `reach`, positions that far from both ends are visited apart: elsewhere the tests of
    a stencil's boundary fall away."""

    reach: int = 0

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        return span_with_edges(self, self.reach, b, lo, hi, state, step, self.space.at)


def span_with_edges(
    walk: Traversal, reach: int, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At,
    short: int = 0,
) -> State:  # fmt: skip
    """One by one near the ends of the last axis, in whole steps between them.

        lo .. one by one .. short steps .. whole steps .. short steps .. one by one .. hi

    Steps begin at multiples of their width; there are short ones where `short` says how wide. What
    lies before the first whole step and behind the last, 3 % of a row of 4,096 elements, takes a
    fifth of the time if it goes one by one.
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
        there = b.add(here, b.mul(b.apply("floordiv", length, index(width)), index(width)))
        state = walk.region(b, width, here, there, hi, state, step, inside)
        here = there
    return walk.region(b, 1, here, hi, hi, state, step, at)


def _rounded_up(b: Builder, atom: Atom, width: int) -> Atom:
    """The first multiple of a width from there on."""
    raised = b.add(atom, index(width - 1))
    return b.mul(b.apply("floordiv", raised, index(width)), index(width))


def flat(machine: Machine, extent: Atom, width: int) -> Flat:
    """Over the positions of one axis, from the front."""
    return Flat(Space(machine, (extent,), extent), width, ())
