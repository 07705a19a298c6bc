"""By how much one sum of indices is greater than another at the least.

    p < n - m + 1,  j < m:     n - (p + j)  >=  n - (n - m) - (m - 1)  =  1
    p < n,  j < p + 1:         p - j        >=  p - p                  =  0

A sum is taken apart only where it cannot wrap: lengths of arguments are below 2^60, so that a few
of them fit an i64. Then each index stands at that end of its range which makes the difference
least, those first that no other's range depends on, until lengths are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const, Op, Var

LEAST, GREATEST = -(2**63), 2**63 - 1
LONGEST = 2**60 - 1
DEPTH = 6
"""Sums in each other that are taken apart."""
MOST = 6
"""Different terms of a sum that is looked at."""


class Lengths(Protocol):
    """What is asked of a builder."""

    def definition(self, atom: Atom) -> Op | None: ...

    def inside(self, var: Atom) -> tuple[Atom, int] | None: ...

    def least(self, extent: Atom) -> int: ...

    def is_length(self, atom: Atom) -> bool: ...


class Sum:
    """Terms, how often each is added, a constant; and the least and the greatest value."""

    __slots__ = ("high", "low", "more", "terms")

    def __init__(self, terms: Mapping[Atom, int], more: int, low: int, high: int) -> None:
        self.terms, self.more, self.low, self.high = terms, more, low, high

    def plus(self, other: Sum, sign: int) -> Sum:
        """The sum of two, or their difference."""
        names = (*self.terms, *(name for name in other.terms if name not in self.terms))
        terms = {a: self.terms.get(a, 0) + sign * other.terms.get(a, 0) for a in names}
        ends = (other.low, other.high) if sign > 0 else (-other.high, -other.low)
        left = {atom: count for atom, count in terms.items() if count}
        return Sum(left, self.more + sign * other.more, self.low + ends[0], self.high + ends[1])


def least_difference(facts: Lengths, a: Atom, b: Atom) -> int:
    """A number that a - b is known to be no less than; LEAST where none is known."""
    left = _sum(facts, a).plus(_sum(facts, b), -1)
    for _ in range(MOST):
        index = _first(facts, left.terms)
        if index is None:
            break
        left = _at_its_end(facts, left, index)
    if len(left.terms) > MOST or any(count < 0 for count in left.terms.values()):
        return LEAST
    return left.more + sum(n * facts.least(x) for x, n in left.terms.items())


def _sum(facts: Lengths, atom: Atom, depth: int = DEPTH) -> Sum:
    """What an i64 is the sum of, of terms that do not wrap on the way; else of itself."""
    if isinstance(atom, Const):
        value = int(atom.value)
        return Sum({}, value, value, value)
    made = facts.definition(atom) if depth else None
    if isinstance(made, Apply) and made.fn in ("add", "sub"):
        a, b = (_sum(facts, arg, depth - 1) for arg in made.args)
        both = a.plus(b, 1 if made.fn == "add" else -1)
        if both.low >= LEAST and both.high <= GREATEST and len(both.terms) <= MOST:
            return both
    return Sum({atom: 1}, 0, *_ends(facts, atom, depth))


def _ends(facts: Lengths, atom: Atom, depth: int) -> tuple[int, int]:
    """The least and the greatest value that a term is known to have."""
    known = facts.inside(atom)
    if known is not None:
        extent, reach = known
        return reach, (_sum(facts, extent, depth - 1).high if depth else GREATEST) - 1 - reach
    if facts.is_length(atom):
        return 0, LONGEST
    return facts.least(atom), GREATEST


def _first(facts: Lengths, terms: Mapping[Atom, int]) -> Var | None:
    """An index that the range of no other one depends on."""
    ranged = [x for x in terms if isinstance(x, Var) and facts.inside(x) is not None]
    for atom in ranged:
        others = (_behind(facts, other).terms for other in ranged if other != atom)
        if not any(atom in found for found in others):
            return atom
    return None


def _behind(facts: Lengths, index: Var) -> Sum:
    """Where the range of an index ends."""
    known = facts.inside(index)
    assert known is not None
    return _sum(facts, known[0])


def _at_its_end(facts: Lengths, whole: Sum, index: Var) -> Sum:
    """A sum in which an index is where it makes that least."""
    count = whole.terms[index]
    known = facts.inside(index)
    assert known is not None
    end = Sum({}, known[1], 0, 0)
    if count < 0:
        end = _behind(facts, index).plus(Sum({}, 1 + known[1], 0, 0), -1)
    rest = Sum({x: n for x, n in whole.terms.items() if x != index}, whole.more, 0, 0)
    scaled = Sum({x: n * abs(count) for x, n in end.terms.items()}, end.more * abs(count), 0, 0)
    return rest.plus(scaled, 1 if count > 0 else -1)
