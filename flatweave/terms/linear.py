"""Sums of i64 taken apart, so that what is added and subtracted again goes away.

    a = add start first
    k = sub p start             ==>         q = add p first
    q = add a k

Integers wrap, and the law holds of them all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from flatweave.base.dtypes import i64
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Let

Terms = Mapping[Atom, int]


def added(a: Terms, b: Terms, sign: int = 1) -> Terms:
    """A sum of two, or their difference."""
    total = {atom: a.get(atom, 0) + sign * b.get(atom, 0) for atom in (*a, *b)}
    return {atom: n for atom, n in total.items() if n}


class Sums:
    """The sums of a body, let by let: what each is made of, and how often that is added."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.terms: dict[Atom, Terms] = {}

    def of(self, atom: Atom) -> Terms:
        return self.terms.get(atom, {atom: 1})

    def note(self, let: Let) -> bool:
        """Know what a let adds up; whether some of it went away."""
        op = let.op
        if not isinstance(op, Apply) or op.fn not in ("add", "sub") or let.vars[0].type is not i64:
            return False
        (a, b), sign = map(self.of, op.args), 1 if op.fn == "add" else -1
        self.terms[let.vars[0]] = left = added(a, b, sign)
        return len(left) < len({*a, *b})

    def shortened(self, let: Let) -> list[Let]:
        """The lets in whose last one a sum is made of what is left of it."""
        if not self.note(let):
            return [let]
        left = self.of(let.vars[0])
        if not 1 < len(left) <= 4 or set(left.values()) - {1, -1} or 1 not in left.values():
            return [let]
        first, *others = sorted(left, key=lambda atom: -left[atom])
        lets: list[Let] = []
        for k, atom in enumerate(others, 1):
            var = let.vars[0] if k == len(others) else self.b.var(let.vars[0].name, i64)
            op = Apply("add" if left[atom] == 1 else "sub", (first, atom))
            lets.append(Let((var,), op, let.where))
            first = var
        return lets

