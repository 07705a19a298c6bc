"""The elementwise functions by name: one line for each row of the scalar table.

    sqrt(x), x + y, x < y, popcount(x)      on numbers, arrays and tracers, broadcast and promoted

Names are those of the table, of NumPy and of Python's `operator` module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.scalars import elementwise


def unary(name: str, meaning: str, row: str = "") -> Callable[[Any], Any]:
    """The public function of a row with one operand."""

    def function(x: Any) -> Any:
        return elementwise(row or name, x)

    made: Callable[[Any], Any] = declared(function, name, meaning)
    return made


def binary(name: str, row: str, meaning: str) -> Callable[[Any, Any], Any]:
    """The public function of a row with two operands."""

    def function(x: Any, y: Any) -> Any:
        return elementwise(row, x, y)

    made: Callable[[Any, Any], Any] = declared(function, name, meaning)
    return made


def ternary(name: str, meaning: str) -> Callable[[Any, Any, Any], Any]:
    """The public function of a row with three operands."""

    def function(x: Any, y: Any, z: Any) -> Any:
        return elementwise(name, x, y, z)

    made: Callable[[Any, Any, Any], Any] = declared(function, name, meaning)
    return made


def declared(function: Any, name: str, meaning: str) -> Any:
    """A public function under its name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}; element by element, broadcast."
    return operation(elementwise=True)(function)


neg = unary("neg", "`-x`; integers wrap")
abs = unary("abs", "The distance from 0; the least integer stays as it is")
sign = unary("sign", "-1, 0 or 1; NaN stays NaN")
round = unary("round", "The nearest whole number, halves to the even one")
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
minimum = binary("minimum", "minimum", "The smaller of two; NaN where one is NaN")
maximum = binary("maximum", "maximum", "The greater of two; NaN where one is NaN")
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

# the names that NumPy and the array API standard give them
subtract = sub
multiply = mul
divide = truediv
true_divide = truediv
floor_divide = floordiv
remainder = mod
negative = neg
absolute = abs
invert = bitwise_not
bitwise_invert = bitwise_not
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
arcsin = asin
arccos = acos
arctan = atan
arctan2 = atan2
arcsinh = asinh
arccosh = acosh
arctanh = atanh

__all__ = [
    "neg", "abs", "sign", "round", "sqrt", "rsqrt", "cbrt", "exp",
    "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "isnan",
    "isinf", "isfinite", "popcount", "clz", "ctz", "bitwise_not", "add", "sub", "mul", "mul_hi",
    "truediv", "floordiv", "mod", "minimum", "maximum", "bitwise_and", "bitwise_or",
    "bitwise_xor", "left_shift", "right_shift", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "atan2", "hypot", "copysign", "fma", "subtract", "multiply",
    "divide", "true_divide", "floor_divide", "remainder", "negative", "absolute", "invert",
    "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift",
    "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh",
]  # fmt: skip
