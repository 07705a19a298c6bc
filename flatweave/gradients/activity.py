"""Which variables depend on what is differentiated, in a function of the program.

    active = {x};   y = mul x 2.0;  i = cast i64 y;  z = cast f64 i         active = {x, y}

Most operations on functions are taken to pass on to all results what any of their operands is.
The functions in them are searched: often only one array, or one part of a state, is active.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from flatweave.gradients.scalars import NONE
from flatweave.gradients.values import bound, tangent_type
from flatweave.ops import (
    Custom,
    Filter,
    Generate,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Scan,
    Scatter,
    Sort,
    SortRows,
)
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in


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
            flags = given(fn, _with(active, fn.params, [is_active(x, active) for x in xs]))
        case Generate(fn=fn):
            flags = given(fn, active.copy())
        case Nest(fn=fn, groups=groups):
            first = len(let.vars) - len(groups)
            flags = [False] * first + given(fn, active.copy())[len(fn.results) - len(groups) :]
        case Sort(xs=xs) | SortRows(xs=xs):
            flags = [is_active(x, active) for x in xs]
        case Filter(xs=xs):
            flags = [False, *(is_active(x, active) for x in xs)]
        case Scatter(dest=dest, xs=xs):
            pairs = zip(dest, xs, strict=True)
            flags = [is_active(a, active) or is_active(b, active) for a, b in pairs]
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


# -- linear functions ------------------------------------------------------------------------------

LINEAR = frozenset({"add", "sub", "neg", "select", "of_f16", "of_bf16", "to_f16", "to_bf16"})


def first_not_linear(lets: Sequence[Let], active: set[Var]) -> Let | None:
    """The first scalar operation that is not linear in the active variables; None if all are."""
    for let in lets:
        if not is_read(let.op, active):
            continue
        if isinstance(let.op, Apply) and not _is_linear(let.op, active):
            return let
        for fn, inside in _bodies(let.op, active):
            found = first_not_linear(fn.lets, inside)
            if found is not None:
                return found
        active.update(results_of(let, active))
    return None


def _is_linear(op: Apply, active: Container[Var]) -> bool:
    depends = [isinstance(arg, Var) and arg in active for arg in op.args]
    if not any(depends) or op.fn in ("eq", "ne"):  # as in the tests of `values.times`
        return True
    if op.fn in ("mul", "fma"):
        return not (depends[0] and depends[1])
    if op.fn == "truediv":
        return not depends[1]
    is_shifted = any(isinstance(arg, Const) and arg.value != 0 for arg in op.args)
    return op.fn in LINEAR and not (is_shifted and op.fn in ("add", "sub"))


def _bodies(op: Op, active: set[Var]) -> list[tuple[Lambda, set[Var]]]:
    """The functions in an operation, each with what is active in it. A custom function with a rule
    has none, as its derivative comes from the rule."""
    match op:
        case Custom(fn=fn, operands=xs, jvp=(), vjp=(), transpose=()):
            return [(fn, _with(active, fn.params, [is_active(x, active) for x in xs]))]
        case Custom():
            return []
        case Map(fn=fn, xs=xs) | Sort(fn=fn, xs=xs) | SortRows(fn=fn, xs=xs):
            return [(fn, _with(active, fn.params, [is_active(x, active) for x in xs]))]
        case For(body=body, init=init):
            flags = state_of(body, body.params[1:], init, active)
            return [(body, _with(active, body.params[1:], flags))]
        case While(condition=cond, body=body, init=init):
            flags = state_of(body, body.params, init, active)
            return [(fn, _with(active, fn.params, flags)) for fn in (cond, body)]
        case Reduce(fn=fn, neutral=ne, xs=xs) | Scan(fn=fn, neutral=ne, xs=xs):
            return [(fn, _with(active, fn.params, components(fn, ne, xs, active) * 2))]
        case ReduceSegments(fn=fn, neutral=ne, xs=xs) | Permute(fn=fn, dest=ne, xs=xs):
            return [(fn, _with(active, fn.params, components(fn, ne, xs, active) * 2))]
    return [(fn, active.copy()) for fn in lambdas_in(op)]


def _with(active: set[Var], params: Sequence[Var], flags: Sequence[bool]) -> set[Var]:
    """The active variables, with the parameters that are."""
    return active.union(param for param, flag in zip(params, flags, strict=True) if flag)
