"""Rows whose elements are chosen, ordered, expanded or scattered."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.nests import plain
from tests.nests.operators import commutative, some_operator, with_neutral
from tests.nests.rows import begin, beside
from tests.nests.scalars import not_empty
from tests.nests.tree import Made
from tests.nests.types import Row
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

# -- chosen and ordered ----------------------------------------------------------------------------


@chosen(ROWS, 4)
def filtered(w: Writer, dtype: str, fuel: int) -> Made | None:
    f, g = w.shares(fuel, 2)
    xs = w.row(dtype, f)
    p = w.pure([dtype], "bool", g)
    if w.chance(0.3):
        both = node((Row(dtype), Row(dtype)), "fw.partition({0}, {1})", plain.partition, p, xs)
        return pick(both, w.random.randrange(2))
    return node(Row(dtype), "fw.filter({0}, {1})", plain.filter_, p, xs)


@chosen(ROWS, 1)
def filtered_pairs(w: Writer, dtype: str, fuel: int) -> Made | None:
    """A part of an array of pairs that is filtered."""
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)

    def both(x: Made) -> Made:
        y = beside(w, x, 1)
        assert isinstance(y.type, Row)
        p = w.pure([(y.type.of, dtype)], "bool", g)
        xs = tupled([y, x])
        return pick(node(xs.type, "fw.filter({0}, {1})", plain.filter_, p, xs), 1)

    return bound(w, w.row(dtype, f), both)


@chosen(ROWS, 4)
def ordered(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    descending = w.chance(0.4)
    option, f_g = ", descending=True" * descending, w.shares(fuel, 2)
    way = w.random.randrange(5)
    if way == 0:
        order = node(Row("int64"), f"fw.argsort({{0}}{option})", partial(plain.argsort, descending),
                     w.any_row(fuel - 1))  # fmt: skip
        return cast(order, dtype)
    xs = w.row(dtype, f_g[0])
    if way == 1:
        return node(Row(dtype), f"fw.sort({{0}}{option})", partial(plain.by, descending, None), xs)
    if way == 2:
        keys = ("int64", w.number()) if w.chance(0.3) else w.number()
        key = w.pure([dtype], keys, f_g[1])
        return node(Row(dtype), f"fw.sort({{0}}, key={{1}}{option})",
                    lambda xs, key: plain.by(descending, key, xs), xs, key)  # fmt: skip

    def by_key(x: Made) -> Made:
        y = beside(w, x, f_g[1])
        if way == 3:
            both = tupled([y, x])
            return pick(node(both.type, f"fw.sort({{0}}{option})",
                             partial(plain.by, descending, None), both), 1)  # fmt: skip
        both = node((y.type, x.type), "fw.sort_by_key({0}, {1})", plain.sort_by_key, y, x)
        return pick(both, 1)

    return bound(w, xs, by_key)


# -- expanded --------------------------------------------------------------------------------------


@chosen(ROWS, 3)
def expanded(w: Writer, dtype: str, fuel: int) -> Made | None:
    if w.is_deep:
        return None
    f, g, h = w.shares(fuel, 3)
    xs = w.any_row(f)
    assert isinstance(xs.type, Row)
    size = w.function([xs.type.of], lambda _: w.size(g, 3))
    get = w.pure([xs.type.of, "int64"], dtype, h)
    return node(Row(dtype), "fw.expand({0}, {1}, {2})", partial(plain.expand, None), size, get, xs)


@chosen(ROWS, 2)
def expanded_folds(w: Writer, dtype: str, fuel: int) -> Made | None:
    if w.is_deep or dtype == "bool":
        return None
    f, g, h = w.shares(fuel, 3)
    xs, op = w.any_row(f), some_operator(w, dtype)
    assert isinstance(xs.type, Row)
    size = w.function([xs.type.of], lambda _: w.size(g, 3))
    get = w.pure([xs.type.of, "int64"], dtype, h)
    return node(Row(dtype), "fw.expand_reduce({0}, {1}, {2}, {3}, {4})", plain.expand_reduce,
                size, get, op.node, begin(w, op, 1), xs)  # fmt: skip


@chosen(ROWS, 1)
def repeated_numbers(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype != "int64":
        return None
    reps = node(Row("int64"), "({0} % 3)", lambda xs: [x % np.int64(3) for x in xs],
                w.row("int64", fuel - 1))  # fmt: skip
    return node(Row("int64"), "fw.replicated_iota({0})", plain.replicated_iota, reps)


# -- read and written by index ---------------------------------------------------------------------


@chosen(ROWS, 3)
def gathered(w: Writer, dtype: str, fuel: int) -> Made | None:
    """Elements at computed indices."""
    f, g = w.shares(fuel, 2)

    def at(x: Made) -> Made:
        given = w.integer()
        idx = node(Row("int64"), "({0} % {1}.shape[0])",
                   lambda idx, xs: [np.int64(i) % np.int64(len(xs)) for i in idx],
                   cast(w.row(given, g), "int64"), x)  # fmt: skip
        way = w.random.randrange(3)
        if way == 0:
            return node(Row(dtype), "fw.gather({0}, {1})", plain.gather, x, idx)
        if way == 1:
            return node(Row(dtype), "{0}[{1}]", plain.gather, x, idx)
        f = w.function(["int64"], lambda names: node(
            dtype, "{0}[{1}]", lambda xs, i: xs[int(i)], x, names[0]
        ))  # fmt: skip
        return node(Row(dtype), "fw.map({0}, {1})", partial(plain.map_, None), f, idx)

    return bound(w, not_empty(w, dtype, f), at)


@chosen(ROWS, 5)
def scattered(w: Writer, dtype: str, fuel: int) -> Made | None:
    """One value for all indices, or indices that differ; some lie outside."""
    f, g, h = w.shares(fuel, 3)
    dest = w.row(dtype, f)
    if w.chance(0.4):
        idx = w.row(w.integer(), g)
        return node(Row(dtype), "fw.scatter({0}, {1}, {2})", plain.scatter_one, dest, idx,
                    w.make(dtype, h))  # fmt: skip

    def write(x: Made) -> Made:
        order = node(Row("int64"), "fw.argsort({0})", partial(plain.argsort, False), x)
        idx = node(Row("int64"), "({0} - {1})", lambda xs, y: [i - y for i in xs], order,
                   w.small(g // 2))  # fmt: skip
        return node(Row(dtype), "fw.scatter({0}, {1}, {2})", plain.scatter, dest, idx, x)

    return None if dtype == "bool" else bound(w, w.row(dtype, h), write)


@chosen(ROWS, 3)
def permuted(w: Writer, dtype: str, fuel: int) -> Made | None:
    """Writes that collide are combined: numbers, or pairs of numbers."""
    if dtype == "bool":
        return None
    f, g, h = w.shares(fuel, 3)
    op = commutative(w, dtype, 0.25)

    def write(x: Made) -> Made:
        idx = beside(w, x, g)
        if idx.type == Row("float64"):
            idx = cast(idx, "int64")
        if len(op.dtypes) == 1:
            return node(Row(dtype), "fw.permute({0}, {1}, {2}, {3})", plain.permute, op.node,
                        w.row(dtype, h), idx, x)  # fmt: skip

        def into(dest: Made) -> Made:
            both = tupled([cast(beside(w, dest, 1), op.dtypes[0]), dest])
            vals = tupled([cast(idx, op.dtypes[0]), x])
            return pick(node(both.type, "fw.permute({0}, {1}, {2}, {3})", plain.permute,
                             op.node, both, idx, vals), 1)  # fmt: skip

        return bound(w, w.row(dtype, h), into)

    return bound(w, w.row(dtype, f), write)


@chosen(ROWS, 3)
def counted_by_index(w: Writer, dtype: str, fuel: int) -> Made | None:
    if dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)
    if w.chance(0.4):
        counts = node(Row("int64"), "fw.histogram({0}, {1})", plain.histogram, w.size(f, 5),
                      w.row(w.integer(), g))  # fmt: skip
        return cast(counts, dtype)
    op = with_neutral(w, dtype)

    def write(x: Made) -> Made:
        idx = node(Row("int64"), "fw.iota({0})", plain.iota, length(x))
        if w.chance(0.7) and dtype != "float64":
            idx = x
        return node(Row(dtype), f"fw.reduce_by_index({{0}}, {{1}}, {op.neutral}, {{2}}, {{3}})",
                    lambda dest, op, idx, vals: plain.permute(op, dest, idx, vals),
                    w.row(dtype, f), op.node, idx, x)  # fmt: skip

    return bound(w, w.row(dtype, g), write)


@chosen(SCALARS, 1)
def last_of(w: Writer, dtype: str, fuel: int) -> Made | None:
    """The last element of a row that has one."""
    return node(dtype, "{0}[-1]", lambda xs: xs[-1], not_empty(w, dtype, fuel - 1))


