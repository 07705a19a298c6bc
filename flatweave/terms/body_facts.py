"""What is known of a body under construction: variables, where indices lie, tests settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Protocol

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.terms.control import Apply, Cast
from flatweave.terms.inequalities import ONE, Known, Proof
from flatweave.terms.syntax import ArrayType, Atom, Const, Let, Op, Var

# Index tests that are settled by what is known of an index's range.
#
#     assume reach <= j < extent - reach;  x = j + c  with |c| <= reach:
#     maximum x 0 ==> x     minimum x (extent - 1) ==> x     lt x 0 ==> false     mod x extent ==> x
#     abs x ==> x           sub a (sub a x) ==> x            (mirrored boundaries)
#     lt (u64 x) (u64 extent) ==> true                       (the test of a read)
#     the same for x = minimum (maximum y 0) (extent - 1), whatever y is
#
# So the body of a stencil, written for every element, loses its boundary tests where a region of
# the sweep keeps away from the boundary, and its reads become consecutive.
#
# Integers wrap: of an x that may be any i64, x + 1 may be less than x. A sum counts as one only
# where what is known of x says that it cannot wrap.


class Facts(Known, Protocol):
    """What range analysis asks of a builder."""

    def proof(self) -> Proof: ...


ZERO = Const(0, i64)
STEPS = 3
"""Facts that one test takes: an index that is clipped, and clipped again."""
COMPARISONS = ("lt", "le", "gt", "ge")


def fold_range(facts: Facts, fn: str, args: Sequence[Atom]) -> Atom | None:
    """The atom that an index operation equals within the assumed range; None when not known."""
    if fn == "lt" and _is_tested(facts, *args):
        return Const(True, bool_)
    if not args or args[0].type is not i64:
        return None
    if fn == "sub":
        return _back(facts, args[0], args[1])
    if fn == "abs":
        return args[0] if _is_positive(facts, args[0]) else None
    if fn in ("minimum", "maximum"):
        return _bounded(facts, fn, args[0], args[1])
    if fn in COMPARISONS:
        return _compared(facts, fn, args[0], args[1])
    return None


def is_inside(facts: Facts, atom: Atom, extent: Atom) -> bool:
    """Whether 0 <= atom < extent follows from an assumption."""
    return _at_least(facts, atom, ZERO) and _at_least(facts, extent, atom, 1)


def _is_tested(facts: Facts, a: Atom, b: Atom) -> bool:
    """u64 x < u64 extent, the test of a read, holds for an index that is inside."""
    position, extent = facts.definition(a), facts.definition(b)
    if not isinstance(position, Cast) or not isinstance(extent, Cast) or a.type is not u64:
        return False
    return extent.arg.type is i64 and is_inside(facts, position.arg, extent.arg)


def _at_least(facts: Facts, a: Atom, b: Atom, gap: int = 0) -> bool:
    """Whether a - b >= gap."""
    proof = facts.proof()
    return proof.holds(proof.sum(a).plus(proof.sum(b), -1).plus(ONE, -gap), STEPS)


def _bounded(facts: Facts, fn: str, a: Atom, b: Atom) -> Atom | None:
    if _at_least(facts, a, b):
        return a if fn == "maximum" else b
    if _at_least(facts, b, a):
        return b if fn == "maximum" else a
    return None


def _compared(facts: Facts, fn: str, a: Atom, b: Atom) -> Atom | None:
    """a < b is false if a - b >= 0, true if b - a >= 1; the others likewise."""
    if fn in ("gt", "le"):
        a, b = b, a
    if _at_least(facts, a, b):
        return Const(fn in ("ge", "le"), bool_)
    if _at_least(facts, b, a, 1):
        return Const(fn in ("lt", "gt"), bool_)
    return None


def _is_positive(facts: Facts, atom: Atom) -> bool:
    made = facts.definition(atom)
    if isinstance(made, Apply) and made.fn == "sub":
        a, b = made.args
        if _at_least(facts, a, b) and _at_least(facts, b, ZERO):  # else their distance may wrap
            return True
    return _at_least(facts, atom, ZERO)


def _back(facts: Facts, a: Atom, b: Atom) -> Atom | None:
    """a - (a - x) ==> x"""
    made = facts.definition(b)
    if isinstance(made, Apply) and made.fn == "sub" and made.args[0] == a:
        return made.args[1]
    return None


# What is known of a body under construction: what its variables are, and where indices lie.


LEAST = int(i64.low)


class BodyFacts:
    """What is known in one body; what is known in `outer` is known here, too."""

    outer: BodyFacts | None = None

    def __init__(self) -> None:
        self.own: dict[Var, Op | None] = {}
        self._below: dict[Var, Atom] = {}
        self._inside: dict[Var, tuple[Atom, int]] = {}
        self._spaces: list[Sequence[Atom]] = [[]]
        self._shapes: dict[Sequence[Atom], None] = {}
        self._lengths: set[Atom] = set()
        self._least: dict[Atom, int] = {}
        self._conditions: list[tuple[Atom | Op, bool]] = []
        self._settled: dict[Var, Const] = {}
        self._proof: Proof | None = None

    def proof(self) -> Proof:
        """The consequences of all facts known here, cached until a fact is added."""
        if self._proof is None:
            self._proof = Proof(self)
        return self._proof

    def bind(self, var: Var, made: Op | None) -> None:
        """A variable of this body, and what makes it; None for a parameter."""
        self.own[var] = made
        if isinstance(var.type, ArrayType):
            self.assume_shape(var.type.shape)
            if made is None and self.outer is None:
                self._lengths.update(var.type.shape)
                self._proof = None

    def assume_let(self, let: Let) -> None:
        """A let of this body, and what its op says of the values that it makes."""
        for var in let.vars:
            self.bind(var, let.op)
        if let.op.gives_lengths:
            self._lengths.update(let.vars)
        for var, extent in zip(let.vars, let.op.below(), strict=False):
            if extent is not None:
                self.assume_below(var, extent)

    def assume_index(self, var: Var, extent: Atom) -> None:
        """A parameter is an index of this body's space, along an axis of this extent."""
        self.assume_below(var, extent)
        self._spaces[0] = [*self._spaces[0], extent]

    def assume_below(self, var: Var, extent: Atom) -> None:
        """A variable is an index into this extent."""
        self._below[var], self._proof = extent, None
        self._assume_least(extent, 1)

    def assume_space(self, shape: Sequence[Atom]) -> None:
        """This body runs for elements of this space only, so none of these extents is 0."""
        self._spaces.append(shape)
        for extent in shape:
            self._assume_least(extent, 1)

    def assume_elements(self, shape: Sequence[Atom]) -> None:
        """Where this body runs it reads an element of an array of this shape."""
        if len(shape) > 1 and shape not in self._spaces:
            self.assume_space(shape)

    def assume_shape(self, shape: Sequence[Atom]) -> None:
        """An array has this shape: its size was checked to fit."""
        if len(shape) > 1:
            self._shapes[tuple(shape)] = None
            self._lengths.update(shape)
            self._proof = None

    def assume_condition(self, condition: Atom | Op, value: bool) -> None:
        """This body runs only where a condition is true, or false."""
        self._conditions.append((condition, value))
        self._proof = None
        self._settle(condition, value)

    def _settle(self, condition: Atom | Op, value: bool) -> None:
        """A condition is a constant here, and so is what it consists of."""
        made = condition if isinstance(condition, Op) else self.definition(condition)
        if isinstance(condition, Var):
            self._settled[condition] = Const(value, bool_)
        match made:
            case Apply(fn="not", args=(arg,)) if arg.type is bool_:
                self._settle(arg, not value)
            case Apply(fn="and" | "or" as fn, args=args) if value == (fn == "and"):
                for arg in args:
                    if arg.type is bool_:
                        self._settle(arg, value)
            case Apply(fn="eq", args=(Var() as x, Const() as constant)) if value:
                if x.type is i64:
                    self._settled[x] = constant

    def settled(self, atom: Atom) -> Atom:
        """A constant for a condition that is known to be true or false here."""
        return self.constant(atom) or atom if atom.type is bool_ else atom

    def constant(self, atom: Atom) -> Const | None:
        """The constant that a condition or an i64 is known to be here."""
        scope: BodyFacts | None = self
        while scope is not None and isinstance(atom, Var):
            if atom in scope._settled:
                return scope._settled[atom]
            scope = scope.outer
        return None

    def conditions(self) -> Iterator[tuple[Atom | Op, bool]]:
        """The conditions that are known to be true or false here."""
        scope: BodyFacts | None = self
        while scope is not None:
            yield from scope._conditions
            scope = scope.outer

    def indices(self) -> Iterator[Var]:
        """The variables that are known to be indices here."""
        scope: BodyFacts | None = self
        while scope is not None:
            yield from scope._below
            scope = scope.outer

    def is_length(self, atom: Atom) -> bool:
        """Whether an i64 is an extent of an argument, or of an array whose size was checked to fit:
        from 0 on and below 2^60."""
        scope: BodyFacts | None = self
        while scope is not None:
            if atom in scope._lengths:
                return True
            scope = scope.outer
        return False

    def definition(self, atom: Atom) -> Op | None:
        """The op that binds `atom` here or in an enclosing body, where known."""
        if type(atom) is not Var:
            return None
        scope: BodyFacts | None = self
        while scope is not None:
            if atom in scope.own:
                return scope.own[atom]
            scope = scope.outer
        return None

    def assume_inside(self, var: Atom, extent: Atom, reach: int) -> None:
        """From here on `var` is at least `reach` away from both ends of 0 to `extent`."""
        assert isinstance(var, Var)
        self._inside[var], self._proof = (extent, reach), None
        self._assume_least(extent, 2 * reach + 1)

    def inside(self, var: Atom) -> tuple[Atom, int] | None:
        """The extent that `var` stays inside of, and how far from its ends, where known."""
        scope: BodyFacts | None = self
        while scope is not None and isinstance(var, Var):
            if var in scope._inside:
                return scope._inside[var]
            if var in scope._below:
                return scope._below[var], 0
            scope = scope.outer
        return None

    def is_below(self, atom: Atom, extent: Atom) -> bool:
        """Whether 0 <= atom < extent is known from how `atom` was made."""
        return self.bound(atom) == extent or is_inside(self, atom, extent)

    def bound(self, atom: Atom) -> Atom | None:
        """An extent that an i64 is known to be an index into; None where none is known."""
        known = self.inside(atom)
        if known is not None:
            return known[0]
        made = self.definition(atom)
        if isinstance(made, Apply) and made.fn == "mod" and atom.type is i64:
            return made.args[1] if self.is_positive(made.args[1]) else None
        return None

    def is_positive(self, extent: Atom) -> bool:
        """Whether an i64 is known to be at least 1, as an extent is that has an index."""
        return self.least(extent) > 0

    def least(self, extent: Atom) -> int:
        """A number that an i64 is known to be no less than, as an extent or as a part of one."""
        if isinstance(extent, Const):
            return int(extent.value)
        found = LEAST
        scope: BodyFacts | None = self
        while scope is not None:
            found = max(found, scope._least.get(extent, LEAST))
            scope = scope.outer
        return found

    def _assume_least(self, extent: Atom, least: int) -> None:
        """An extent has at least this many indices; so has, except for a constant that is added to
        form the extent, the other summand."""
        if isinstance(extent, Const):
            return
        if least > self._least.get(extent, LEAST):
            self._least[extent], self._proof = least, None
        match self.definition(extent):
            case Apply(fn="add", args=(part, Const(value=more))) if more >= 0:
                known = self._least.get(part, LEAST)
                self._least[part], self._proof = max(least - int(more), known), None

    def fits(self, extents: Sequence[Atom]) -> bool:
        """Whether these are extents of one space or array, so that their product does not wrap."""
        if all(isinstance(extent, Const) for extent in extents):
            return prod(int(e.value) for e in extents if isinstance(e, Const)) <= i64.high
        scope: BodyFacts | None = self
        while scope is not None:
            if any(_holds_all(shape, extents) for shape in (*scope._spaces, *scope._shapes)):
                return True
            scope = scope.outer
        return False

    def scope_of(self, atom: Atom) -> BodyFacts | None:
        """The body that binds `atom`: this one or an enclosing one."""
        scope: BodyFacts | None = self
        if type(atom) is not Var:
            return None
        while scope is not None and atom not in scope.own:
            scope = scope.outer
        return scope


def _holds_all(shape: Sequence[Atom], extents: Sequence[Atom]) -> bool:
    """Whether each of `extents` can be paired with an equal or greater extent of a shape."""
    left = list(shape)
    for extent in extents:
        found = extent if extent in left else next(
            (e for e in left if isinstance(e, Const) and isinstance(extent, Const)
             and e.value >= extent.value), None
        )  # fmt: skip
        if found is None:
            return False
        left.remove(found)
    return True
