"""The elementwise functions by name: one line for each row of the scalar table, and logic.

    sqrt(x), x + y, x < y, popcount(x)      on numbers, arrays and tracers, broadcast and promoted
    logical_and([1, 1, 0], [1, 0, 0])       [True, False, False]: whether numbers are not zero

Names are those of the table, of NumPy and of Python's `operator` module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import zipped
from flatweave.frontend.elements.scalars import apply, elementwise, operand, truth
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer
from flatweave.scalar.function import ScalarFn
from flatweave.scalar.ops import TABLE

# what the help of a function shows: arguments and what they give
EXAMPLES = {
    "neg": ("[1, -2]", "Array([-1,  2], dtype=int64)"),
    "abs": ("[-3, 4]", "Array([3, 4], dtype=int64)"),
    "sign": ("[-3.5, 0.0, 2.0]", "Array([-1.,  0.,  1.], dtype=float64)"),
    "sqrt": ("[0.0, 4.0]", "Array([0., 2.], dtype=float64)"),
    "rsqrt": ("[4.0, 16.0]", "Array([0.5 , 0.25], dtype=float64)"),
    "cbrt": ("[8.0, -27.0]", "Array([ 2., -3.], dtype=float64)"),
    "exp": ("[0.0]", "Array([1.], dtype=float64)"),
    "exp2": ("[3.0]", "Array([8.], dtype=float64)"),
    "expm1": ("[0.0]", "Array([0.], dtype=float64)"),
    "log": ("[1.0]", "Array([0.], dtype=float64)"),
    "log2": ("[8.0]", "Array([3.], dtype=float64)"),
    "log10": ("[1000.0]", "Array([3.], dtype=float64)"),
    "log1p": ("[0.0]", "Array([0.], dtype=float64)"),
    "sin": ("[0.0]", "Array([0.], dtype=float64)"),
    "cos": ("[0.0]", "Array([1.], dtype=float64)"),
    "tan": ("[0.0]", "Array([0.], dtype=float64)"),
    "asin": ("[0.0]", "Array([0.], dtype=float64)"),
    "acos": ("[1.0]", "Array([0.], dtype=float64)"),
    "atan": ("[0.0]", "Array([0.], dtype=float64)"),
    "sinh": ("[0.0]", "Array([0.], dtype=float64)"),
    "cosh": ("[0.0]", "Array([1.], dtype=float64)"),
    "tanh": ("[0.0]", "Array([0.], dtype=float64)"),
    "asinh": ("[0.0]", "Array([0.], dtype=float64)"),
    "acosh": ("[1.0]", "Array([0.], dtype=float64)"),
    "atanh": ("[0.0]", "Array([0.], dtype=float64)"),
    "erf": ("[0.0]", "Array([0.], dtype=float64)"),
    "erfc": ("[0.0]", "Array([1.], dtype=float64)"),
    "isnan": ("[fw.nan, 1.0]", "Array([ True, False], dtype=bool)"),
    "isinf": ("[fw.inf, 1.0]", "Array([ True, False], dtype=bool)"),
    "isfinite": ("[fw.inf, 1.0]", "Array([False,  True], dtype=bool)"),
    "popcount": ("[7, 8]", "Array([3, 1], dtype=int64)"),
    "clz": ("[1, 0]", "Array([63, 64], dtype=int64)"),
    "ctz": ("[8, 0]", "Array([ 3, 64], dtype=int64)"),
    "bitwise_not": ("[0, 5]", "Array([-1, -6], dtype=int64)"),
    "add": ("[1, 2], 10", "Array([11, 12], dtype=int64)"),
    "sub": ("[1, 2], 10", "Array([-9, -8], dtype=int64)"),
    "mul": ("[1, 2], 10", "Array([10, 20], dtype=int64)"),
    "mul_hi": ("[2**62, 3], 8", "Array([2, 0], dtype=int64)"),
    "truediv": ("[1, 2], 4", "Array([0.25, 0.5 ], dtype=float64)"),
    "floordiv": ("[7, -7], 2", "Array([ 3, -4], dtype=int64)"),
    "mod": ("[7, -7], 3", "Array([1, 2], dtype=int64)"),
    "minimum": ("[1, 9], 5", "Array([1, 5], dtype=int64)"),
    "maximum": ("[1, 9], 5", "Array([5, 9], dtype=int64)"),
    "bitwise_and": ("[6, 5], 3", "Array([2, 1], dtype=int64)"),
    "bitwise_or": ("[6, 5], 3", "Array([7, 7], dtype=int64)"),
    "bitwise_xor": ("[6, 5], 3", "Array([5, 6], dtype=int64)"),
    "left_shift": ("[1, 3], 2", "Array([ 4, 12], dtype=int64)"),
    "right_shift": ("[8, -8], 1", "Array([ 4, -4], dtype=int64)"),
    "equal": ("[1, 2], 2", "Array([False,  True], dtype=bool)"),
    "not_equal": ("[1, 2], 2", "Array([ True, False], dtype=bool)"),
    "less": ("[1, 2], 2", "Array([ True, False], dtype=bool)"),
    "less_equal": ("[1, 2], 2", "Array([ True,  True], dtype=bool)"),
    "greater": ("[1, 3], 2", "Array([False,  True], dtype=bool)"),
    "greater_equal": ("[1, 2], 2", "Array([False,  True], dtype=bool)"),
    "atan2": ("[0.0], [1.0]", "Array([0.], dtype=float64)"),
    "hypot": ("[3.0], [4.0]", "Array([5.], dtype=float64)"),
    "copysign": ("[1.0, 2.0], -0.0", "Array([-1., -2.], dtype=float64)"),
    "fma": ("[2.0], [3.0], 1.0", "Array([7.], dtype=float64)"),
}


P = ParamSpec("P")
R = TypeVar("R")


def unary(name: str, meaning: str, row: str = "") -> Callable[[Any], Array]:
    """The public function of a row with one operand."""

    def function(x: Any) -> Tracer:
        return elementwise(row or name, x)

    return declared(function, name, row or name, meaning)


def binary(name: str, row: str, meaning: str) -> Callable[[Any, Any], Array]:
    """The public function of a row with two operands."""

    def function(x: Any, y: Any) -> Tracer:
        return elementwise(row, x, y)

    return declared(function, name, row, meaning)


def ternary(name: str, meaning: str) -> Callable[[Any, Any, Any], Array]:
    """The public function of a row with three operands."""

    def function(x: Any, y: Any, z: Any) -> Tracer:
        return elementwise(name, x, y, z)

    return declared(function, name, name, meaning)


SOURCES = {
    "sub": "`numpy.subtract`", "mul": "`numpy.multiply`", "truediv": "`numpy.divide`",
    "floordiv": "`numpy.floor_divide`", "neg": "`numpy.negative`", "erf": "`scipy.special.erf`",
    "erfc": "`scipy.special.erfc`", "popcount": "`numpy.bitwise_count`", "clz": "`jax.lax.clz`",
    "ctz": "OpenCL's `ctz`", "mul_hi": "OpenCL's `mul_hi`", "rsqrt": "`jax.lax.rsqrt`",
    "fma": "IEEE 754, fusedMultiplyAdd",
}  # fmt: skip
"""The function of another library that has the meaning; of other names NumPy's of that name."""


