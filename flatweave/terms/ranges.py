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
from flatweave.terms.differences import GREATEST, LEAST, least_difference
from flatweave.terms.syntax import Atom, Const, Op, Var


class Facts(Protocol):
    """What range analysis asks of a builder."""

    def definition(self, atom: Atom) -> Op | None: ...

    def inside(self, var: Atom) -> tuple[Atom, int] | None: ...

    def least(self, extent: Atom) -> int: ...

    def is_length(self, atom: Atom) -> bool: ...


ZERO = Const(0, i64)
UNKNOWN = 2**32
"""A difference below which nothing is known of two numbers but that they are i64s."""
DEPTH = 3
"""How many bounds in each other are followed: a place that is clipped, and clipped again."""
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


def _offset(facts: Facts, atom: Atom) -> tuple[Atom, int]:
    """The variable and constant whose sum an atom is, one that does not wrap."""
    total, base = 0, atom
    while isinstance(base, Var):
        made = facts.definition(base)
        if not isinstance(made, Apply) or made.fn not in ("add", "sub"):
            break
        distance = made.args[1]
        if not isinstance(distance, Const):
            break
        total += int(distance.value) if made.fn == "add" else -int(distance.value)
        base = made.args[0]
    if not total:
        return base, 0
    low, high = _range(facts, base)
    fits = low + total >= LEAST and high + total <= GREATEST
    if not fits and 0 < total <= GREATEST:
        fits = facts.least(atom) >= 0  # a sum that has wrapped would be less
    return (base, total) if fits else (atom, 0)


def _range(facts: Facts, atom: Atom) -> tuple[int, int]:
    """The least and the greatest value that an i64 is known to have."""
    if isinstance(atom, Const):
        return int(atom.value), int(atom.value)
    known = facts.inside(atom)
    if known is not None:
        extent, reach = known
        return reach, _range(facts, extent)[1] - 1 - reach
    return facts.least(atom), GREATEST


def _least_gap(facts: Facts, a: Atom, b: Atom, depth: int = DEPTH) -> int:
    """A number that a - b is known to be no less than."""
    gap = _gap_of_sums(facts, a, b)
    for atom, joins in ((a, (max, min)), (b, (min, max))) if depth else ():
        made = facts.definition(atom)
        if isinstance(made, Apply) and made.fn in ("maximum", "minimum"):
            pairs = [(x, b) if atom is a else (a, x) for x in made.args]
            gaps = [_least_gap(facts, *pair, depth - 1) for pair in pairs]
            gap = max(gap, joins[made.fn == "minimum"](gaps))
    return gap


def _gap_of_sums(facts: Facts, a: Atom, b: Atom) -> int:
    """The same of a variable and another one, and what is added to them."""
    (va, ca), (vb, cb) = _offset(facts, a), _offset(facts, b)
    if va == vb:
        return ca - cb
    known = facts.inside(vb)
    if known is not None:
        extent, more = _offset(facts, known[0])
        if va == extent:
            return ca - (cb + more - 1 - known[1])
    gap = _range(facts, va)[0] + ca - _range(facts, vb)[1] - cb
    if gap >= -UNKNOWN or not (_is_sum(facts, a) or _is_sum(facts, b) or known is not None):
        return gap  # nothing else could say more: there is no sum to take apart
    return max(gap, least_difference(facts, a, b))


def _is_sum(facts: Facts, atom: Atom) -> bool:
    made = facts.definition(atom)
    return isinstance(made, Apply) and made.fn in ("add", "sub")


def _at_least(facts: Facts, a: Atom, b: Atom, gap: int = 0) -> bool:
    return _least_gap(facts, a, b) >= gap


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
