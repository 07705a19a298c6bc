"""Index tests that are settled by what is known of an index's range.

    assume reach <= j < extent - reach;  x = j + c  with |c| <= reach:
    maximum x 0 ==> x     minimum x (extent - 1) ==> x     lt x 0 ==> false     mod x extent ==> x
    abs x ==> x           sub a (sub a x) ==> x            (mirrored boundaries)
    lt (u64 x) (u64 extent) ==> true                       (the test of a read)
    the same for x = minimum (maximum y 0) (extent - 1), whatever y is

So the body of a stencil, written for every element, loses its boundary tests where a region of the
sweep keeps away from the boundary, and its reads become consecutive.

Integers wrap: of an x that may be any i64, x + 1 may be less than x. A sum counts as one only where
what is known of x says that it cannot wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.terms.control import Apply, Cast
from flatweave.terms.inequalities import ONE, Known, Proof
from flatweave.terms.syntax import Atom, Const


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