def declared(function: Callable[P, R], name: str, row: str, meaning: str) -> Callable[P, R]:
    """A public function under its name, with its help."""
    arguments, gives = EXAMPLES[name]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{meaning}; element by element, broadcast.

    Types: {types_of(TABLE[row])} Source: {SOURCES.get(name, f"`numpy.{name}`")}.

        >>> fw.{name}({arguments})
        {gives}
    """
    return operation(elementwise=True)(function)


OPERANDS = {
    "biuf": "numbers or bools", "iuf": "numbers", "iu": "integers", "biu": "integers or bools",
    "f": "floats",
}  # fmt: skip
BECOME = {
    "float": "; integers become f64, those of up to 16 bits f32", "truediv":
    "; integers become f64", "number": "; bools become i8",
}  # fmt: skip


def types_of(row: ScalarFn) -> str:
    """What a row of the table takes and gives, and what it refuses, for people."""
    operands = ", ".join(f"{name}: t[..]" for name in "xyz"[: row.arity])
    several = ", broadcast and promoted" if row.arity > 1 else ""
    shapes = "ShapeError for shapes that do not fit, " if row.arity > 1 else ""
    lines = "\n    " if row.arity > 1 else " "
    result = "bool" if row.result == "bool" else "t"
    return (
        f"`{operands} -> {result}[..]`{several}, t {OPERANDS[row.kinds]}"
        f"{BECOME.get(row.promotion, '')}.\n    Raises {shapes}DTypeError for other dtypes,"
        f"{lines}ArgumentError for what is no array."
    )


neg = unary("neg", "`-x`; integers wrap")
abs = unary("abs", "The distance from 0; the least integer stays as it is")
sign = unary("sign", "-1, 0 or 1; NaN stays NaN")
sqrt = unary("sqrt", "The square root; NaN below 0")
rsqrt = unary("rsqrt", "`1 / sqrt(x)`, each step rounded")
cbrt = unary("cbrt", "The cube root")
exp = unary("exp", "e to the power of x")
exp2 = unary("exp2", "2 to the power of x")
expm1 = unary("expm1", "`exp(x) - 1`, exact near 0")
log = unary("log", "The natural logarithm")
log2 = unary("log2", "The logarithm to base 2")
log10 = unary("log10", "The logarithm to base 10")
log1p = unary("log1p", "`log(1 + x)`, exact near 0")
sin = unary("sin", "The sine of an angle in radians")
cos = unary("cos", "The cosine of an angle in radians")
tan = unary("tan", "The tangent of an angle in radians")
asin = unary("asin", "The angle whose sine it is, in radians")
acos = unary("acos", "The angle whose cosine it is, in radians")
atan = unary("atan", "The angle whose tangent it is, in radians")
sinh = unary("sinh", "The hyperbolic sine")
cosh = unary("cosh", "The hyperbolic cosine")
tanh = unary("tanh", "The hyperbolic tangent")
asinh = unary("asinh", "The inverse of sinh")
acosh = unary("acosh", "The inverse of cosh")
atanh = unary("atanh", "The inverse of tanh")
erf = unary("erf", "The error function")
erfc = unary("erfc", "`1 - erf(x)`, exact where it is small")
isnan = unary("isnan", "Whether it is not a number")
isinf = unary("isinf", "Whether it is infinite")
isfinite = unary("isfinite", "Whether it is neither infinite nor NaN")
popcount = unary("popcount", "The number of bits that are 1")
clz = unary("clz", "The number of 0 bits above the highest 1; the width for 0")
ctz = unary("ctz", "The number of 0 bits below the lowest 1; the width for 0")
bitwise_not = unary("bitwise_not", "`~x`, bit by bit; of bools: not", "not")

add = binary("add", "add", "`x + y`; of bools: or")
sub = binary("sub", "sub", "`x - y`")
mul = binary("mul", "mul", "`x * y`; of bools: and")
mul_hi = binary("mul_hi", "mul_hi", "The upper half of the whole product of two integers")
truediv = binary("truediv", "truediv", "`x / y`: integers become f64")
floordiv = binary("floordiv", "floordiv", "`x // y`, rounded down; 0 for an integer divided by 0")
mod = binary("mod", "mod", "`x % y`, with the sign of y")
minimum = binary("minimum", "minimum", "The smaller of two; NaN wins; -0.0 is below 0.0")
maximum = binary("maximum", "maximum", "The greater of two; NaN wins; -0.0 is below 0.0")
bitwise_and = binary("bitwise_and", "and", "`x & y`, bit by bit; of bools: and")
bitwise_or = binary("bitwise_or", "or", "`x | y`, bit by bit; of bools: or")
bitwise_xor = binary("bitwise_xor", "xor", "`x ^ y`, bit by bit; of bools: unequal")
left_shift = binary("left_shift", "shl", "`x << y`; 0 when all bits have left")
right_shift = binary("right_shift", "shr", "`x >> y`, the sign kept; 0 or -1 after all bits")
equal = binary("equal", "eq", "`x == y`")
not_equal = binary("not_equal", "ne", "`x != y`")
less = binary("less", "lt", "`x < y`")
less_equal = binary("less_equal", "le", "`x <= y`")
greater = binary("greater", "gt", "`x > y`")
greater_equal = binary("greater_equal", "ge", "`x >= y`")
atan2 = binary("atan2", "atan2", "The angle of the point (y, x), given y first, in radians")
hypot = binary("hypot", "hypot", "`sqrt(x*x + y*y)` without overflow")
copysign = binary("copysign", "copysign", "The size of x with the sign of y")
fma = ternary("fma", "`x * y + z` with one rounding")


def _logical(fn: str, *values: Any) -> Tracer:
    """A function of truth values."""
    traced = [as_tracer(value, operand(f"logical_{fn}")) for value in values]
    return zipped(lambda *xs: apply(fn, *map(truth, xs)), traced, f"logical_{fn}")[0]


@operation(elementwise=True)
def logical_and(x: Any, y: Any) -> Array:
    """Whether both are not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit. Source: `numpy.logical_and`.

        >>> fw.logical_and([1, 1, 0], [1, 0, 0])
        Array([ True, False, False], dtype=bool)
    """
    return _logical("and", x, y)


@operation(elementwise=True)
def logical_or(x: Any, y: Any) -> Array:
    """Whether one of them is not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit. Source: `numpy.logical_or`.

        >>> fw.logical_or([1, 1, 0], [1, 0, 0])
        Array([ True,  True, False], dtype=bool)
    """
    return _logical("or", x, y)


@operation(elementwise=True)
def logical_xor(x: Any, y: Any) -> Array:
    """Whether one of them, but not both, is not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit. Source: `numpy.logical_xor`.

        >>> fw.logical_xor([1, 1, 0], [1, 0, 0])
        Array([False,  True, False], dtype=bool)
    """
    return _logical("xor", x, y)


@operation(elementwise=True)
def logical_not(x: Any) -> Array:
    """Whether it is zero.

    Types: `x: t[..] -> bool[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.logical_not`.

        >>> fw.logical_not([1, 0])
        Array([False,  True], dtype=bool)
    """
    return _logical("not", x)
