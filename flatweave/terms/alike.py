"""Whether two functions do the same: they differ in the names of what they bind, and in no more."""

from __future__ import annotations

from typing import Any

from flatweave.terms.syntax import ArrayType, Const, Lambda, Op, Part, Var


def alike(a: Lambda, b: Lambda) -> bool:
    """Whether two functions are equal but for the variables that they bind."""
    return a is b or _alike(a, b, {})


def _alike(a: Any, b: Any, bound: dict[Var, Var]) -> bool:
    """Whether fields are equal if variables of `a` are replaced as `bound` says."""
    if type(a) is not type(b):
        return False
    match a:
        case Var():
            return bound.get(a, a) is b
        case Const():
            return bool(a == b)
        case tuple():
            return len(a) == len(b) and all(_alike(x, y, bound) for x, y in zip(a, b, strict=True))
        case ArrayType(dtype=dtype, shape=shape):
            return dtype is b.dtype and _alike(shape, b.shape, bound)
        case Op() | Part():
            return _alike(a.values(), b.values(), bound)
        case Lambda():
            return _alike_functions(a, b, dict(bound))
        case _:
            return bool(a == b)


def _alike_functions(a: Lambda, b: Lambda, bound: dict[Var, Var]) -> bool:
    if len(a.lets) != len(b.lets) or not _bind(a.params, b.params, bound):
        return False
    for x, y in zip(a.lets, b.lets, strict=True):
        if not _alike(x.op, y.op, bound) or not _bind(x.vars, y.vars, bound):
            return False
    return _alike(a.results, b.results, bound)


def _bind(a: tuple[Var, ...], b: tuple[Var, ...], bound: dict[Var, Var]) -> bool:
    """Pair variables of `a` with those of `b`; False if their numbers or types differ."""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if not _alike(x.type, y.type, bound):
            return False
        bound[x] = y
    return True
