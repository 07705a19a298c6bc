"""Local simplification of one scalar function: constants and neutral elements.

    add x 0 ==> x      mul x 1 ==> x      sub x x ==> 0 (integers)      select true a b ==> a

What holds of every value of a dtype, wrapping, NaN and -0.0 included. What holds of indices only
is in `positions.py` and `ranges.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.dtypes import DType, bool_
from flatweave.scalar import ops as scalar
from flatweave.scalar.cast import evaluate_cast
from flatweave.terms.syntax import Atom, Const, constant

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
    value = evaluate_cast(np.asarray(arg.value, arg.dtype.numpy), dtype)
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
