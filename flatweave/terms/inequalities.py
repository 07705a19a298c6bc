"""Whether one integer is at least another, from how both are made and from conditions that hold.

    b < n // 256,  t < 256            n - 1 - (256 b + t) >= 0
    not i < d                         i - d >= 0

Integers are sums of terms. Each term has facts: sums that are not negative. A goal is a sum, too:
it holds if it is at least 0 at the ends of its terms' ranges, or if what is left of it without a
multiple of a fact holds. So a term of the goal is replaced by a bound, step by step.

A sum is split only where it cannot wrap; lengths are below 2^60. Then a Var of a narrow dtype
and its cast to a wider one are one term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.terms.bounds import RULES, Bounds, Sum, bounds_of_dtype
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Op, Var

LONGEST = 2**60 - 1
DEPTH = 8
"""Operations in each other that are followed back."""
STEPS = 5
"""Facts that one proof takes."""
TRIES = 150
"""Sums that are looked at before a proof is given up."""
MOST = 8
"""Different terms of a sum."""


class Known(Protocol):
    """What is asked of a builder."""

    def definition(self, atom: Atom) -> Op | None: ...

    def inside(self, var: Atom) -> tuple[Atom, int] | None: ...

    def is_length(self, atom: Atom) -> bool: ...

    def least(self, extent: Atom) -> int: ...

    def conditions(self) -> Iterator[tuple[Atom | Op, bool]]: ...

    def indices(self) -> Iterator[Var]: ...


ZERO: Sum[Atom] = Sum({})
ONE: Sum[Atom] = Sum({}, 1)


def is_index(known: Known, atom: Atom, extent: Atom) -> bool:
    """Whether 0 <= atom < extent is known."""
    proof = Proof(known)
    place, end = proof.sum(atom), proof.sum(extent)
    return proof.holds(place) and proof.holds(end.plus(place, -1).plus(ONE, -1))


def is_at_least(known: Known, a: Atom, b: Atom) -> bool:
    """Whether a >= b is known."""
    proof = Proof(known)
    return proof.holds(proof.sum(a).plus(proof.sum(b), -1))


class Proof:
    """What has been found out about terms on the way to one goal."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._ranges: dict[Atom, Bounds] = {}
        self._facts: dict[Atom, list[Sum[Atom]]] = {}
        self._conditions: list[Sum[Atom]] | None = None

    def holds(self, goal: Sum[Atom], steps: int = STEPS) -> bool:
        """Whether a sum is at least 0."""
        return self._holds(goal, steps, {})

    def _holds(self, goal: Sum[Atom], steps: int, seen: dict[tuple[object, ...], int]) -> bool:
        if self._low(goal) >= 0:
            return True
        if seen.get(goal.key, 0) >= steps or len(seen) > TRIES or len(goal.terms) > MOST:
            return False
        seen[goal.key] = steps
        for atom, count in goal.terms.items():
            either = self._one_of(atom, count)
            if either and all(
                self._holds(goal.plus(Sum({atom: 1}), -count).plus(each, count), steps - 1, seen)
                for each in either
            ):
                return True
            for fact in self._about(atom):
                times, rest = divmod(count, fact.terms[atom])
                if rest or times <= 0:  # another of its terms may go
                    times = 1 if any(goal.terms.get(x) == n for x, n in fact.terms.items()) else 0
                if times > 0 and self._holds(goal.plus(fact, -times), steps - 1, seen):
                    return True
        return False

    def _one_of(self, atom: Atom, count: int) -> list[Sum[Atom]]:
        """The sums that a term, which lowers a goal, consists of."""
        made = self.known.definition(atom)
        if isinstance(made, Apply) and made.fn == ("minimum" if count > 0 else "maximum"):
            return [self.sum(arg) for arg in made.args if is_integer(arg)]
        return []

    def _low(self, goal: Sum[Atom]) -> int:
        """The least value of a sum whose terms know nothing of each other."""
        low = goal.more
        for atom, count in goal.terms.items():
            ends = self.range(atom)
            low += count * (ends.low if count > 0 else ends.high)
        return low

    # -- terms ------------------------------------------------------------------------------------

    def sum(self, atom: Atom, depth: int = DEPTH) -> Sum[Atom]:
        """What an integer is the sum of, where nothing wraps on the way; else of itself."""
        if isinstance(atom, Const):
            return Sum({}, int(atom.value))
        made = self.known.definition(atom) if depth else None
        if isinstance(made, Cast) and is_integer(made.arg):
            if self.range(made.arg, depth - 1).fit(made.dtype):
                return self.sum(made.arg, depth - 1)
        elif isinstance(made, Apply) and made.fn in ("add", "sub", "mul"):
            found = self._combined(made, depth - 1) or self._extended(atom, made, depth - 1)
            if found is not None:
                return found
        return Sum({atom: 1})

    def _combined(self, made: Apply, depth: int) -> Sum[Atom] | None:
        """A sum, difference or multiple of sums, if it does not wrap."""
        dtype = made.args[0].type
        ends = RULES[made.fn]([self.range(arg, depth) for arg in made.args])
        if not isinstance(dtype, DType) or ends is None or not ends.fit(dtype):
            return None
        a, b = (self.sum(arg, depth) for arg in made.args)
        if made.fn != "mul":
            return a.plus(b, 1 if made.fn == "add" else -1)
        if a.terms and b.terms:
            return None
        a, b = (b, a) if b.terms else (a, b)
        return ZERO.plus(a, b.more)

    def _extended(self, atom: Var, made: Apply, depth: int) -> Sum[Atom] | None:
        """An extent that is another one and a constant: it would be negative had it wrapped."""
        match made:
            case Apply(fn="add", args=(part, Const(value=more))) if part.type is i64 and more >= 0:
                is_whole = self.known.least(atom) >= 0
                return self.sum(part, depth).plus(ONE, int(more)) if is_whole else None
        return None

    def range(self, atom: Atom, depth: int = DEPTH) -> Bounds:
        """The least and the greatest value that an integer has."""
        if isinstance(atom, Const):
            return Bounds(int(atom.value), int(atom.value))
        found = self._ranges.get(atom)
        if found is None:
            found = self._range(atom, depth)
            if depth >= DEPTH // 2:
                self._ranges[atom] = found
        return found

    def _range(self, atom: Var, depth: int) -> Bounds:
        assert isinstance(atom.type, DType)
        found = bounds_of_dtype(atom.type)
        made = self.known.definition(atom) if depth else None
        more: Bounds | None = None
        if isinstance(made, Cast) and is_integer(made.arg):
            more = self.range(made.arg, depth - 1)
        elif isinstance(made, Apply) and made.fn in RULES and all(map(is_integer, made.args)):
            ends = [self.range(arg, depth - 1) for arg in made.args]
            more = RULES[made.fn](ends)
            if more is None and made.fn in ("floordiv", "mod") and min(ends).low >= 0:
                more = Bounds(0, self._most(made, ends))
        if more is not None and more.fit(atom.type):
            found = more
        inside = self.known.inside(atom)
        if inside is not None:
            end = self.range(inside[0], depth - 1).high if depth else LONGEST
            found = Bounds(max(found.low, inside[1]), min(found.high, end - 1 - inside[1]))
        if self.known.is_length(atom):
            found = Bounds(max(found.low, 0), min(found.high, LONGEST))
        return Bounds(max(found.low, self.known.least(atom)), found.high)

    def _most(self, made: Apply, ends: Sequence[Bounds]) -> int:
        """The greatest quotient or rest by a divisor that is not negative."""
        rows = self._rows(*made.args)
        if rows is None:
            return ends[0].high
        return min(ends[0].high, (ends[1] if made.fn == "mod" else self.range(rows)).high - 1)

    # -- facts ------------------------------------------------------------------------------------

    def _about(self, atom: Atom) -> list[Sum[Atom]]:
        """Sums that are not negative, and of which this is a term."""
        if atom not in self._facts:
            self._facts[atom] = []  # a proof on the way may ask again
            mine = [fact for fact in self._made(atom) if atom in fact.terms]
            self._facts[atom] = mine + [
                fact for fact in self._from_conditions() if atom in fact.terms
            ]
        return self._facts[atom]

    def _made(self, atom: Atom) -> Iterator[Sum[Atom]]:
        """What follows from how a term is made, and from the index that it is."""
        own = Sum({atom: 1})
        inside = self.known.inside(atom)
        if inside is not None:
            for extent in dict.fromkeys((inside[0], self._at_least_one(inside[0]))):
                yield self.sum(extent).plus(own, -1).plus(ONE, -1 - inside[1])
        made = self.known.definition(atom)
        if not isinstance(made, Apply) or not all(map(is_integer, made.args)):
            return
        match made.fn:
            case "minimum" | "maximum":
                sign = 1 if made.fn == "minimum" else -1
                yield from (ZERO.plus(self.sum(arg), sign).plus(own, -sign)
                            for arg in made.args)  # fmt: skip
            case "floordiv":
                yield from self._of_quotient(own, *made.args)
            case "shr" if isinstance(made.args[1], Const) and 0 <= made.args[1].value < 62:
                divisor = Const(1 << int(made.args[1].value), i64)
                yield from self._of_quotient(own, made.args[0], divisor)
            case "mod" if self._is_positive(*made.args):
                yield self.sum(made.args[1]).plus(own, -1).plus(ONE, -1)
                if self.range(made.args[0]).low >= 0:
                    yield self.sum(made.args[0]).plus(own, -1)

    def _at_least_one(self, extent: Atom) -> Atom:
        """What an extent is that has an index: maximum(n, 0) is n."""
        made = self.known.definition(extent)
        if isinstance(made, Apply) and made.fn == "maximum":
            above = [arg for arg in made.args if self.range(arg).high > 0]
            return above[0] if len(above) == 1 else extent
        return extent

    def _rows(self, whole: Atom, divisor: Atom) -> Atom | None:
        """The rows of a space of rows as long as a divisor, if a number is an index into that."""
        inside = self.known.inside(whole)
        space = self.known.definition(inside[0]) if inside is not None else None
        if isinstance(space, Apply) and space.fn == "mul" and divisor in space.args:
            return space.args[0] if space.args[1] == divisor else space.args[1]
        return None

    def _is_positive(self, whole: Atom, divisor: Atom) -> bool:
        """Whether a divisor is at least 1: as rows are of which there is an element."""
        low = self.range(divisor).low
        rows = self._rows(whole, divisor)
        if low > 0 or (low == 0 and rows is not None and self.range(rows).low >= 0):
            return True
        return self._conditions is not None and self.holds(self.sum(divisor).plus(ONE, -1))

    def _of_quotient(self, own: Sum[Atom], whole: Atom, divisor: Atom) -> Iterator[Sum[Atom]]:
        """whole - d q >= 0 and d q + d - 1 - whole >= 0; below the rows of a space of rows."""
        if isinstance(divisor, Const) and divisor.value > 0:
            by, rest = int(divisor.value), self.sum(whole)
            yield rest.plus(own, -by)
            yield ZERO.plus(own, by).plus(rest, -1).plus(ONE, by - 1)
            for fact in self._from_conditions():
                if fact.terms == rest.terms:  # whole >= least, so q >= least // d
                    least = rest.more - fact.more
                    yield own.plus(ONE, -(least // by))
        elif self._is_positive(whole, divisor):
            rows = self._rows(whole, divisor)
            if rows is not None:
                yield self.sum(rows).plus(own, -1).plus(ONE, -1)

    def _from_conditions(self) -> list[Sum[Atom]]:
        """Comparisons that hold where this is."""
        if self._conditions is None:
            self._conditions = []
            for atom, value in self.known.conditions():
                self._conditions += self._said(atom, value)
            for index in self.known.indices():
                self._conditions += self._made(index)
                for term in self.sum(self.known.inside(index)[0]).terms:  # type: ignore[index]
                    self._conditions += self._made(term)
        return self._conditions

    def _said(self, condition: Atom | Op, value: bool, depth: int = DEPTH) -> Iterator[Sum[Atom]]:
        """What a condition says that is true or false."""
        made: Op | None = None
        if depth:
            is_op = isinstance(condition, Op)
            made = condition if is_op else self.known.definition(condition)  # type: ignore[assignment, arg-type]
        if not isinstance(made, Apply):
            return
        if made.fn == "not":
            yield from self._said(made.args[0], not value, depth - 1)
        elif made.fn in ("and", "or") and made.args[0].type is bool_:
            if value == (made.fn == "and"):
                for arg in made.args:
                    yield from self._said(arg, value, depth - 1)
        elif made.fn in ("lt", "le", "gt", "ge", "eq", "ne") and all(map(is_integer, made.args)):
            yield from self._compared(made.fn if value else OPPOSITE[made.fn], made.args)

    def _compared(self, fn: str, args: Sequence[Atom]) -> Iterator[Sum[Atom]]:
        """What a comparison says that is true."""
        more = self.sum(args[0]).plus(self.sum(args[1]), -1)
        less = ZERO.plus(more, -1)
        match fn:
            case "lt" | "gt":
                yield (less if fn == "lt" else more).plus(ONE, -1)
            case "le" | "ge":
                yield less if fn == "le" else more
            case "eq":
                yield more
                yield less
            case "ne":  # and one of them is never greater
                yield from (gap.plus(ONE, -1) for gap in (more, less) if self._low(gap) >= 0)


OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def is_integer(atom: Atom) -> bool:
    """Whether an atom is an integer."""
    return isinstance(atom.type, DType) and atom.type.is_integer
