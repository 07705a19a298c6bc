"""Scalars: arithmetic, and what an array is as a whole."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from tests.nests import plain
from tests.nests.tree import Made
from tests.nests.types import Row
from tests.nests.writer import SCALARS, Writer, bound, cast, chosen, length, literal, node

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, "==": operator.eq,
               "!=": operator.ne}  # fmt: skip
INFIX = {"+": operator.add, "-": operator.sub, "*": operator.mul}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
CALLED = {"fw.minimum": min, "fw.maximum": max}


def number(w: Writer, dtype: str, fuel: int) -> Made:
    """A scalar that has a dtype: no Python number."""
    found = w.make(dtype, fuel)
    if getattr(found, "parts", True):
        return found
    row = w.one_known(lambda t: isinstance(t, Row) and isinstance(t.of, str))
    return node(dtype, "({0} + {1})", operator.add, cast(length(row), dtype) if row else found,
                found)  # fmt: skip


@chosen(SCALARS, 8)
def arithmetic(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    a = number(w, dtype, f)
    if w.chance(0.25):
        text = w.random.choice(list(CALLED))
        return node(dtype, f"{text}({{0}}, {{1}})", CALLED[text], a, w.make(dtype, g))
    if dtype != "float64" and w.chance(0.25):
        text = w.random.choice(list(BITS))
        return node(dtype, f"({{0}} {text} {{1}})", BITS[text], a, w.make(dtype, g))
    if dtype != "float64" and w.chance(0.25):
        divide, n = w.chance(0.3), literal(dtype, w.random.randint(2, 7))
        text, meaning = ("//", operator.floordiv) if divide else ("%", operator.mod)
        return node(dtype, f"({{0}} {text} {{1}})", meaning, a, n)
    text = w.random.choice(["+", "+", "-", "*"])
    exact = dtype == "float64" and not w.smooth
    b = w.literal(dtype) if text == "*" and exact else w.make(dtype, g)
    return node(dtype, f"({{0}} {text} {{1}})", INFIX[text], a, b)


@chosen(SCALARS, 5)
def comparison(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype != "bool":
        return None
    f, g = w.shares(fuel, 2)
    if w.chance(0.2):
        text, meaning = w.random.choice([("&", np.logical_and), ("|", np.logical_or)])
        return node("bool", f"({{0}} {text} {{1}})", meaning, w.make("bool", f), w.make("bool", g))
    if w.chance(0.1):
        return node("bool", "fw.logical_not({0})", np.logical_not, w.make("bool", f))
    given, text = w.number(), w.random.choice(list(COMPARISONS))
    return node("bool", f"({{0}} {text} {{1}})", COMPARISONS[text], number(w, given, f),
                w.make(given, g))  # fmt: skip


@chosen(SCALARS, 2)
def choice(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g, h = w.shares(fuel, 3)
    return node(dtype, "fw.where({0}, {1}, {2})", lambda p, a, b: a if p else b,
                w.make("bool", f), number(w, dtype, g), w.make(dtype, h))  # fmt: skip


@chosen(SCALARS, 1)
def converted(w: Writer, dtype: str, fuel: int) -> Made | None:
    given = w.number()
    if dtype == "bool" or (given == "float64" and dtype != "int64"):
        return None
    made = number(w, given, fuel - 1)
    return cast(made, dtype) if given != dtype else None


@chosen(SCALARS, 2)
def shared(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A row with a name, read several times."""
    f, g = w.shares(fuel, 2)
    return bound(w, w.any_row(f), lambda _: w.make(dtype, g))


# -- of a row --------------------------------------------------------------------------------------


@chosen(SCALARS, 4)
def summed(w: Writer, dtype: str, fuel: int) -> Made | None:
    given = w.random.choice(["int64", "int32", "bool"]) if dtype == "int64" else dtype
    if dtype not in ("int64", "float64"):
        return None
    row = w.row(given, fuel - 1)
    if w.chance(0.15) and given != "bool":
        return node(dtype, "fw.prod({0})", partial(plain.total, dtype, operator.mul, 1), row)
    return node(dtype, "fw.sum({0})", partial(plain.total, dtype, operator.add, 0), row)


@chosen(SCALARS, 2)
def extreme(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    text, best = w.random.choice([("min", min), ("max", max)])
    return node(dtype, f"fw.{text}({{0}}, initial={{1}})", partial(plain.extreme, best),
                w.row(dtype, fuel - 1), w.leaf(dtype))  # fmt: skip


@chosen(SCALARS, 2)
def questioned(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype != "bool":
        return None
    text, meaning = w.random.choice([("any", any), ("all", all)])
    return node("bool", f"fw.{text}({{0}})", lambda xs: np.bool_(meaning(xs)),
                w.row("bool", fuel - 1))  # fmt: skip


@chosen(SCALARS, 2)
def placed(w: Writer, dtype: str, fuel: int) -> Made | None:
    """Where the greatest is, of a row that is not empty."""
    if dtype != "int64":
        return None
    given = w.number()
    text, best = w.random.choice([("argmin", min), ("argmax", max)])
    return node("int64", f"fw.{text}({{0}})", partial(plain.place_of, best),
                not_empty(w, given, fuel - 1))  # fmt: skip


@chosen(SCALARS, 1)
def counted(w: Writer, dtype: str, fuel: int) -> Made | None:
    return length(w.any_row(fuel - 1)) if dtype == "int64" else None


@chosen(SCALARS, 3)
def read(w: Writer, dtype: str, fuel: int) -> Made | None:
    """An element at a computed index, of a row that is not empty, or that is looked at first."""
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    if w.chance(0.5):
        row = not_empty(w, dtype, f)
        return bound(w, row, lambda r: element(dtype, r, w.make("int64", g)))
    row = w.row(dtype, f)

    def guarded(r: Any) -> Made:
        then = w.function([], lambda _: element(dtype, r, w.make("int64", g)), deeper=False)
        other = w.function([], lambda _: w.leaf(dtype), deeper=False)
        some = node("bool", "({0} > 0)", lambda n: n > 0, length(r))
        return node(dtype, "fw.cond({0}, {1}, {2})", plain.cond, some, then, other)

    return bound(w, row, guarded)


def element(dtype: str, row: Made, at: Made) -> Made:
    return node(dtype, "{0}[{1} % fw.maximum({0}.shape[0], 1)]",
                lambda xs, i: xs[int(i) % len(xs)], row, at)  # fmt: skip


def not_empty(w: Writer, dtype: str, fuel: int) -> Made:
    """A row of one element more than some row."""
    one = node(Row(dtype), "fw.full(1, {0})", lambda x: [x], w.leaf(dtype))
    parts = [w.row(dtype, fuel - 1), one]
    w.random.shuffle(parts)
    return node(Row(dtype), "fw.concat([{0}, {1}])", operator.add, *parts)
