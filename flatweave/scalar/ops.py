"""THE TABLE of scalar functions: what every stage and target may apply to single values.

    result_dtype("lt", [f32, f32])          bool
    evaluate("add", i8[100], i8[100])       i8[-56]
    operand_dtype("sqrt", i32)              f64, to which the frontend converts an i32 operand
    neutral("minimum", f32)                 inf

Operands have ONE dtype when a function is applied; only `select` takes a bool before two others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from flatweave.base.dtypes import BY_NAME, DType, as_dtype, bool_, f32, f64, i8
from flatweave.base.errors import DTypeError
from flatweave.scalar import arithmetic, bits
from flatweave.scalar.function import ScalarFn, Values

TABLE = MappingProxyType(
    {
        row.name: row
        for row in (*arithmetic.ROWS, *bits.ROWS, *arithmetic.ELEMENTARY, *arithmetic.SHORT_FLOATS)
    }
)

_KINDS = {"b": "bools", "i": "signed integers", "u": "unsigned integers", "f": "floats"}


def operand_dtype(name: str, common: DType) -> DType:
    """The dtype that operands of this common dtype are converted to before `name` is applied."""
    promotion = TABLE[name].promotion
    if promotion == "number":
        return i8 if common is bool_ else common
    if common.is_float or promotion in ("common", "none"):
        return common
    if promotion == "truediv":
        return f64
    return f32 if common.bits <= 16 else f64


def result_dtype(name: str, operands: Sequence[DType]) -> DType:
    """The dtype of `name` for operands of these dtypes; DTypeError if it does not apply to them."""
    return _result_dtype(name, tuple(operands))


@cache
def _result_dtype(name: str, operands: tuple[DType, ...]) -> DType:
    fn = TABLE[name]
    _check_count(fn, len(operands))
    values = operands
    if name == "select":
        if operands[0] != bool_:
            raise DTypeError(
                f"select needs a bool to choose by, got {operands[0]}.",
                remedy="Compare first, for instance with x != 0.",
            )
        values = operands[1:]
    dtype = values[0]
    if any(other != dtype for other in values):
        found = " and ".join(str(d) for d in values)
        raise DTypeError(
            f"{name} needs operands of one dtype, got {found}.",
            remedy="Convert one of them with astype.",
        )
    if dtype.kind not in fn.kinds:
        accepted = ", ".join(text for kind, text in _KINDS.items() if kind in fn.kinds)
        raise DTypeError(
            f"{name} is not defined for {dtype}; it takes {accepted}.",
            remedy="Convert the operand with astype.",
        )
    if fn.result == "bits":
        return BY_NAME[f"u{dtype.bits}"]
    if fn.result == "float":
        return BY_NAME[f"f{max(32, dtype.bits)}"]
    return dtype if fn.result == "same" else BY_NAME[fn.result]


def _check_count(fn: ScalarFn, count: int) -> None:
    """Refuse a wrong number of operands."""
    if count != fn.arity:
        noun = "operand" if fn.arity == 1 else "operands"
        raise DTypeError(
            f"{fn.name} takes {fn.arity} {noun}, got {count}.",
            remedy=f"Call it with {fn.arity} {noun}.",
        )


def evaluate(name: str, *operands: Any) -> Values:
    """The meaning: `name` on NumPy arrays or scalars of our dtypes, as an array, never warning."""
    arrays = [np.asarray(x) for x in operands]
    with np.errstate(all="ignore"):
        return apply(name, arrays, _numpy_result(name, tuple([x.dtype for x in arrays])))


def apply(name: str, arrays: Sequence[Values], dtype: np.dtype[Any]) -> Values:
    """The same of arrays, for callers that have turned warnings off and know the result's dtype."""
    found = np.asarray(TABLE[name].numpy(*arrays))
    return found if found.dtype == dtype else found.astype(dtype)


@cache
def _numpy_result(name: str, operands: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    return result_dtype(name, [as_dtype(dtype) for dtype in operands]).numpy


def identity(name: str, dtype: DType) -> int | float | bool | None:
    """The neutral value that leaves every bit of x as it is: of floats -0.0 where 0.0 is added."""
    return -0.0 if name == "add" and dtype.is_float else neutral(name, dtype)


def neutral(name: str, dtype: DType) -> int | float | bool | None:
    """The value e with name(e, x) == x for every x of the dtype; None where none is known."""
    match name:
        case "add":
            return _typed(dtype, 0)
        case "mul":
            return _typed(dtype, 1)
        case "minimum":
            return dtype.high
        case "maximum":
            return dtype.low
        case "or" | "xor":
            return _typed(dtype, 0)
        case "and":
            return True if dtype == bool_ else -1 if dtype.is_signed else dtype.high
        case _:
            return None


def _typed(dtype: DType, value: int) -> int | float | bool:
    """A small whole number as the Python type of a dtype's values."""
    if dtype == bool_:
        return bool(value)
    return float(value) if dtype.is_float else value


# What messages call a function of the scalar table: by its operator where it has one.
#
# SYMBOLS["truediv"], SYMBOLS["left_shift"]       "/", "<<"


SYMBOLS = {
    "sub": "-", "add": "+", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "neg": "-",
    "and": "&", "or": "|", "xor": "^", "not": "~", "shl": "<<", "shr": ">>", "pow": "**",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "bitwise_not": "~",
    "left_shift": "<<", "right_shift": ">>", "power": "**", "positive": "+",
}  # fmt: skip
