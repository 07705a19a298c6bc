"""So many steps for each warp, a number known beforehand: what lanes hold may stay in registers.

    warp w takes lo + w each 32 .. , step k of it the elements from lo + (w each + k) 32 on

The last block has lanes, and whole steps, without elements.
"""

from __future__ import annotations

from flatweave.base.records import record, replace
from flatweave.lower.traverse.position import State, Step
from flatweave.lower.traverse.traversal import Traversal
from flatweave.lower.traverse.warp_share import warp_index
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


@record
class Turns(Traversal):
    """Each lane takes `each` elements, one in each step."""

    each: int

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        warp = warp_index(b, self.space.machine)
        first = b.add(lo, b.mul(warp, index(self.each * self.width)))

        def turn(c: Builder, k: Atom, known: State) -> State:
            base = c.add(first, c.mul(k, index(self.width)))
            position = self.space.at(c, base, self.width, hi)
            return step(c, replace(position, turn=k), known)

        return self.in_lanes(b, self.width, index(0), index(self.each), state, turn, each=1)
