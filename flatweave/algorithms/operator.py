"""Operators on elements that are tuples of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import Pull, Values, allocate, dtypes_of, fold, read, store_each
from flatweave.kernel_ir.syntax import Sync, WarpIndex
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, constant

Combine = Callable[[Builder, Values, Values], Values]


@record(eq=True)
class Carried:
    """What is carried from step to step instead of an element: the operator on it, and how an
    element becomes it and comes of it."""

    combine: Combine
    widen: Callable[[Builder, Values], Values]
    narrow: Callable[[Builder, Values], Values]


@record(eq=True)
class Operator:
    """An associative function of two elements, which need not commute, and its neutral element.

    `written` gives it as a lambda for collectives, where it need not be made from `combine`.
    `carried` is for those whose carries are no elements.
    """

    combine: Combine
    neutral: Values
    written: Callable[[Builder], Lambda] | None = None
    carried: Carried | None = None

    def on(self, b: Builder, carry: Values, values: Values) -> Values:
        """Elements that go on from a carry."""
        return self.combine(b, self.element(b, carry), values)

    def after(self, b: Builder, carry: Values, values: Values) -> Values:
        """The carry after an element."""
        if self.carried is None:
            return self.combine(b, carry, values)
        return self.carried.combine(b, carry, self.carry(b, values))

    def element(self, b: Builder, carry: Values) -> Values:
        """A carry as an element."""
        return carry if self.carried is None else self.carried.narrow(b, carry)

    def carry(self, b: Builder, values: Values) -> Values:
        """An element as a carry."""
        return values if self.carried is None else self.carried.widen(b, values)

    def function(self, b: Builder) -> Lambda:
        """A lambda over the components of both elements."""
        if self.written is not None:
            return self.written(b)
        types = [atom.type for atom in self.neutral]
        size = len(types)
        return b.function(
            [*types, *types], lambda c, *atoms: self.combine(c, atoms[:size], atoms[size:])
        )


def addition(dtype: DType = i64) -> Operator:
    """The sum of single scalars."""
    return Operator(lambda b, left, right: (b.add(left[0], right[0]),), (constant(0, dtype),))


def segmented(operator: Operator) -> Operator:
    """The operator on elements with a flag before them, which begins anew where a flag is set.

    (f, x) and (g, y) give (f or g, y where g, else x op y).
    """

    def combine(b: Builder, left: Values, right: Values) -> Values:
        starts = b.apply("or", left[0], right[0])
        joined = operator.combine(b, left[1:], right[1:])
        return (starts, *select(b, right[0], right[1:], joined))

    return Operator(combine, (constant(False, bool_), *operator.neutral))


def together(first: Operator, second: Operator) -> Operator:
    """Two operators side by side, on the components of both."""
    size = len(first.neutral)

    def combine(b: Builder, left: Values, right: Values) -> Values:
        return (
            *first.combine(b, left[:size], right[:size]),
            *second.combine(b, left[size:], right[size:]),
        )

    return Operator(combine, (*first.neutral, *second.neutral))


def select(b: Builder, flag: Atom, yes: Sequence[Atom], no: Sequence[Atom]) -> Values:
    """One of two elements, both of which are known."""
    return tuple(b.apply("select", flag, x, y) for x, y in zip(yes, no, strict=True))


# -- How warps that each hold values meet, in kernels that are written for a machine's warps -------
#
#     store s warp mine; sync                              of_each_warp: an array, one for each warp
#     before = for 0 .. warp      (x => op x s[..])        what the warps before this one have
#     whole  = for warp .. warps  (x => op x s[..]) before    what all have, the same in every warp
#     all    = for 0 .. warps     (x => op x s[..])        the same, where nothing else is needed
#
# Outside of `for_all`, in code that every warp of the block runs.


def of_each_warp(b: Builder, warp: Atom, mine: Values, warps: int) -> Pull:
    """What each warp of the block has, as an array that all of them read."""
    memory = allocate(b, dtypes_of(b, mine), warps)
    store_each(b, memory, warp, mine)
    b.emit(Sync())
    return read(memory, warps)


def meet(b: Builder, operator: Operator, mine: Values, warps: int) -> tuple[Values, Values]:
    """What the warps before this one have, and what all have, combined in the order of warps."""
    warp = b.emit(WarpIndex())[0]
    step = _step_over(operator, of_each_warp(b, warp, mine, warps))
    before = fold(b, index(0), warp, operator.neutral, step, hint="w")
    return before, fold(b, warp, index(warps), before, step, hint="w")


def meet_all(b: Builder, operator: Operator, mine: Values, warps: int) -> Values:
    """What all warps have, combined in their order. No step differs between them, so control that
    depends on it is the same in all."""
    held = of_each_warp(b, b.emit(WarpIndex())[0], mine, warps)
    return fold(b, index(0), index(warps), operator.neutral, _step_over(operator, held), hint="w")


def _step_over(operator: Operator, held: Pull) -> Callable[[Builder, Atom, Values], Values]:
    def step(c: Builder, w: Atom, before: Values) -> Values:
        return operator.combine(c, before, held.at(c, w))

    return step


def by_first_warp(
    b: Builder, types: Sequence[DType], make: Callable[[Builder], Values]
) -> Values:
    """What the first warp alone computes, given to all warps of the block."""
    memory = allocate(b, types, 1)

    def leave(c: Builder) -> None:
        store_each(c, memory, index(0), make(c))

    on_first_warp(b, leave)
    b.emit(Sync())
    return read(memory, 1).at(b, index(0))


def on_first_warp(b: Builder, act: Callable[[Builder], None]) -> None:
    """What a block does once: its first warp does it."""
    with b.when(b.apply("eq", b.emit(WarpIndex())[0], index(0))) as c:
        act(c)
