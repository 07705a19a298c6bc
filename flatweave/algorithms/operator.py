"""Operators on elements that are tuples of scalars."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values
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
        """The carry behind an element."""
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


def operator_of(fn: Lambda, neutral: Values) -> Operator:
    """A lambda over the components of two elements as an operator."""
    return Operator(
        lambda b, left, right: b.inline(fn, (*left, *right)), neutral, lambda b: b.copy(fn)
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


def select(b: Builder, flag: Atom, yes: Values, no: Values) -> Values:
    """One of two elements, both of which are known."""
    return tuple(b.apply("select", flag, x, y) for x, y in zip(yes, no, strict=True))


def as_number(b: Builder, flag: Atom) -> Atom:
    """1 where a flag is set, else 0."""
    return b.apply("select", flag, index(1), index(0))
