"""Upper bounds of trip counts, read off a loop's own bounds, and what an iteration costs.

    hi = minimum (add lo 4096) n          for lo hi 64: at most 64 turns
    lo = mul (floordiv hi 16) 16          for lo hi 1: at most 15, the rest of a division
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping

from flatweave.kernel_ir.host import Alloc, Launch
from flatweave.kernel_ir.syntax import Backoff
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import lambdas_in

Made = Mapping[Var, Op]  # how scalars were computed

LONG = 1 << 12  # what is charged for a let that may take a microsecond
SHORT = 1 << 10  # a loop whose iterations together cost no more than this is short


def cost_of(made: Made, *bodies: Lambda) -> int:
    """About how many lets run; loops inside that are not short count for one."""
    total = 0
    for body in bodies:
        own: dict[Var, Op] = {
            let.vars[0]: let.op for let in body.lets if isinstance(let.op, Apply)
        }
        # loops in the body are bounded by what it computes
        inside = ChainMap(own, made) if own else made  # type: ignore[arg-type]  # never changed
        total += sum(_cost(inside, let) for let in body.lets)
    return total


def _cost(made: Made, let: Let) -> int:
    match let.op:
        case If(then=then, other=other):
            return 1 + cost_of(made, then, other)
        case For() as op:
            return 1 + (_cost_of_short(made, op) or 0)
        case While():
            return 1
        case Backoff() | Launch() | Alloc():
            return LONG
    return 1 + cost_of(made, *lambdas_in(let.op))


def is_short(made: Made, op: For) -> bool:
    """Whether all iterations together cost little."""
    return _cost_of_short(made, op) is not None


def _cost_of_short(made: Made, op: For) -> int | None:
    """What all iterations of a short loop cost together; None of one that is not short."""
    turns = trip_count_bound(made, op)
    total = SHORT + 1 if turns is None else turns * (1 + cost_of(made, op.body))
    return total if total <= SHORT else None


def trip_count_bound(made: Made, op: For) -> int | None:
    """An upper bound of the number of iterations; None when nothing bounds them."""
    step = op.step
    if not isinstance(step, Const) or step.value <= 0:
        return None
    gap = _gap(made, op.hi, op.lo)
    return None if gap is None else max(0, -(-gap // int(step.value)))


def _gap(made: Made, x: Atom, base: Atom) -> int | None:
    """The most that x - base can be."""
    if x == base:
        return 0
    if _is_rounded(made, base, x):
        return _divisor(made, base) - 1
    match _made(made, x):
        case Apply(fn="add", args=(a, b)):
            return _sum(_gap(made, a, base), _most(made, b))
        case Apply(fn="minimum", args=args):
            return min(_known(_gap(made, arg, base) for arg in args), default=None)
    if isinstance(base, Const):
        return _sum(_most(made, x), -int(base.value))
    return None


def _most(made: Made, x: Atom) -> int | None:
    """The most that x can be."""
    if isinstance(x, Const):
        return int(x.value)
    match _made(made, x):
        case Apply(fn="sub", args=(a, b)):
            counted = _made(made, b)
            is_natural = counted is not None and counted.fn == "clz"
            return _most(made, a) if is_natural else _gap(made, a, b)
        case Apply(fn="floordiv", args=(a, Const(value=int(c)))) if c > 0:
            most = _most(made, a)
            return None if most is None else most // c
        case Apply(fn="mul", args=(a, Const(value=int(c)))) if c > 0:
            most = _most(made, a)
            return None if most is None else most * c
        case Apply(fn="minimum", args=args):
            return min(_known(_most(made, arg) for arg in args), default=None)
        case Apply(fn="mod", args=(_, Const(value=int(c)))) if c > 0:
            return c - 1
    return None


def _is_rounded(made: Made, base: Atom, x: Atom) -> bool:
    """Whether base = s + (x - s) // c * c, or the same without s."""
    match _made(made, base):
        case Apply(fn="add", args=(s, whole)):
            match _made(made, _dividend(made, whole)):
                case Apply(fn="sub", args=(a, b)):
                    return a == x and b == s
        case Apply(fn="mul"):
            return _dividend(made, base) == x
    return False


def _dividend(made: Made, whole: Atom) -> Atom | None:
    """a of a // c * c"""
    match _made(made, whole):
        case Apply(fn="mul", args=(quotient, Const() as c)):
            match _made(made, quotient):
                case Apply(fn="floordiv", args=(a, d)) if c == d:
                    return a
    return None


def _divisor(made: Made, base: Atom) -> int:
    """c of s + a // c * c"""
    found = _made(made, base)
    if found is not None and found.fn == "add":
        found = _made(made, found.args[1])
    assert found is not None
    c = found.args[1]
    assert isinstance(c, Const)
    return int(c.value)


def _made(made: Made, atom: Atom | None) -> Apply | None:
    found = made.get(atom) if isinstance(atom, Var) else None
    return found if isinstance(found, Apply) else None


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
