"""How far an index is from an element's own, whatever happens at the edges.

own i         i - 2                                   from -2 to -2
              maximum(i - 2, 0)                       from -2 to 0
              minimum(maximum(i - 2, 0) + 1, n)       from -1 to 1, where n is at least i
              end - abs(end - i - 1)                  from -1 to 1, where end is at least i
              select(lt(i, 1), j, i - 1)              from -1 to -1, but somewhere not
"""

from __future__ import annotations

from collections.abc import Iterable

from flatweave.access.analyse import Accesses
from flatweave.access.value import NOTHING, Modified, Term, Value
from flatweave.base.records import record, replace
from flatweave.terms.bounds import Sum
from flatweave.terms.syntax import Atom, Const, Var

FURTHEST = 1 << 16
"""From an element's own index."""


@record
class Span:
    """An index from `lo` to `hi` away from the element's own, where no one of `ends` is less than
    that; `inner` away from it where no edge is near. What is not `sure` is so there alone."""

    lo: int
    hi: int
    inner: int
    sure: bool = True
    ends: tuple[Atom, ...] = ()


@record
class _Side:
    """The values sign * own + rest + d, for d from lo to hi: counted from an end where the sign is
    -1."""

    sign: int
    rest: Value
    span: Span


def find_span(known: Accesses, index: Atom, own: Var) -> Span | None:
    """Where an index is next to an element's own; None where that is not known."""
    side = _side(known, known.of(index), own)
    return side.span if side is not None and _is_own(side) else None


def _is_own(side: _Side) -> bool:
    """Whether values are counted from the element's own index."""
    return side.sign == 1 and not side.rest.terms


def _side(known: Accesses, value: Value, own: Var) -> _Side | None:
    here = {term: n for term, n in value.terms.items() if own in known.along_term(term)}
    if len(here) != 1 or abs(value.more) > FURTHEST:
        return None
    ((term, sign),) = here.items()
    rest: Value = Sum({other: n for other, n in value.terms.items() if other is not term})
    found = _Side(1, NOTHING, Span(0, 0, 0)) if term is own else _changed(known, term, own)
    if found is None or abs(sign) != 1 or (sign > 0 and rest.terms):
        return None
    span = found.span
    if sign < 0:
        end = known.atom(rest)
        ends = span.ends if end is None else (*span.ends, end)
        sure = span.sure and end is not None
        span = Span(-span.hi, -span.lo, -span.inner, sure, ends)
    by = value.more
    span = replace(span, lo=span.lo + by, hi=span.hi + by, inner=span.inner + by)
    return _Side(sign * found.sign, rest.plus(found.rest, sign), span)


def _changed(known: Accesses, term: Term, own: Var) -> _Side | None:
    """A function of an index near the element's own that stays near it."""
    if not isinstance(term, Modified):
        return None
    match term.fn, [_side(known, arg, own) for arg in term.args]:
        case "abs", [_Side() as side]:  # own indices are 0 or more, and so are their mirror images
            return replace(side, span=replace(side.span, hi=max(side.span.hi, -side.span.lo)))
        case "minimum" | "maximum" as fn, [_Side() as side, _] if _is_own(side):
            return replace(side, span=_clipped(fn, side.span, known.atom(term.args[1])))
        case "minimum" | "maximum" as fn, [None, _Side() as side] if _is_own(side):
            return replace(side, span=_clipped(fn, side.span, known.atom(term.args[0])))
        case "select", [_, *sides]:
            return _likely(sides)
        case "mod", [side, _]:
            return _likely([side])
    return None


def _clipped(fn: str, span: Span, end: Atom | None) -> Span:
    """maximum x 0, and minimum x (extent - 1)"""
    if fn == "minimum":
        ends = span.ends if end is None else (*span.ends, end)
        return replace(span, lo=min(span.lo, 0), ends=ends, sure=span.sure and end is not None)
    at_front = isinstance(end, Const) and int(end.value) <= 0
    return replace(span, hi=max(span.hi, 0), sure=span.sure and at_front)


def _likely(sides: Iterable[_Side | None]) -> _Side | None:
    """The nearest of several: others go round an edge."""
    near = [side for side in sides if side is not None]
    if not near:
        return None
    side = min(near, key=lambda side: max(abs(side.span.lo), abs(side.span.hi)))
    return replace(side, span=replace(side.span, sure=False))
