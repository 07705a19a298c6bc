"""THE TABLE of scalar functions, which begins with its rows of logic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from flatweave.base.dtypes import BY_NAME, DType, as_dtype, bool_, f32, f64, i8
from flatweave.base.errors import DTypeError
from flatweave.scalar import arithmetic
from flatweave.scalar import function as c
from flatweave.scalar.function import ScalarFn, Values

# -- bits -----------------------------------------------------------------------------------------
#
# Rows of logic: bits, shifts, comparisons, choice and bit counts.
#
#   and or xor not      bit by bit on integers, logical on bools
#   shl shr             by the width or more, or by a negative amount: 0 (shr of a negative: -1)
#   eq .. ge            to bool; NaN is unequal to everything
#   bits                a float's as an unsigned integer of its width, those of NaN too
#   from_bits           the float that has these bits; an f32 for up to 32 of them
#   ones_complement     of a sign and a magnitude, as floats have them: negative ones with all other
#                       bits inverted, so that they are in order; twice is the operand
#   popcount clz ctz    of the two's complement bits, in the operand's dtype; 0 has `width` zeros


def _amounts(b: Values) -> Values:
    """Shift amounts as unsigned numbers, which makes negative ones too great."""
    return b.view(f"u{b.dtype.itemsize}")


def _shl(a: Values, b: Values) -> Values:
    """a << b, 0 once every bit has left."""
    a, b = np.broadcast_arrays(a, b)
    width = 8 * a.dtype.itemsize
    amounts = _amounts(b)
    inside = amounts < width
    return np.where(inside, a << np.where(inside, amounts, 0).astype(a.dtype), 0)


def _shr(a: Values, b: Values) -> Values:
    """a >> b, keeping the sign; 0 or -1 once every bit has left."""
    a, b = np.broadcast_arrays(a, b)
    width = 8 * a.dtype.itemsize
    amounts = _amounts(b)
    inside = amounts < width
    gone = a >> np.asarray(width - 1, a.dtype) if a.dtype.kind == "i" else np.zeros_like(a)
    return np.where(inside, a >> np.where(inside, amounts, 0).astype(a.dtype), gone)


def _unsigned(a: Values) -> Values:
    """The same bits, unsigned, with room to count to the width."""
    return a.view(f"u{a.dtype.itemsize}")


def _popcount(a: Values) -> Values:
    """The number of one bits of the two's complement form."""
    return np.asarray(np.bitwise_count(_unsigned(a)))


def _clz(a: Values) -> Values:
    """The number of zero bits above the highest one bit."""
    bits = _unsigned(a).copy()
    width = 8 * a.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            bits |= bits >> np.asarray(shift, bits.dtype)
    return np.asarray(width - np.bitwise_count(bits).astype(np.int64))


def _ctz(a: Values) -> Values:
    """The number of zero bits below the lowest one bit."""
    bits = _unsigned(a)
    return np.asarray(np.bitwise_count(~bits & (bits - np.asarray(1, bits.dtype))))


def _from_bits(a: Values) -> Values:
    """The float with these bits, those of narrow integers widened by zeros."""
    wide = a.astype(f"u{max(4, a.dtype.itemsize)}")
    return wide.view(f"f{wide.dtype.itemsize}")


def _ones_complement(a: Values) -> Values:
    """The bits below the sign inverted where it is set."""
    return np.where(a < 0, a ^ np.iinfo(a.dtype).max, a)


def _select(p: Values, a: Values, b: Values) -> Values:
    """a where p holds, else b."""
    return np.where(p, a, b)


def _comparison(name: str, function: np.ufunc, symbol: str, commutative: bool = False) -> ScalarFn:
    """The row of one comparison."""
    return ScalarFn(
        name, 2, "biuf", function, result="bool", commutative=commutative,
        c=c.plain(f"({{0}} {symbol} {{1}})"),
    )


def _bitwise(name: str, function: np.ufunc, symbol: str) -> ScalarFn:
    """The row of one bitwise operator."""
    return ScalarFn(
        name, 2, "biu", function, commutative=True, associative=True,
        c=c.narrowed(f"({{0}} {symbol} {{1}})"),
    )


ROWS = (
    _bitwise("and", np.bitwise_and, "&"),
    _bitwise("or", np.bitwise_or, "|"),
    _bitwise("xor", np.bitwise_xor, "^"),
    ScalarFn(
        "not", 1, "biu", np.invert, c=c.by_kind(b=c.plain("(!{0})"), iu=c.narrowed("(~({0}))"))
    ),
    ScalarFn("shl", 2, "iu", _shl, c=c.helper(c.SHL), promotion="number"),
    ScalarFn(
        "shr", 2, "iu", _shr, c=c.by_kind(i=c.helper(c.SHR), u=c.helper(c.SHR_UNSIGNED)),
        promotion="number",
    ),
    _comparison("eq", np.equal, "==", commutative=True),
    _comparison("ne", np.not_equal, "!=", commutative=True),
    _comparison("lt", np.less, "<"),
    _comparison("le", np.less_equal, "<="),
    _comparison("gt", np.greater, ">"),
    _comparison("ge", np.greater_equal, ">="),
    ScalarFn("select", 3, "biuf", _select, c=c.plain("({0} ? {1} : {2})"), promotion="none"),
    ScalarFn("isnan", 1, "f", np.isnan, c=c.plain("({0} != {0})"), result="bool",
             promotion="float"),
    ScalarFn("isinf", 1, "f", np.isinf, c=c.plain("(isinf({0}) != 0)"), result="bool",
             promotion="float"),
    ScalarFn("isfinite", 1, "f", np.isfinite, c=c.plain("(isfinite({0}) != 0)"), result="bool",
             promotion="float"),
    ScalarFn(
        "bits", 1, "f", lambda x: x.view(f"u{x.dtype.itemsize}"), result="bits",
        c=lambda dtype: c.CText(f"FW_BITS{dtype.bits}({{0}})"),
    ),
    ScalarFn(
        "from_bits", 1, "u", _from_bits, result="float",
        c=lambda dtype: c.CText(f"FW_F{max(32, dtype.bits)}({{0}})"),
    ),
    ScalarFn("ones_complement", 1, "i", _ones_complement, c=c.helper(c.ONES_COMPLEMENT, 1), cost=2),
    ScalarFn("popcount", 1, "iu", _popcount, c=c.helper(c.POPCOUNT, 1), cost=2),
    ScalarFn("clz", 1, "iu", _clz, c=c.helper(c.CLZ, 1), cost=2),
    ScalarFn("ctz", 1, "iu", _ctz, c=c.helper(c.CTZ, 1), cost=2),
)


# -- ops ------------------------------------------------------------------------------------------
#
# THE TABLE of scalar functions: what every stage and target may apply to single values.
#
#     result_dtype("lt", [f32, f32])          bool
#     evaluate("add", i8[100], i8[100])       i8[-56]
#     operand_dtype("sqrt", i32)              f64, to which the frontend converts an i32 operand
#     neutral("minimum", f32)                 inf
#
# Operands have ONE dtype when a function is applied; only `select` takes a bool before two others.


TABLE = MappingProxyType(
    {
        row.name: row
        for row in (*arithmetic.ROWS, *ROWS, *arithmetic.ELEMENTARY, *arithmetic.SHORT_FLOATS)
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
