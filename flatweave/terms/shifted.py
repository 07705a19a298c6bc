"""Whether a term is another one at the next index: f(i + 1), where the other is f(i).

    index p [add i 2]        is the next of        index p [add i 1]
    cast i64 (mul q j)       is the next of        cast i64 (mul q i)      where j is add i 1

Terms are compared by what they are made of. Sums of an index and constants are compared as sums:
integers wrap, and so do both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const, Let, Op, Var, constant
from flatweave.terms.traverse import lambdas_in

Makers = Mapping[Var, Op]


def makers_of(lets: Iterable[Let]) -> dict[Var, Op]:
    """The op behind each variable that lets of one result bind."""
    return {let.vars[0]: let.op for let in lets if len(let.vars) == 1}


def is_next(i: Var, at_i: Atom, of_i: Makers, j: Var, at_j: Atom, of_j: Makers) -> bool:
    """Whether `at_i`, a term of `i`, is what `at_j`, one of `j`, is for j = i + 1."""
    return _Pair(i, of_i, j, of_j).agree(at_i, at_j)


class _Pair:
    """Two bodies under comparison, and what has been found of their terms."""

    def __init__(self, i: Var, of_i: Makers, j: Var, of_j: Makers) -> None:
        self.i, self.of_i = i, of_i
        self.j, self.of_j = j, of_j
        self.found: dict[tuple[Atom, Atom], bool] = {}

    def agree(self, a: Atom, b: Atom) -> bool:
        if (a, b) not in self.found:
            self.found[a, b] = self._compare(a, b)
        return self.found[a, b]

    def _compare(self, a: Atom, b: Atom) -> bool:
        (x, ahead), (y, behind) = _apart(a, self.of_i), _apart(b, self.of_j)
        if y is self.j:
            return x is self.i and ahead == _plus(behind, 1)
        if x is self.i or ahead != behind:
            return False
        return self._same(x, y)

    def _same(self, a: Atom, b: Atom) -> bool:
        first = self.of_i.get(a) if isinstance(a, Var) else None
        second = self.of_j.get(b) if isinstance(b, Var) else None
        if first is None or second is None:
            return first is second and a == b
        if first.name != second.name or first.effect or any(True for _ in lambdas_in(first)):
            return False
        return self._fields(first.values(), second.values())

    def _fields(self, a: Any, b: Any) -> bool:
        if isinstance(a, tuple):
            return len(a) == len(b) and all(map(self._fields, a, b))
        if isinstance(a, Var | Const) and isinstance(b, Var | Const):
            return self.agree(a, b)
        return bool(a == b)


def _apart(atom: Atom, made: Makers) -> tuple[Atom, Const]:
    """An i64 as a term and the constant that is added to it."""
    total = constant(0, i64)
    while isinstance(atom, Var) and atom.type is i64:
        op = made.get(atom)
        if not isinstance(op, Apply) or op.fn not in ("add", "sub"):
            break
        a, b = op.args
        if isinstance(a, Const) and op.fn == "add":
            a, b = b, a
        if not isinstance(b, Const):
            break
        total = _plus(total, int(b.value) if op.fn == "add" else -int(b.value))
        atom = a
    return atom, total


def _plus(a: Const, b: int) -> Const:
    return constant(int(a.value) + b, i64)
