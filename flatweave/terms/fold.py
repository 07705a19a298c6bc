"""Local simplification of one scalar function: constants, neutral elements, index algebra.

    add x 0 ==> x      mul x 1 ==> x      sub x x ==> 0 (integers)      select true a b ==> a
    add (mul (floordiv i m) m) (mod i m) ==> i
    add a (sub x a) ==> x
    floordiv (add (mul q m) r) m ==> q      mod (add (mul q m) r) m ==> r      for 0 <= r < m
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Atom, Const, Op, constant

RIGHT_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "or": 0, "xor": 0, "shl": 0, "shr": 0}
LEFT_NEUTRAL = {"add": 0, "mul": 1, "or": 0, "xor": 0}


def fold_apply(fn: str, args: Sequence[Atom]) -> Atom | None:
    """The atom that `fn args` equals, if one is known; None otherwise."""
    if all(isinstance(arg, Const) for arg in args):
        return _evaluate(fn, args)
    if fn == "select":
        return _fold_select(args)
    if len(args) != 2 or not isinstance(args[0].type, DType):
        return None
    return _fold_binary(fn, args[0], args[1], args[0].type)


def fold_cast(arg: Atom, dtype: DType) -> Atom | None:
    if not isinstance(arg, Const):
        return None
    with np.errstate(all="ignore"):
        value = np.asarray(arg.value, arg.dtype.numpy).astype(dtype.numpy)
    return constant(value.item(), dtype)


def _evaluate(fn: str, args: Sequence[Atom]) -> Atom | None:
    arrays = [np.asarray(a.value, a.dtype.numpy) for a in args if isinstance(a, Const)]
    dtypes = [a.dtype for a in args if isinstance(a, Const)]
    return constant(scalar.evaluate(fn, *arrays).item(), scalar.result_dtype(fn, dtypes))


def _fold_select(args: Sequence[Atom]) -> Atom | None:
    condition, a, b = args
    if isinstance(condition, Const):
        return a if condition.value else b
    return a if a == b else None


def _is(atom: Atom, value: int) -> bool:
    return isinstance(atom, Const) and not isinstance(atom.value, float) and atom.value == value


def _fold_binary(fn: str, a: Atom, b: Atom, dtype: DType) -> Atom | None:
    """Laws of integers and bools; floats keep every operation (-0.0 and NaN)."""
    if dtype.is_float:
        return _fold_float(fn, a, b)
    if a == b and fn in ("eq", "le", "ge"):
        return Const(True, bool_)
    if a == b and fn in ("ne", "lt", "gt"):
        return Const(False, bool_)
    if fn in RIGHT_NEUTRAL and _is(b, RIGHT_NEUTRAL[fn]):
        return a
    if fn in LEFT_NEUTRAL and _is(a, LEFT_NEUTRAL[fn]):
        return b
    if fn in ("minimum", "maximum") and a == b:
        return a
    if fn in ("mul", "and") and (_is(a, 0) or _is(b, 0)):
        return constant(0, dtype)
    if fn in ("sub", "xor") and a == b:
        return constant(0, dtype)
    return _fold_bool(fn, a, b) if dtype is bool_ else None


def _fold_float(fn: str, a: Atom, b: Atom) -> Atom | None:
    if fn in ("mul", "truediv") and isinstance(b, Const) and b.value == 1:
        return a
    if fn == "mul" and isinstance(a, Const) and a.value == 1:
        return b
    return None


def _fold_bool(fn: str, a: Atom, b: Atom) -> Atom | None:
    if fn in ("and", "or") and a == b:
        return a
    for x, y in ((a, b), (b, a)):
        if fn == "and" and _is(x, 1):
            return y
        if fn == "or" and _is(x, 1):
            return Const(True, bool_)
    return None


class Definitions(Protocol):
    """What index algebra asks of a builder."""

    def definition(self, atom: Atom) -> Op | None: ...

    def is_below(self, atom: Atom, extent: Atom) -> bool: ...


def fold_index(scope: Definitions, fn: str, args: Sequence[Atom]) -> Atom | None:
    """Row-major positions taken apart and put together again, either way round."""
    if fn == "add":
        return _rejoin(scope, args[0], args[1]) or _restored(scope, args[0], args[1])
    if fn not in ("floordiv", "mod"):
        return None
    position, extent = args
    if scope.is_below(position, extent):
        return constant(0, i64) if fn == "floordiv" else position
    joined = _operands(scope, position, "add")
    scaled = joined and _operands(scope, joined[0], "mul")
    if not joined or not scaled or scaled[1] != extent or not scope.is_below(joined[1], extent):
        return None
    return scaled[0] if fn == "floordiv" else joined[1]


def _rejoin(scope: Definitions, a: Atom, b: Atom) -> Atom | None:
    scaled, rest = _operands(scope, a, "mul"), _operands(scope, b, "mod")
    quotient = scaled and _operands(scope, scaled[0], "floordiv")
    if scaled and quotient and rest and quotient == rest and scaled[1] == rest[1]:
        return rest[0]
    return None


def _restored(scope: Definitions, a: Atom, b: Atom) -> Atom | None:
    """What a distance from `a` is measured to: a place in a row, back in the flat array."""
    distance = _operands(scope, b, "sub")
    return distance[0] if distance and distance[1] == a else None


def _operands(scope: Definitions, atom: Atom, fn: str) -> tuple[Atom, ...] | None:
    """The operands of the application of `fn` that `atom` is, if it is one."""
    made = scope.definition(atom)
    if made is not None and getattr(made, "fn", None) == fn and atom.type is i64:
        return tuple(getattr(made, "args"))  # noqa: B009
    return None
