"""Associative operators: most do not commute, some do; scalars, pairs and wider tuples.

    linear      (a, b) (c, d) = (a c, b c + d)        composition of x -> a x + b
    matrix      2 x 2 integer matrices
    last        the last value that is there
    machine     composition of functions on three states

Each says how any number becomes an element on which it is exactly associative, so that results do
not depend on the grouping: floats are added as small whole numbers, and multiplied as signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.oracle.expressions import (
    Call,
    Cast,
    Expression,
    Function,
    Literal,
    Name,
    function_text,
    literal_text,
)

Prepare = Callable[[Expression], tuple[Expression, ...]]


@dataclass(frozen=True)
class Operator:
    """An operator on elements of given dtypes."""

    name: str
    function: Function
    dtypes: tuple[str, ...]
    neutral: tuple[Literal, ...]
    other: tuple[Literal, ...]  # an element that is not neutral
    prepare: Prepare
    commutes: bool = False
    spelling: str = ""

    @property
    def source(self) -> str:
        """The operator as a program writes it."""
        return self.spelling or function_text(self.function)


def element_text(element: tuple[Literal, ...]) -> str:
    """An element of literals as a program writes it."""
    parts = [literal_text(part.value) for part in element]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def part(name: str, k: int) -> Name:
    """A component of an operator's operand."""
    return Name(f"{name}[{k}]")


def call(function: str, *args: Expression) -> Call:
    """A call, its arguments in a row."""
    return Call(function, args)


def literals(*values: float) -> tuple[Literal, ...]:
    """An element of plain numbers."""
    return tuple(Literal(value) for value in values)


A, B = Name("a"), Name("b")
A0, A1, B0, B1 = part("a", 0), part("a", 1), part("b", 0), part("b", 1)


def whole(x: Expression, dtype: str, low: int, high: int) -> Expression:
    """Any number as a small whole one; NaN, infinities and signs of zero stay those of floats."""
    if np.dtype(dtype).kind == "f":
        finite = call("rint", call("clip", x, Literal(float(low)), Literal(float(high))))
        return Cast(dtype, call("where", call("isfinite", x), finite, x))
    inside = call("mod", Cast("int64", x), Literal(high - low + 1))
    return Cast(dtype, call("add", inside, Literal(low)) if low else inside)


def shifted(wide: Expression, k: int) -> Expression:
    """An i64 without its lowest bits."""
    return call("shr", wide, Literal(k)) if k else wide


