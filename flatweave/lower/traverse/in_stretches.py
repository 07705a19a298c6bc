"""Only the stretch that has the element that is sought, and the rest behind whole steps.

    the stretch that has it          (stretches.py)
    for it, and for the rest         what another traversal does with all of a block
"""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.lower.traverse.position import State, Step
from flatweave.lower.traverse.stretches import Call, Stretches, Values
from flatweave.lower.traverse.traversal import Traverses
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom


@record
class InStretches:
    """A traversal of one reduction that gives the place of an element."""

    walk: Traverses
    stretches: Stretches
    call: Call
    values: Values

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over those of the positions lo to hi that decide."""
        whole = self.stretches.whole(b, lo, hi)
        first, end = self.stretches.find(b, lo, whole, self.call, self.values)
        turn = b.inner()
        t = turn.param("t", i64)
        params = tuple(turn.param("s", atom.type) for atom in state)
        found = turn.apply("eq", t, index(0))
        here = turn.apply("select", found, first, whole)
        there = turn.apply("select", found, end, hi)
        body = turn.close([t, *params], self.walk.block(turn, here, there, params, step))
        return b.emit(For(index(0), index(2), index(1), body, state))
