"""Operators that are associative, with elements for them: numbers, pairs of numbers.

    Operator("lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])", .., ("int64", "int64"))
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.nests.tree import Node
from tests.nests.writer import Writer


@dataclass(frozen=True)
class Operator:
    """Its text, its meaning, its elements' dtypes; a neutral element where scatters need one."""

    text: str
    meaning: Callable[[Any, Any], Any]
    dtypes: tuple[str, ...]
    commutes: bool = False
    neutral: str = ""

    @property
    def node(self) -> Node:
        """The operator as a part of a tree."""
        return Node("operator", self.text, lambda: self.meaning)


def last_nonzero(a: Any, b: Any) -> Any:
    return b if b != 0 else a


def affine(a: Any, b: Any) -> Any:
    """x * a0 + a1, and then x * b0 + b1."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def sum_since(a: Any, b: Any) -> Any:
    """A sum that begins anew where the first part is not zero: a segmented sum."""
    return a[0] | b[0], b[1] if b[0] != 0 else a[1] + b[1]


def greatest_with(a: Any, b: Any) -> Any:
    """The greater first part with its second one; of equal ones the left."""
    return b if b[0] > a[0] else a


def scalar_operators(dtype: str) -> list[Operator]:
    """Those on numbers of a dtype; sums and extremes of floats are exact."""
    of = (dtype,)
    found = [
        Operator("lambda a, b: a + b", operator.add, of, True, "0"),
        Operator("fw.minimum", min, of, True),
        Operator("fw.maximum", max, of, True),
        Operator("lambda a, b: b", lambda a, b: b, of),
        Operator("lambda a, b: fw.where(b == 0, a, b)", last_nonzero, of),
    ]
    if dtype != "float64":
        found += [
            Operator("fw.add", operator.add, of, True, "0"),
            Operator("lambda a, b: a * b", operator.mul, of, True, "1"),
            Operator("lambda a, b: a ^ b", operator.xor, of, True, "0"),
        ]
    return found


def pair_operators(dtype: str) -> list[Operator]:
    """Those on pairs whose second part has a dtype."""
    two = ("int64", dtype)
    found = [
        Operator("lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1]))",
                 lambda a, b: (a[0] + b[0], max(a[1], b[1])), two, True),
        Operator("lambda a, b: (a[0] | b[0], fw.where(b[0] != 0, b[1], a[1] + b[1]))",
                 sum_since, two),
        Operator("lambda a, b: fw.cond(b[0] > a[0], lambda: b, lambda: a)", greatest_with, two),
    ]  # fmt: skip
    if dtype != "float64":
        found.append(
            Operator("lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])", affine, (dtype, dtype))
        )
    return found


def product(a: Any, b: Any) -> Any:
    """The product of complex numbers."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def smooth_operators(w: Writer, dtype: str, pairs: bool) -> list[Operator]:
    """More of them where floats are any numbers."""
    if not w.smooth or dtype != "float64":
        return []
    one, two = (dtype,), (dtype, dtype)
    if pairs:
        return [
            Operator("lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])", affine, two),
            Operator("lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])",
                     product, two, True),
        ]  # fmt: skip
    return [
        Operator("lambda a, b: a * b", operator.mul, one, True, "1"),
        Operator("fw.mul", operator.mul, one, True, "1"),
        Operator("lambda a, b: a + b + a * b", lambda a, b: a + b + a * b, one, True, "0"),
    ]


def operators(w: Writer, dtype: str, pair: float) -> list[Operator]:
    """Those whose last part has a dtype; sometimes those on pairs."""
    pairs = w.chance(pair) if pair else False
    some = pair_operators(dtype) if pairs else scalar_operators(dtype)
    return some + smooth_operators(w, dtype, pairs)


def some_operator(w: Writer, dtype: str, pair: float = -1.0) -> Operator:
    """One whose last part has a dtype; sometimes one on pairs."""
    return w.random.choice(operators(w, dtype, pair))


def with_neutral(w: Writer, dtype: str) -> Operator:
    return w.random.choice([op for op in operators(w, dtype, 0) if op.neutral])


def commutative(w: Writer, dtype: str, pair: float = -1.0) -> Operator:
    return w.random.choice([op for op in operators(w, dtype, pair) if op.commutes])


