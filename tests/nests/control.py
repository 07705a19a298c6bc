"""Branches and loops: over scalars, rows, rows of rows and tuples of them.

Loops end: they count iterations, or their state grows or shrinks in each. Rows in a state may
change length, and numbers of iterations vary from element to element.
"""

from __future__ import annotations

import numpy as np

from tests.nests import plain
from tests.nests.rows import is_row
from tests.nests.tree import Made
from tests.nests.types import Row, Type
from tests.nests.writer import (
    GRIDS,
    ROWS,
    SCALARS,
    Writer,
    bound,
    chosen,
    length,
    literal,
    modulo,
    node,
    pick,
    tupled,
)


def branch(w: Writer, type_: Type, fuel: int) -> Made:
    """cond with or without arguments; what is not called has no effect."""
    f, g, h = w.shares(fuel, 3)
    p = w.make("bool", f)
    given = w.one_known(lambda t: isinstance(t, Row)) if w.chance(0.4) else None
    args = [] if given is None else [given]
    types = [arg.type for arg in args]
    then, other = (
        w.function(types, lambda _, fuel=fuel: kept(w, type_, fuel), deeper=False)
        for fuel in (g, h)
    )
    text = "fw.cond({0}, {1}, {2}, {3})" if args else "fw.cond({0}, {1}, {2})"
    return node(type_, text, plain.cond, p, then, other, *args)


def counted_loop(w: Writer, type_: Type, fuel: int) -> Made:
    """fori_loop with a computed number of iterations."""
    f, g, h = w.shares(fuel, 3)
    start = kept(w, type_, f)
    body = w.function(["int64", type_], lambda _: kept(w, type_, g))
    lo = literal("int64", w.random.randint(-1, 2))
    return node(type_, "fw.fori_loop({0}, {1}, {2}, {3})", plain.fori_loop, lo,
                w.size(h), body, start)  # fmt: skip


def open_loop(w: Writer, type_: Type, fuel: int) -> Made:
    """while_loop that counts its turns itself, and ends where its state says so."""
    f, g, h = w.shares(fuel, 3)
    zero = node("int64", "np.int64(0)", lambda: np.int64(0))
    state = (zero.type, type_)
    most = w.size(h // 2)

    def holds(s: Made) -> Made:
        few = node("bool", "({0} < {1})", lambda a, b: a < b, pick(s, 0), most)
        if w.chance(0.4):
            return few
        return node("bool", "({0} & {1})", lambda a, b: a and b, few, w.make("bool", h // 2))

    def turn(s: Made) -> Made:
        up = node("int64", "({0} + 1)", lambda n: n + np.int64(1), pick(s, 0))
        return tupled([up, kept(w, type_, g)])

    test = w.function([state], lambda names: holds(names[0]))
    body = w.function([state], lambda names: turn(names[0]))
    start = tupled([zero, kept(w, type_, f)])
    return pick(node(state, "fw.while_loop({0}, {1}, {2})", plain.while_loop, test, body, start), 1)


def control(w: Writer, type_: Type, fuel: int) -> Made | None:
    if w.is_deep or fuel < 3:
        return None
    return w.random.choice([branch, counted_loop, open_loop])(w, type_, fuel)


@chosen(SCALARS, 3)
def controlled(w: Writer, dtype: str, fuel: int) -> Made | None:
    return None if dtype == "bool" else control(w, dtype, fuel)


@chosen(ROWS, 5)
def controlled_row(w: Writer, dtype: str, fuel: int) -> Made | None:
    return None if dtype == "bool" else control(w, Row(dtype), fuel)


@chosen(GRIDS, 2)
def controlled_grid(w: Writer, of: Row, fuel: int) -> Made | None:
    return control(w, Row(of), fuel) if is_row(of) else None


def kept(w: Writer, type_: Type, fuel: int) -> Made:
    """A state, or what a branch gives: numbers of another dtype, rows of rows as a Ragged.

    All of a matrix's rows are kept by a filter, which makes a Ragged of them.
    """
    made = w.make(type_, fuel)
    if isinstance(type_, str):
        return node(type_, f"fw.astype({{0}}, np.{type_})", lambda x: x, made)
    if isinstance(type_, Row) and isinstance(type_.of, Row):
        text = "fw.map(lambda r: fw.filter(lambda x: x == x, r), {0})"
        return node(Row(type_.of), text, lambda xs: xs, made)
    return made


@chosen(ROWS, 2)
def controlled_pair(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A row next to a scalar, or next to another row, in one state or from one branch."""
    other: Type = w.number() if w.chance(0.5) else Row(w.number())
    found = None if dtype == "bool" else control(w, (other, Row(dtype)), fuel)
    return None if found is None else pick(found, 1)


@chosen(SCALARS, 1)
def climbing(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A while_loop whose scalar grows until it is great enough."""
    if dtype != "int64" or w.is_deep:
        return None
    f, g, h = w.shares(fuel, 3)
    most = w.size(h, 9)
    test = w.function(["int64"], lambda s: node(
        "bool", "({0} < {1})", lambda a, b: a < b, s[0], most
    ))  # fmt: skip
    body = w.function(["int64"], lambda s: node(
        "int64", "({0} + 1 + {1})", lambda a, b: a + np.int64(1) + b, s[0],
        modulo(w.make("int64", g), 3),
    ))  # fmt: skip
    start = kept(w, "int64", 0)
    start = modulo(node("int64", "({0} + {1})", lambda a, b: a + b, start, w.make("int64", f)), 4)
    return node("int64", "fw.while_loop({0}, {1}, {2})", plain.while_loop, test, body, start)


@chosen(ROWS, 3)
def shrinking(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A while_loop whose row loses its first element, and others, in every iteration."""
    if dtype == "bool" or w.is_deep:
        return None
    f, g = w.shares(fuel, 2)
    few = literal("int64", w.random.randint(0, 2))
    test = w.function([Row(dtype)], lambda s: node(
        "bool", "({0} > {1})", lambda a, b: a > b, length(s[0]), few
    ))  # fmt: skip

    def turn(s: Made) -> Made:
        rest = node(Row(dtype), "{0}[1:]", lambda xs: xs[1:], s)
        way = w.random.randrange(3)
        if way == 0:
            return rest
        p = w.pure([dtype], "bool" if way == 1 else dtype, g)
        if way == 1:
            return node(Row(dtype), "fw.filter({0}, {1})", plain.filter_, p, rest)
        return node(Row(dtype), "fw.map({0}, {1})", lambda f, xs: list(map(f, xs)), p, rest)

    body = w.function([Row(dtype)], lambda names: turn(names[0]))
    return node(Row(dtype), "fw.while_loop({0}, {1}, {2})", plain.while_loop, test, body,
                w.row(dtype, f))  # fmt: skip


@chosen(SCALARS, 1)
def guarded(w: Writer, dtype: str, fuel: int) -> Made | None:
    """The extremes and elements of a row, only where there are any."""
    if dtype == "bool":
        return None
    text, meaning = w.random.choice([
        ("fw.min({0})", min), ("fw.max({0})", max), ("{0}[0]", lambda xs: xs[0])
    ])  # fmt: skip

    def both(x: Made) -> Made:
        some = node("bool", "({0} != 0)", lambda n: n != 0, length(x))
        then = w.function([], lambda _: node(dtype, text, meaning, x), deeper=False)
        other = w.function([], lambda _: w.leaf(dtype), deeper=False)
        return node(dtype, "fw.cond({0}, {1}, {2})", plain.cond, some, then, other)

    return bound(w, w.row(dtype, fuel - 1), both)
