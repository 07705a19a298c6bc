"""One element at a time, outside any lanes: the folds inside it have them all."""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.traversal import At, Space, Traversal
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom


@record
class OneByOne(Traversal):
    """Its width is 0: there are no lanes."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""
        return one_by_one(self.space, b, lo, hi, state, step, self.space.at)

    def whole_step(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, outside any lanes."""
        return replace(Traversal.whole_step(self, b, base, width), alone=True)


def one_by_one(
    space: Space, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, at: At
) -> State:
    """Steps of one element each."""
    inside = space.inside(b)
    i = inside.param("i", i64)
    params = [inside.param("s", atom.type) for atom in state]
    position = replace(at(inside, i, 1, hi), alone=True)
    body = inside.close([i, *params], step(inside, position, tuple(params)))
    return b.emit(For(lo, hi, index(1), body, state))
