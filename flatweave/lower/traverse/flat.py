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
    walk: Traversal, reach: int, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At
) -> State:
    """One by one near the ends of the last axis, in whole steps between them."""
    if not reach or walk.width == 1:
        return walk.span(b, lo, hi, state, step, at)
    extent, width, far = walk.space.shape[-1], index(walk.width), index(reach)
    start = b.add(b.apply("maximum", lo, far), index(walk.width - 1))
    start = b.mul(b.apply("floordiv", start, width), width)
    start = b.apply("minimum", start, hi)
    stop = b.apply("minimum", hi, b.sub(extent, far))
    length = b.apply("maximum", b.sub(stop, start), index(0))
    mid = b.add(start, b.mul(b.apply("floordiv", length, width), width))

    def inside(c: Builder, base: Atom, lanes: int, limit: Atom) -> Position:
        position = at(c, base, lanes, limit)
        c.assume_inside(position.indices[-1], extent, reach)
        return position

    state = walk.region(b, 1, lo, start, hi, state, step, at)
    state = walk.region(b, walk.width, start, mid, hi, state, step, inside)
    return walk.region(b, 1, mid, hi, hi, state, step, at)


def flat(machine: Machine, extent: Atom, width: int) -> Flat:
    """Over the positions of one axis, from the front."""
    return Flat(Space(machine, (extent,), extent), width, ())