def ends(dtype: str) -> tuple[Literal, Literal]:
    """The least and the greatest value."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        return Literal(float("-inf")), Literal(float("inf"))
    if kind == "b":
        return Literal(False), Literal(True)
    info = np.iinfo(dtype)
    return Literal(int(info.min)), Literal(int(info.max))


# -- on scalars ------------------------------------------------------------------------------------


def plain(name: str, dtype: str, neutral: Literal, other: Literal) -> Operator:
    """A row of the table of scalar functions, as it is; floats are made exact."""
    function = Function(("a", "b"), (call(name, A, B),))

    def prepare(x: Expression) -> tuple[Expression, ...]:
        if np.dtype(dtype).kind == "f" and name == "add":
            return (whole(Cast(dtype, x), dtype, -8, 8),)
        if np.dtype(dtype).kind == "f" and name == "mul":
            number = Cast(dtype, x)
            sign = call("copysign", Literal(1.0), number)
            return (call("where", call("isfinite", number), sign, number),)
        return (Cast(dtype, x),)

    spelling = {"add": "fw.add", "mul": "fw.mul", "minimum": "fw.minimum", "maximum": "fw.maximum"}
    return Operator(
        name, function, (dtype,), (neutral,), (other,), prepare, True, spelling.get(name, "")
    )


def scalar_operators(dtype: str) -> list[Operator]:
    """The commutative operators of one dtype."""
    low, high = ends(dtype)
    if np.dtype(dtype).kind == "b":
        return [
            plain("or", dtype, low, high), plain("and", dtype, high, low),
            plain("xor", dtype, low, high), plain("minimum", dtype, high, low),
            plain("maximum", dtype, low, high),
        ]  # fmt: skip
    number = float if np.dtype(dtype).kind == "f" else int
    some = [
        plain("add", dtype, Literal(-0.0 if number is float else 0), Literal(number(10))),
        plain("mul", dtype, Literal(number(1)), Literal(number(-1 if number is float else 3))),
        plain("minimum", dtype, high, Literal(number(3))),
        plain("maximum", dtype, low, Literal(number(3))),
    ]
    if number is int:
        all_ones = Literal(-1 if np.dtype(dtype).kind == "i" else int(high.value))
        some += [
            plain("and", dtype, all_ones, Literal(13)), plain("or", dtype, Literal(0), Literal(5)),
            plain("xor", dtype, Literal(0), Literal(9)),
        ]  # fmt: skip
    return some


def choosing_operators(dtype: str) -> list[Operator]:
    """The first and the last of two: associative, with no neutral element at all."""
    low, high = ends(dtype)

    def prepare(x: Expression) -> tuple[Expression, ...]:
        return (Cast(dtype, x),)

    return [
        Operator(name, Function(("a", "b"), (chosen,)), (dtype,), (low,), (high,), prepare)
        for name, chosen in (("first", A), ("second", B))
    ]


# -- on tuples -------------------------------------------------------------------------------------


def linear(dtype: str) -> Operator:
    """Composition of x -> a x + b, the left one first."""
    results = (call("mul", A0, B0), call("add", call("mul", A1, B0), B1))

    def prepare(x: Expression) -> tuple[Expression, ...]:
        return whole(x, dtype, 0, 5), whole(call("xor", Cast("int64", x), Literal(5)), dtype, 0, 9)

    return Operator(
        "linear", Function(("a", "b"), results), (dtype,) * 2, literals(1, 0), literals(3, 2),
        prepare,
    )  # fmt: skip


def matrix(dtype: str) -> Operator:
    """The product of 2 x 2 matrices."""
    a, b = [part("a", k) for k in range(4)], [part("b", k) for k in range(4)]

    def entry(i: int, j: int) -> Expression:
        return call("add", call("mul", a[2 * i], b[j]), call("mul", a[2 * i + 1], b[2 + j]))

    def prepare(x: Expression) -> tuple[Expression, ...]:
        wide = Cast("int64", x)
        return tuple(whole(shifted(wide, k), dtype, 0, 3 + k) for k in range(4))

    return Operator(
        "matrix", Function(("a", "b"), tuple(entry(i, j) for i in range(2) for j in range(2))),
        (dtype,) * 4, literals(1, 0, 0, 1), literals(1, 2, 0, 1), prepare,
    )  # fmt: skip


def last(dtype: str) -> Operator:
    """The last of the values that are there."""
    results = (call("or", A0, B0), call("where", B0, B1, A1))
    zero = Literal(False if np.dtype(dtype).kind == "b" else 0)

    def prepare(x: Expression) -> tuple[Expression, ...]:
        there = call("eq", call("and", Cast("int64", x), Literal(3)), Literal(0))
        return there, call("where", there, Cast(dtype, x), zero)

    return Operator(
        "last", Function(("a", "b"), results), ("bool", dtype),
        (Literal(False), zero), (Literal(True), zero), prepare,
    )  # fmt: skip


def max_plus(dtype: str) -> Operator:
    """Composition of x -> max(x + p, q), the left one first."""
    results = (call("add", A0, B0), call("maximum", call("add", A1, B0), B1))
    is_float = np.dtype(dtype).kind == "f"
    low = float("-inf") if is_float else -(10**9)

    def prepare(x: Expression) -> tuple[Expression, ...]:
        wide = Cast("int64", x)
        return whole_of(wide, dtype, -2, 2), whole_of(call("shr", wide, Literal(1)), dtype, -9, 9)

    return Operator(
        "max_plus", Function(("a", "b"), results), (dtype,) * 2, literals(0, low),
        literals(2, 1), prepare,
    )  # fmt: skip


def whole_of(wide: Expression, dtype: str, low: int, high: int) -> Expression:
    """A small whole number of any dtype, from an i64."""
    return Cast(dtype, whole(wide, "int64", low, high))


def machine(dtype: str) -> Operator:
    """Composition of functions from three states to three states, the left one first."""

    def then(k: int) -> Expression:
        at = part("a", k)
        second = call("where", call("eq", at, Literal(1)), part("b", 1), part("b", 2))
        return call("where", call("eq", at, Literal(0)), part("b", 0), second)

    def prepare(x: Expression) -> tuple[Expression, ...]:
        wide = Cast("int64", x)
        return tuple(whole(shifted(wide, 2 * k), dtype, 0, 2) for k in range(3))

    return Operator(
        "machine", Function(("a", "b"), tuple(then(k) for k in range(3))), (dtype,) * 3,
        literals(0, 1, 2), literals(1, 2, 0), prepare,
    )  # fmt: skip


def least_pair(dtype: str) -> Operator:
    """The lesser of two pairs: by the first part, then by the second."""
    tie = call("and", call("eq", B0, A0), call("lt", B1, A1))
    second = call("or", call("lt", B0, A0), tie)
    results = (call("where", second, B0, A0), call("where", second, B1, A1))
    high = ends(dtype)[1]

    def prepare(x: Expression) -> tuple[Expression, ...]:
        wide = Cast("int64", x)
        return whole(wide, dtype, 0, 3), whole(call("shr", wide, Literal(2)), dtype, 0, 99)

    return Operator(
        "least_pair", Function(("a", "b"), results), (dtype,) * 2, (high, high),
        literals(2, 5), prepare, True,
    )  # fmt: skip


def segment_sum(dtype: str) -> Operator:
    """Sum, best prefix, best suffix and best part of a row of numbers."""
    a, b = [part("a", k) for k in range(4)], [part("b", k) for k in range(4)]
    best = call("maximum", call("maximum", a[3], b[3]), call("add", a[2], b[1]))
    results = (
        call("add", a[0], b[0]), call("maximum", a[1], call("add", a[0], b[1])),
        call("maximum", b[2], call("add", b[0], a[2])), best,
    )  # fmt: skip

    def prepare(x: Expression) -> tuple[Expression, ...]:
        number = whole_of(Cast("int64", x), dtype, -7, 7)
        gain = call("maximum", number, Literal(0))
        return number, gain, gain, gain

    return Operator(
        "segment_sum", Function(("a", "b"), results), (dtype,) * 4, literals(0, 0, 0, 0),
        literals(2, 2, 2, 2), prepare,
    )  # fmt: skip


def tuple_operators(dtype: str) -> list[Operator]:
    """The operators on tuples whose components, but for flags, are of one dtype."""
    kind, wide = np.dtype(dtype).kind, np.dtype(dtype).itemsize >= 4
    some = [last(dtype)]
    if kind in "iu":
        some += [linear(dtype), matrix(dtype), machine(dtype), least_pair(dtype)]
    if kind in "if" and wide:
        some += [max_plus(dtype), segment_sum(dtype)]
    return some
