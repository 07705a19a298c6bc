"""Reductions in chunks: blocked argmin and argmax, and those that end early, as any and all do.

Each lane keeps the index of a chunk, and one chunk is searched again:

    for each chunk           best = the values of its steps combined, without positions
                             if best is chosen over the lane's value: keep it and the chunk's index
    the lanes combined       the index of the chunk with the result

Narrow values are compared a full register at a time; 64-bit positions would take several registers.
Within a lane later elements have later positions, so positions 0 and 1 are enough to compare two
values. See Note [The chunk that is found].
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i16, i32, i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lanes
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine import WIDEST, Machine
from flatweave.lower.traverse.steps import State, Step
from flatweave.lower.traverse.traversal import Traverses
from flatweave.ops import Index
from flatweave.passes.operators import place_of
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.operators import Call, choose_by_values, put, without
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant, scalar_type

REGISTERS = 2
"""Of a value in a step: comparisons of floats wait for each other."""
STEPS = 8
"""Steps of a chunk; lanes record their chunk once for all of them."""

Values = Callable[[Builder, Atom, int], Sequence[Atom]]
"""The elements of a step from a position on, with a number of lanes."""


@record
class Stretches:
    """How a fold in chunks runs over elements whose component `place` is their position."""

    neutral: tuple[Atom, ...]
    place: int
    width: int
    number: DType
    steps: int = STEPS

    @property
    def length(self) -> int:
        """Elements of a chunk."""
        return self.width * self.steps

    def whole(self, b: Builder, lo: Atom, hi: Atom) -> Atom:
        """Where the last whole step from `lo` on ends."""
        width = index(self.width)
        return b.add(lo, b.round_down(b.sub(hi, lo), width))

    def find(
        self, b: Builder, lo: Atom, whole: Atom, call: Call, values: Values
    ) -> tuple[Atom, Atom]:
        """The part of lo to whole, all whole steps, with the result; b is outside any lanes."""
        region = b.inner()
        neutral = without(self.neutral, self.place)
        none = (*neutral, constant(0, self.number))
        loop, i, (*best, kept) = region.iteration("i", none)
        found = self._stretch(loop, i, whole, call, values)
        after, later = choose_by_values(loop, call, self.place, self.number, best, found)
        nth = loop.apply("floordiv", loop.sub(i, lo), index(self.length))
        at = loop.apply("select", later, loop.cast(nth, self.number), kept)
        state = loop.close_loop(lo, whole, none, [*after, at], self.length)
        mine = put(state[:-1], self.place, state[-1])
        types = [atom.type for atom in mine]
        join = region.function([*types, *types], lambda c, *atoms: call(c, atoms))
        nth = region.cast(region.emit(ReduceLanes(join, mine))[self.place], i64)
        (nth,) = b.emit(Lanes(self.width, region.close([], [nth])))
        first = b.add(lo, b.mul(nth, index(self.length)))
        return first, b.apply("minimum", b.add(first, index(self.length)), whole)

    def _stretch(
        self, b: Builder, i: Atom, whole: Atom, call: Call, values: Values
    ) -> Sequence[Atom]:
        """The combined values of one chunk in each lane."""
        end = b.apply("minimum", b.add(i, index(self.length)), whole)
        neutral = without(self.neutral, self.place)
        step, j, known = b.iteration("j", neutral)
        here = without(values(step, j, self.width), self.place)
        after, _ = choose_by_values(step, call, self.place, self.number, known, here)
        return step.close_loop(i, end, neutral, after, self.width)


def stretches_of(
    machine: Machine, fn: Lambda, neutral: Sequence[Atom], lets: Sequence[Let],
    elements: Sequence[Atom], position: Var, most: int, least: int = 1,
) -> Stretches | None:  # fmt: skip
    """How a fold over `most` elements, which `lets` compute, runs in chunks, in steps of `least`
    lanes or more; None if no component is the position, or if positions are not only compared."""
    if not machine.threads_are_long or not all(map(_is_free, lets)):
        return None
    found = place_of(fn, elements, lambda atom: atom is position)
    if found is None:
        return None
    place = found[0]
    one = machine.lanes(list(map(scalar_type, without(neutral, place))))
    width = max(least, min(WIDEST, REGISTERS * one))
    numbers = [dtype for dtype in (i16, i32) if most // width <= dtype.high]
    return Stretches(tuple(neutral), place, width, (*numbers, i64)[0])


def _is_free(let: Let) -> bool:
    """Whether computing it again costs only time."""
    return isinstance(let.op, Apply | Cast) or (isinstance(let.op, Index) and not let.op.checked)


# Note [The chunk that is found]
#
# Suppose that an operator returns one of its operands as a whole, and the same one if they are
# exchanged. Then it defines an order of all elements and returns the last. If it only compares
# positions, the values have an order with ties; of equal values it returns the first, or the last,
# by position. A lane visits its elements in the order of their positions, so it finds the same
# value without them. It begins with the neutral element's values as if they were at the beginning
# of the first chunk. Elements that they win against have equal values and are chosen in the order
# of positions, and one of them is in that chunk. Two lanes that name the same chunk may return
# either lane's values: what wins against one of them from elsewhere wins against both.


# -- Only the chunk with the result, and the elements after the last whole step --------------------
#
#     the chunk is found
#     for it, and for the rest         the steps of another traversal, as over a whole block


@record
class InStretches:
    """A traversal of one reduction that gives the position of an element."""

    walk: Traverses
    stretches: Stretches
    call: Call
    values: Values

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over those of the positions lo to hi that decide."""
        whole = self.stretches.whole(b, lo, hi)
        first, end = self.stretches.find(b, lo, whole, self.call, self.values)
        turn, t, params = b.iteration("t", state)
        found = turn.apply("eq", t, index(0))
        here = turn.apply("select", found, first, whole)
        there = turn.apply("select", found, end, hi)
        after = self.walk.block(turn, here, there, params, step)
        return turn.close_loop(index(0), index(2), state, after)


# -- Reductions that no element changes any more ---------------------------------------------------
#
#     while elements are left, and the results are not those that absorb every other one:
#         the steps of another traversal over the next chunk, twice as long as the one before


@record
class UntilAbsorbed:
    """A traversal of reductions which all have absorbing values."""

    walk: Traverses
    values: tuple[int, ...]
    first: int
    """Positions of the first chunk."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi, as far as they matter."""

        def holds(c: Builder, known: State) -> Atom:
            at, _, *found = known
            is_open = c.apply("lt", at, hi)
            pairs = zip(found, self.values, strict=True)
            ends = [c.apply("eq", x, constant(value, scalar_type(x))) for x, value in pairs]
            is_done = functools.reduce(lambda p, q: c.apply("and", p, q), ends)
            return c.apply("and", is_open, c.apply("not", is_done))

        def chunk(c: Builder, known: State) -> State:
            at, size, *found = known
            stop = c.apply("minimum", c.add(at, size), hi)
            return stop, c.add(size, size), *self.walk.block(c, at, stop, tuple(found), step)

        return b.repeat((lo, index(self.first), *state), holds, chunk)[2:]
