"""Which scalars of a sweep's body advance evenly along a row.

    s, start = locate ends 0 p         the same for all positions of a row
    q = index primes [s]               the same
    k = sub p start                    linear in p
    j = mul q (add k q)                linear in p: along a row it advances by q
"""

from __future__ import annotations

from enum import IntEnum

from flatweave.base.dtypes import i64
from flatweave.ops import Index, Locate, Sweep
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Let, Var
from flatweave.terms.traverse import free_vars


class Course(IntEnum):
    """How a value behaves from one position of a row to the next."""

    FIXED = 0
    LINEAR = 1
    FREE = 2


def courses_along_rows(op: Sweep, located: Locate) -> dict[Var, Course]:
    """How what a body binds behaves along the rows that `located` finds its positions in."""
    known: dict[Var, Course] = {op.body.params[0]: Course.LINEAR}
    for let in op.body.lets:
        course = Course.FIXED if let.op == located else _course(known, let)
        known.update((var, course) for var in let.vars)
    return known


def course_of(known: dict[Var, Course], atom: Atom) -> Course:
    """How an atom behaves; what comes from outside the body is fixed."""
    return known.get(atom, Course.FIXED) if isinstance(atom, Var) else Course.FIXED


def _course(known: dict[Var, Course], let: Let) -> Course:
    courses = [known.get(var, Course.FIXED) for var in free_vars(let.op)]
    if isinstance(let.op, Index) and let.op.checked:
        return Course.FREE
    if all(course is Course.FIXED for course in courses):
        return Course.FIXED
    if not isinstance(let.op, Apply) or let.vars[0].type is not i64:
        return Course.FREE
    return _of_apply(let.op.fn, [course_of(known, arg) for arg in let.op.args])


def _of_apply(fn: str, args: list[Course]) -> Course:
    """Sums of linear values are linear, and products with fixed ones."""
    if max(args) is Course.FREE:
        return Course.FREE
    if fn in ("add", "sub") or (fn == "mul" and min(args) is Course.FIXED):
        return Course.LINEAR
    return Course.FREE
