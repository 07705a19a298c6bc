"""Which variables depend on what is differentiated, in a function of the program.

    active = {x};   y = mul x 2.0;  i = cast i64 y;  z = cast f64 i         active = {x, y}

Most operations on functions are taken to pass on to all results what any of their operands is.
Maps, loops, branches and operators are looked into: a state of which one part is active is common.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from flatweave.gradients.scalars import NONE
from flatweave.gradients.values import bound, tangent_type
from flatweave.ops import Map, Reduce, ReduceSegments, Scan
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars


def is_read(op: Op, active: Container[Var]) -> bool:
    """Whether an operation, or a function in it, reads an active variable."""
    return any(var in active for var in free_vars(op))


def spread(lets: Sequence[Let], active: set[Var]) -> None:
    """Add what depends on active variables; what stands before the lets is there already."""
    for let in lets:
        if is_read(let.op, active):
            active.update(results_of(let, active))


def results_of(let: Let, active: set[Var]) -> list[Var]:
    """The results of an operation that are active, given that something it reads is."""
    match let.op:
        case Apply(fn=fn):
            return [] if fn in NONE else bound(let)
        case Cast(arg=arg):
            return [var for var in bound(let) if _has_tangent(arg) and _is_float(let.vars[0])]
        case If(then=then, other=other):
            flags = [a or b for a, b in zip(*(given(fn, active) for fn in (then, other)))]
        case While(body=body, init=init):
            flags = state_of(body, body.params, init, active)
        case For(body=body, init=init):
            flags = state_of(body, body.params[1:], init, active)
        case Reduce(fn=fn, neutral=neutral, xs=xs) | Scan(fn=fn, neutral=neutral, xs=xs):
            flags = components(fn, neutral, xs, active)
        case Map(fn=fn, xs=xs):
            pairs = zip(fn.params, xs, strict=True)
            inside = active.union(param for param, x in pairs if is_active(x, active))
            flags = given(fn, inside)
        case ReduceSegments(fn=fn, neutral=neutral, xs=xs):
            flags = [False, *components(fn, neutral, xs, active)]
        case _:
            return bound(let)
    return [var for var, flag in zip(let.vars, flags, strict=True) if flag]


def _has_tangent(atom: Atom) -> bool:
    return tangent_type(atom.type) is not None


def _is_float(atom: Atom) -> bool:
    type_ = atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type
    return bool(getattr(type_, "is_float", False))


def given(fn: Lambda, active: set[Var]) -> list[bool]:
    """Which results of a function are active."""
    spread(fn.lets, active)
    return [is_active(atom, active) for atom in fn.results]


def is_active(atom: Atom, active: set[Var]) -> bool:
    """Whether an atom depends on what is differentiated."""
    return not isinstance(atom, Const) and atom in active


def state_of(
    body: Lambda, params: Sequence[Var], init: Sequence[Atom], active: set[Var]
) -> list[bool]:
    """Which parts of a loop's state are active: at its beginning, or after some iteration."""
    flags = [is_active(atom, active) for atom in init]
    while True:
        inside = active.union(var for var, flag in zip(params, flags, strict=True) if flag)
        found = [a or b for a, b in zip(flags, given(body, inside), strict=True)]
        if found == flags:
            return flags
        flags = found


def components(
    fn: Lambda, neutral: Sequence[Atom], xs: Sequence[Atom], active: set[Var]
) -> list[bool]:
    """Which components of what an operator combines are active."""
    flags = [is_active(a, active) or is_active(b, active) for a, b in zip(neutral, xs, strict=True)]
    half = len(flags)
    while True:
        pairs = zip(fn.params, flags + flags, strict=True)
        inside = active.union(var for var, flag in pairs if flag)
        found = [a or b for a, b in zip(flags, given(fn, inside), strict=True)]
        if found == flags[:half]:
            return flags
        flags = found
