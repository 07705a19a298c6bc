"""By how much one sum of indices is greater than another at the least.

    p < n - m + 1,  j < m:     n - (p + j)  >=  n - (n - m) - (m - 1)  =  1
    p < n,  j < p + 1:         p - j        >=  p - p                  =  0

A sum is taken apart only where it cannot wrap: lengths of arguments are below 2^60, so that a few
of them fit an i64. Then each index stands at that end of its range which makes the difference
least, those first that no other's range depends on, until lengths are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from flatweave.terms.control import Apply
from flatweave.terms.sums import Sum
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


ONE: Sum[Atom] = Sum({}, 1)


class Whole(NamedTuple):
    """A sum that does not wrap, with the least and the greatest value that it has."""

    sum: Sum[Atom]
    low: int
    high: int


def least_difference(facts: Lengths, a: Atom, b: Atom) -> int:
    """A number that a - b is known to be no less than; LEAST where none is known."""
    left = _whole(facts, a).sum.plus(_whole(facts, b).sum, -1)
    for _ in range(MOST):
        index = _first(facts, left.terms)
        if index is None:
            break
        left = _at_its_end(facts, left, index)
    if len(left.terms) > MOST or any(count < 0 for count in left.terms.values()):
        return LEAST
    return left.more + sum(n * facts.least(x) for x, n in left.terms.items())


def _whole(facts: Lengths, atom: Atom, depth: int = DEPTH) -> Whole:
    """What an i64 is the sum of, of terms that do not wrap on the way; else of itself."""
    if isinstance(atom, Const):
        value = int(atom.value)
        return Whole(Sum({}, value), value, value)
    made = facts.definition(atom) if depth else None
    if isinstance(made, Apply) and made.fn in ("add", "sub"):
        a, b = (_whole(facts, arg, depth - 1) for arg in made.args)
        sign = 1 if made.fn == "add" else -1
        ends = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
        both = Whole(a.sum.plus(b.sum, sign), a.low + ends[0], a.high + ends[1])
        if both.low >= LEAST and both.high <= GREATEST and len(both.sum.terms) <= MOST:
            return both
    return Whole(Sum({atom: 1}), *_ends(facts, atom, depth))


def _ends(facts: Lengths, atom: Atom, depth: int) -> tuple[int, int]:
    """The least and the greatest value that a term is known to have."""
    known = facts.inside(atom)
    if known is not None:
        extent, reach = known
        return reach, (_whole(facts, extent, depth - 1).high if depth else GREATEST) - 1 - reach
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


def _behind(facts: Lengths, index: Var) -> Sum[Atom]:
    """Where the range of an index ends."""
    known = facts.inside(index)
    assert known is not None
    return _whole(facts, known[0]).sum


def _at_its_end(facts: Lengths, whole: Sum[Atom], index: Var) -> Sum[Atom]:
    """A sum in which an index is where it makes that least."""
    count, known = whole.terms[index], facts.inside(index)
    assert known is not None
    low: Sum[Atom] = Sum({}, known[1])
    end = low if count > 0 else _behind(facts, index).plus(low, -1).plus(ONE, -1)
    return whole.plus(Sum({index: 1}), -count).plus(end, count)
