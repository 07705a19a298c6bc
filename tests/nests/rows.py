"""Rows of scalars: maps, sources, cuts, what is put together; and folds of rows.

Rows that are mapped together are made equally long by cutting, or are made from one another.
"""

from __future__ import annotations

import operator
from functools import partial

import numpy as np

from tests.nests import plain
from tests.nests.operators import Operator, some_operator
from tests.nests.tree import Made
from tests.nests.types import NUMBERS, Row, Type
from tests.nests.writer import (
    ROWS,
    SCALARS,
    Writer,
    bound,
    cast,
    chosen,
    length,
    node,
    pick,
    tupled,
)


def is_row(type_: Type) -> bool:
    return isinstance(type_, Row) and type_.of in NUMBERS


def is_grid(type_: Type) -> bool:
    return isinstance(type_, Row) and isinstance(type_.of, Row)


# -- maps ------------------------------------------------------------------------------------------


def source(w: Writer, fuel: int) -> Made:
    """What a map goes through: a row of numbers, or rows."""
    grid = w.one_known(is_grid)
    if grid is not None and w.chance(0.5):
        return grid
    return w.any_row(fuel)


def mapped(w: Writer, gives: Type, fuel: int) -> Made | None:
    """map over one row, or over several that are equally long."""
    if w.is_deep:
        return None
    f, g = w.shares(fuel, 2)
    xs = source(w, f)
    count = len(gives) if isinstance(gives, tuple) else None
    parts = gives if isinstance(gives, tuple) else (gives,)
    made: Type = tuple(map(Row, parts)) if count else Row(gives)
    assert isinstance(xs.type, Row)
    if w.chance(0.6):
        fn = w.pure([xs.type.of], gives, g)
        return node(made, "fw.map({0}, {1})", partial(plain.map_, count), fn, xs)

    def together(x: Made) -> Made:
        assert isinstance(x.type, Row)
        y = beside(w, x, f // 2)
        assert isinstance(y.type, Row)
        if w.chance(0.3):
            fn = w.pure([(x.type.of, y.type.of)], gives, g)
            return node(made, "fw.map({0}, {1})", partial(plain.map_, count), fn, tupled([x, y]))
        fn = w.pure([x.type.of, y.type.of], gives, g)
        return node(made, "fw.map({0}, {1}, {2})", partial(plain.map_, count), fn, x, y)

    return bound(w, xs, together)


def beside(w: Writer, x: Made, fuel: int) -> Made:
    """A row of numbers as long as `x`."""
    if not is_row(x.type) or w.chance(0.2):
        count = length(x) if is_row(x.type) else rows_of(x)
        return node(Row("int64"), "fw.iota({0})", plain.iota, count)
    dtype = x.type.of  # type: ignore[union-attr]
    way = w.random.randrange(6)
    if way == 0:
        return node(Row(dtype), "fw.sort({0})", partial(plain.by, False, None), x)
    if way == 1:
        return node(Row("int64"), "fw.argsort({0})", partial(plain.argsort, False), x)
    if way == 2:
        return node(Row(dtype), "fw.reverse({0})", lambda xs: xs[::-1], x)
    if way == 3:
        return folded_along(w, some_operator(w, dtype), x, 0)
    if way == 4:
        return node(Row(dtype), "fw.rotate({0}, {1})", plain.rotate, x, w.make("int64", fuel))
    given = w.number()
    return node(Row(given), "fw.map({0}, {1})", partial(plain.map_, None),
                w.pure([dtype], given, fuel), x)  # fmt: skip


@chosen(ROWS, 7)
def map_of_row(w: Writer, dtype: str, fuel: int) -> Made | None:
    return mapped(w, dtype, fuel)


@chosen(ROWS, 2)
def part_of_map(w: Writer, dtype: str, fuel: int) -> Made | None:
    """One of the arrays that a map gives."""
    found = mapped(w, (w.number(), dtype), fuel)
    return None if found is None else pick(found, 1)


@chosen(ROWS, 3)
def operated(w: Writer, dtype: str, fuel: int) -> Made | None:
    """Whole rows with operators: a scalar next to a row, or two equally long rows."""
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    texts = ["+", "-", "*", "^"] if dtype != "float64" else ["+", "-", "*"][: 2 + w.smooth]
    text = w.random.choice(texts)
    scalar = {"+": operator.add, "-": operator.sub, "*": operator.mul, "^": operator.xor}[text]
    row = w.row(dtype, f)
    if w.chance(0.6):
        return node(Row(dtype), f"({{0}} {text} {{1}})", lambda xs, y: [scalar(x, y) for x in xs],
                    row, w.make(dtype, g))  # fmt: skip

    def twice(x: Made) -> Made:
        y = cast(beside(w, x, g), dtype)
        return node(Row(dtype), f"({{0}} {text} {{1}})",
                    lambda xs, ys: list(map(scalar, xs, ys)), x, y)  # fmt: skip

    return bound(w, row, twice)


@chosen(ROWS, 4)
def compared(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A row of bools."""
    if dtype != "bool":
        return None
    f, g = w.shares(fuel, 2)
    given = w.number()
    return node(Row("bool"), "({0} > {1})", lambda xs, y: [x > y for x in xs],
                w.row(given, f), w.make(given, g))  # fmt: skip


@chosen(ROWS, 1)
def chosen_rows(w: Writer, dtype: str, fuel: int) -> Made | None:
    """where over whole rows."""
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)

    def both(x: Made) -> Made:
        mask = node(Row("bool"), "({0} > {1})", lambda xs, y: [a > y for a in xs], x,
                    w.make(dtype, g))  # fmt: skip
        return node(Row(dtype), "fw.where({0}, {1}, {2})",
                    lambda ps, xs, y: [a if p else y for p, a in zip(ps, xs, strict=True)],
                    mask, x, w.leaf(dtype))  # fmt: skip

    return bound(w, w.row(dtype, f), both)


@chosen(ROWS, 2)
def shared_row(w: Writer, dtype: str, fuel: int) -> Made | None:
    f, g = w.shares(fuel, 2)
    return bound(w, w.any_row(f), lambda _: w.row(dtype, g))


@chosen(ROWS, 1)
def converted_row(w: Writer, dtype: str, fuel: int) -> Made | None:
    given = w.number()
    return None if dtype in ("bool", given) else cast(w.row(given, fuel - 1), dtype)


# -- sources ---------------------------------------------------------------------------------------


@chosen(ROWS, 2)
def counted_up(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype != "int64":
        return None
    return node(Row("int64"), "fw.iota({0})", plain.iota, w.size(fuel - 1, 5))


@chosen(ROWS, 2)
def generated(w: Writer, dtype: str, fuel: int) -> Made | None:
    if w.is_deep:
        return None
    f, g = w.shares(fuel, 2)
    fn = w.pure(["int64"], dtype, g)
    return node(Row(dtype), "fw.generate({0}, {1})", partial(plain.generate, None),
                w.size(f), fn)  # fmt: skip


@chosen(ROWS, 2)
def repeated(w: Writer, dtype: str, fuel: int) -> Made | None:
    f, g = w.shares(fuel, 2)
    text = w.random.choice(["full", "replicate"])
    return node(Row(dtype), f"fw.{text}({{0}}, {{1}})", plain.full, w.size(f), w.make(dtype, g))


# -- cuts and compositions -------------------------------------------------------------------------


@chosen(ROWS, 3)
def cut(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A slice with computed bounds, which may be below 0 or beyond the end."""
    f, g, h = w.shares(fuel, 3)
    row, step = w.row(dtype, f), w.random.choice(["", "", "::2", "::-1"])
    if step == "::-1":
        return node(Row(dtype), "{0}[::-1]", lambda xs: xs[::-1], row)
    start, stop = w.small(g), w.small(h)
    if step:
        return node(Row(dtype), "{0}[{1}::2]", lambda xs, a: xs[int(a) :: 2], row, start)
    way = w.random.randrange(3)
    if way == 0:
        return node(Row(dtype), "{0}[{1}:]", lambda xs, a: xs[int(a) :], row, start)
    if way == 1:
        return node(Row(dtype), "{0}[:{1}]", lambda xs, b: xs[: int(b)], row, stop)
    return node(Row(dtype), "{0}[{1}:{2}]", plain.cut, row, start, stop)


@chosen(ROWS, 3)
def put_together(w: Writer, dtype: str, fuel: int) -> Made | None:
    rows = [w.row(dtype, f) for f in w.shares(fuel, w.random.choice([2, 2, 3]))]
    text = ", ".join(f"{{{k}}}" for k in range(len(rows)))
    return node(Row(dtype), f"fw.concat([{text}])", lambda *parts: sum(parts, []), *rows)


@chosen(ROWS, 2)
def turned(w: Writer, dtype: str, fuel: int) -> Made | None:
    if w.chance(0.3):
        return node(Row(dtype), "fw.store({0})", lambda xs: xs, w.row(dtype, fuel - 1))
    if w.chance(0.5):
        return node(Row(dtype), "fw.reverse({0})", lambda xs: xs[::-1], w.row(dtype, fuel - 1))
    f, g = w.shares(fuel, 2)
    return node(Row(dtype), "fw.rotate({0}, {1})", plain.rotate, w.row(dtype, f),
                w.make("int64", g))  # fmt: skip


@chosen(ROWS, 2)
def row_of_grid(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A row at a computed index."""
    grid = w.one_known(lambda t: t == Row(Row(dtype)))
    if grid is None:
        return None
    some = node("bool", "({0} > 0)", lambda n: n > 0, rows_of(grid))
    at = w.make("int64", fuel - 1)
    then = w.function([], lambda _: node(
        Row(dtype), "{0}[{1} % {2}]", lambda xs, i, n: xs[int(i % n)], grid, at, rows_of(grid)
    ), deeper=False)  # fmt: skip
    other = w.function([], lambda _: w.leaf(Row(dtype)), deeper=False)
    return node(Row(dtype), "fw.cond({0}, {1}, {2})", plain.cond, some, then, other)


def rows_of(grid: Made) -> Made:
    """How many rows there are, of a matrix or of a Ragged."""
    regular = isinstance(grid.type, Row) and grid.type.regular
    text = "{0}.shape[0]" if regular else "fw.sum(fw.map(lambda _: 1, {0}))"
    return node("int64", text, lambda xs: np.int64(len(xs)), grid)


# -- folds -----------------------------------------------------------------------------------------


def pairs(w: Writer, op: Operator, fuel: int) -> Made:
    """Elements of an operator: a row, or two equally long ones as an array of pairs."""
    if len(op.dtypes) == 1:
        return w.row(op.dtypes[0], fuel)
    first, second = op.dtypes

    def both(x: Made) -> Made:
        return tupled([cast(beside(w, x, 1), first), x])

    return bound(w, w.row(second, fuel), both)


def begin(w: Writer, op: Operator, fuel: int) -> Made:
    """What a fold begins with: it need not be neutral, and may be another one in each row."""
    parts = [w.make(dtype, fuel) for dtype in op.dtypes]
    return parts[0] if len(parts) == 1 else tupled(parts)


def folded_along(w: Writer, op: Operator, xs: Made, fuel: int) -> Made:
    """A scan."""
    exclusive, reverse = w.chance(0.3), w.chance(0.3)
    options = ", exclusive=True" * exclusive + ", reverse=True" * reverse
    return node(xs.type, f"fw.scan({{0}}, {{1}}, {{2}}{options})",
                partial(plain.scan, exclusive, reverse), op.node, begin(w, op, fuel),
                xs)  # fmt: skip


@chosen(ROWS, 4)
def scanned(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    op = some_operator(w, dtype, 0.3)
    found = folded_along(w, op, pairs(w, op, f), g)
    return found if len(op.dtypes) == 1 else pick(found, 1)


@chosen(SCALARS, 5)
def reduced(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    op = some_operator(w, dtype, 0.3)
    xs, ne = pairs(w, op, f), begin(w, op, g)
    made: Type = dtype if len(op.dtypes) == 1 else op.dtypes
    found = node(made, "fw.reduce({0}, {1}, {2})", plain.reduce, op.node, ne, xs)
    return found if len(op.dtypes) == 1 else pick(found, 1)


@chosen(ROWS, 2)
def summed_up(w: Writer, dtype: str, fuel: int) -> Made | None:
    given = w.random.choice(["int64", "int32"]) if dtype == "int64" else dtype
    if dtype not in ("int64", "float64"):
        return None
    text, function = w.random.choice([("cumsum", operator.add), ("cumprod", operator.mul)])
    if dtype == "float64" and not w.smooth:
        text, function = "cumsum", operator.add
    return node(Row(dtype), f"fw.{text}({{0}})", partial(plain.totals, dtype, function),
                w.row(given, fuel - 1))  # fmt: skip


def flags_beside(w: Writer, x: Made, fuel: int) -> Made:
    """Where segments of a row begin."""
    assert is_row(x.type)
    dtype = x.type.of  # type: ignore[union-attr]
    return node(Row("bool"), "({0} > {1})", lambda xs, y: [a > y for a in xs], x,
                w.make(dtype, fuel))  # fmt: skip


@chosen(ROWS, 3)
def segmented(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    op, way = some_operator(w, dtype), w.random.choice(["scan", "reduce", "iota"])

    def both(x: Made) -> Made:
        flags = flags_beside(w, x, g)
        if way == "iota":
            found = node(Row("int64"), "fw.segmented_iota({0})", plain.segmented_iota, flags)
            return cast(found, dtype)
        meaning = plain.segmented_scan if way == "scan" else plain.segmented_reduce
        return node(Row(dtype), f"fw.segmented_{way}({{0}}, {{1}}, {{2}}, {{3}})", meaning,
                    op.node, begin(w, op, 1), flags, x)  # fmt: skip

    return bound(w, w.row(dtype, f), both)
