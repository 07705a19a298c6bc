"""The place of an extreme: lanes say in which stretch of elements it lies, which is then looked at.

    for each stretch         best = the values of its steps combined, places left out
                             if best is chosen before the lane's own: keep it, with the stretch
    the lanes combined       the stretch of the element that is sought

Values that are narrow are compared as many at once as a register has of them; places of 64 bits
would be several registers. Within a lane later elements have later places, so that two values are
told apart by a place of 0 and one of 1. See Note [The stretch that is found].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i16, i32, i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lanes
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine.machine import WIDEST, Machine
from flatweave.lower.traverse.steps import State, Step
from flatweave.lower.traverse.traversal import Traverses
from flatweave.ops import Index
from flatweave.passes.operators import chooses_by_place
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, For
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant

REGISTERS = 2
"""Of a value in a step: comparisons of floats wait for each other."""
STEPS = 8
"""Steps of a stretch, for which lanes note once where they are."""

Call = Callable[[Builder, Sequence[Atom]], Sequence[Atom]]
"""The operator on kernel atoms."""
Values = Callable[[Builder, Atom, int], Sequence[Atom]]
"""The elements of a step from a position on, of so many lanes."""


@record
class Stretches:
    """How elements are folded of which component `place` is their position."""

    neutral: tuple[Atom, ...]
    place: int
    width: int
    number: DType
    steps: int = STEPS

    @property
    def length(self) -> int:
        """Elements of a stretch."""
        return self.width * self.steps

    def whole(self, b: Builder, lo: Atom, hi: Atom) -> Atom:
        """Where the last whole step from `lo` on ends."""
        width = index(self.width)
        return b.add(lo, b.mul(b.apply("floordiv", b.sub(hi, lo), width), width))

    def find(
        self, b: Builder, lo: Atom, whole: Atom, call: Call, values: Values
    ) -> tuple[Atom, Atom]:
        """The part of lo to whole, all whole steps, that has what is sought; b is of no lanes."""
        region = b.inner()
        loop = region.inner()
        i = loop.param("i", i64)
        best = [loop.param("s", atom.type) for atom in self._rest(self.neutral)]
        kept = loop.param("k", self.number)
        found = self._stretch(loop, i, whole, call, values)
        chosen = call(loop, self._pair(best, found))
        later = loop.apply("eq", chosen[self.place], constant(1, self.number))
        nth = loop.apply("floordiv", loop.sub(i, lo), index(self.length))
        at = loop.apply("select", later, loop.cast(nth, self.number), kept)
        turn = loop.close([i, *best, kept], [*self._rest(chosen), at])
        none = (*self._rest(self.neutral), constant(0, self.number))
        state = region.emit(For(lo, whole, index(self.length), turn, none))
        mine = self._with(state[:-1], state[-1])
        types = [atom.type for atom in mine]
        join = region.function([*types, *types], lambda c, *atoms: call(c, atoms))
        nth = region.cast(region.emit(ReduceLanes(join, mine))[self.place], i64)
        (nth,) = b.emit(Lanes(self.width, region.close([], [nth])))
        first = b.add(lo, b.mul(nth, index(self.length)))
        return first, b.apply("minimum", b.add(first, index(self.length)), whole)

    def _stretch(
        self, b: Builder, i: Atom, whole: Atom, call: Call, values: Values
    ) -> Sequence[Atom]:
        """What the values of one stretch combine to in each lane."""
        end = b.apply("minimum", b.add(i, index(self.length)), whole)
        step = b.inner()
        j = step.param("j", i64)
        known = [step.param("s", atom.type) for atom in self._rest(self.neutral)]
        here = self._rest(values(step, j, self.width))
        turn = step.close([j, *known], self._rest(call(step, self._pair(known, here))))
        return b.emit(For(i, end, index(self.width), turn, self._rest(self.neutral)))

    def _pair(self, first: Sequence[Atom], second: Sequence[Atom]) -> list[Atom]:
        """Values of an earlier element and of a later one."""
        earlier, later = constant(0, self.number), constant(1, self.number)
        return [*self._with(first, earlier), *self._with(second, later)]

    def _rest(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return (*atoms[: self.place], *atoms[self.place + 1 :])

    def _with(self, atoms: Sequence[Atom], place: Atom) -> tuple[Atom, ...]:
        return (*atoms[: self.place], place, *atoms[self.place :])


def stretches_of(
    machine: Machine, fn: Lambda, neutral: Sequence[Atom], lets: Sequence[Let],
    elements: Sequence[Atom], position: Var, most: int, least: int = 1,
) -> Stretches | None:  # fmt: skip
    """How a fold over `most` elements, which `lets` compute, goes by stretches, in steps of `least`
    lanes or more; None if no component is the position, or more is asked than which is less."""
    if not machine.threads_are_long or position not in elements:
        return None
    place = list(elements).index(position)
    if not (all(map(_is_free, lets)) and chooses_by_place(fn, place)):
        return None
    values = (*neutral[:place], *neutral[place + 1 :])
    one = machine.lanes([atom.type for atom in values if isinstance(atom.type, DType)])
    width = max(least, min(WIDEST, REGISTERS * one))
    numbers = [dtype for dtype in (i16, i32) if most // width <= dtype.high]
    return Stretches(tuple(neutral), place, width, (*numbers, i64)[0])


def _is_free(let: Let) -> bool:
    """Whether computing it once more costs time alone."""
    return isinstance(let.op, Apply | Cast) or (isinstance(let.op, Index) and not let.op.checked)


# Note [The stretch that is found]
#
# An operator that gives one of its operands as a whole, and the same for operands exchanged, has an
# order of all elements, of which it gives the last. Where it asks only which place is less, the
# values have an order, in which some may be equal; of equal ones it gives the first, or the last,
# by place. A lane meets its elements in the order of their places, and so it finds the value that
# it would find with them. It begins with the neutral element's values as if they stood at the
# beginning of the first stretch: elements that they win against have equal values, are given in the
# order of places, and one of them is in that stretch. Two lanes that name the same stretch may give
# either one's values: what wins against one of them from elsewhere wins against both.


# -- Only the stretch that has the element that is sought, and the rest behind whole steps ---------
#
#     the stretch that has it
#     for it, and for the rest         what another traversal does with all of a block


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
