"""What an element function costs, in units of one addition."""

from __future__ import annotations

from collections.abc import Iterable

from flatweave.ops import Fold, Index, Locate, Prefix
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Const, Lambda, Let, Op
from flatweave.terms.traverse import lambdas_in, needed_for, walk_lets

INNER_LOOP = 16
SHORT_LOOP = 16
"""A loop of at most so many iterations, known when compiling, costs a constant."""
READ = 2
CHEAP_KEY = 20
LOCATE = 6
"""A few steps of a walk along the rows; a search where there is no walk costs more."""


def cost_of_body(fn: Lambda) -> int:
    """The cost of one call; loops count as INNER_LOOP turns."""
    return sum(_cost(let.op) for let in fn.lets)


def cost_of_result(fn: Lambda, position: int) -> int:
    """The cost of computing one of a function's results."""
    return sum(_cost(let.op) for let in needed_for(fn.lets, fn.results[position : position + 1]))


def _cost(op: Op) -> int:
    inner = sum(cost_of_body(fn) for fn in lambdas_in(op))
    match op:
        case Apply(fn="floordiv" | "mod", args=(_, Const(value=value))) if is_power(value):
            return 1
        case Apply(fn=fn):
            return TABLE[fn].cost
        case Index():
            return READ
        case Locate():
            return LOCATE
        case Cast():
            return 1
        case While() | For() | Fold():
            return INNER_LOOP * (inner + 1)
        case If():
            return inner + 1
        case _:
            return inner


def grows(lets: Iterable[Let]) -> bool:
    """Whether what these compute costs more the longer some extent is: there is a loop that is not
    of a few iterations."""
    return any(
        _is_long(let.op) or any(grows(fn.lets) for fn in lambdas_in(let.op)) for let in lets
    )


def _is_long(op: Op) -> bool:
    match op:
        case Fold(extent=Const(value=count)):
            return int(count) > SHORT_LOOP
        case For(lo=Const(value=lo), hi=Const(value=hi), step=Const(value=step)):
            return int(hi) - int(lo) > SHORT_LOOP * int(step)
        case _:
            return isinstance(op, Fold | For | While)


def is_power(value: object) -> bool:
    """Whether dividing by a number is a shift."""
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def is_cheap_key(fn: Lambda) -> bool:
    """Whether computing a sort's keys in each pass is cheaper than moving them along."""
    plain = all(isinstance(let.op, Apply | Cast) for let in fn.lets)
    return plain and cost_of_body(fn) <= CHEAP_KEY


def reads_memory(fn: Lambda) -> bool:
    """Whether a function reads arrays, searches them, or contains a scan."""
    return any(isinstance(let.op, Index | Locate | Prefix) for let in walk_lets(fn))
