"""Rows of rows: maps that give rows, whole matrices, and rows as elements of other operations.

    fw.filter(lambda r: fw.sum(r) > 3, rows)    fw.reduce(lambda a, b: a[b], fw.iota(4), matrix)
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from tests.nests import plain
from tests.nests.rows import is_row, mapped
from tests.nests.tree import Made
from tests.nests.types import Row, Type, rank_of
from tests.nests.writer import GRIDS, ROWS, Writer, bound, chosen, node


def is_matrix(type_: Type) -> bool:
    """Rows of numbers that are equally long."""
    return isinstance(type_, Row) and type_.regular and rank_of(type_) == 2


@chosen(GRIDS, 10)
def map_of_rows(w: Writer, of: Row, fuel: int) -> Made | None:
    return mapped(w, of, fuel)


@chosen(GRIDS, 2)
def generated_rows(w: Writer, of: Row, fuel: int) -> Made | None:
    if w.is_deep:
        return None
    f, g = w.shares(fuel, 2)
    return node(Row(of), "fw.generate({0}, {1})", partial(plain.generate, None), w.size(f),
                w.pure(["int64"], of, g))  # fmt: skip


@chosen(GRIDS, 2)
def filtered_rows(w: Writer, of: Row, fuel: int) -> Made | None:
    """The rows for which something holds."""
    if w.is_deep:
        return None
    f, g = w.shares(fuel, 2)
    return node(Row(of), "fw.filter({0}, {1})", plain.filter_, w.pure([of], "bool", g),
                w.make(Row(of), f))  # fmt: skip


@chosen(GRIDS, 1)
def shared_grid(w: Writer, of: Row, fuel: int) -> Made | None:
    f, g = w.shares(fuel, 2)
    return bound(w, w.any_row(f), lambda _: w.make(Row(of), g))


# -- of a matrix -----------------------------------------------------------------------------------



@chosen(ROWS, 2)
def of_matrix(w: Writer, dtype: str, fuel: int) -> Made | None:
    """Its values in a row, or its rows combined: rows have an operator, too."""
    m = w.one_known(lambda t: is_matrix(t) and t.of.of == dtype)  # type: ignore[union-attr]
    if m is None or dtype == "bool":
        return None
    way = w.random.randrange(4)
    if way == 0:
        return node(Row(dtype), "{0}.reshape(-1)", lambda xs: [x for row in xs for x in row], m)
    first = width(w, m, dtype, fuel)
    if way == 1:
        op = node("operator", "fw.maximum", lambda: lambda a, b: list(map(max, a, b)))
    elif way == 2:
        op = node("operator", "lambda a, b: a + b",
                  lambda: lambda a, b: list(map(operator.add, a, b)))  # fmt: skip
    else:
        op = node("operator", "lambda a, b: fw.where(fw.sum(b) % 2 == 0, a, b)",
                  lambda: lambda a, b: a if is_even(b) else b)  # fmt: skip
    return node(Row(dtype), "fw.reduce({0}, {1}, {2})", plain.reduce, op, first, m)


def is_even(row: list[Any]) -> bool:
    wide = np.float64 if row and isinstance(row[0], np.floating) else np.int64
    return bool(plain.total(wide.__name__, operator.add, 0, row) % 2 == 0)


def width(w: Writer, m: Made, dtype: str, fuel: int) -> Made:
    """A row as wide as a matrix, of one number."""
    return node(Row(dtype), "fw.full({0}.shape[1], {1})", lambda xs, x: [x] * xs.width, m,
                w.make(dtype, fuel - 2))  # fmt: skip


@chosen(GRIDS, 1)
def scanned_rows(w: Writer, of: Row, fuel: int) -> Made | None:
    """Rows combined with all before them."""
    m = w.one_known(lambda t: is_matrix(t) and t == Row(of))
    if m is None or not is_row(of):
        return None
    dtype = of.of
    assert isinstance(dtype, str)
    op = node("operator", "lambda a, b: a - b + b + b",
              lambda: lambda a, b: [x - y + y + y for x, y in zip(a, b, strict=True)])  # fmt: skip
    return node(Row(of), "fw.scan({0}, {1}, {2})", partial(plain.scan, False, False), op,
                width(w, m, dtype, fuel), m)  # fmt: skip


@chosen(GRIDS, 1)
def turned_matrix(w: Writer, of: Row, fuel: int) -> Made | None:
    m = w.one_known(lambda t: is_matrix(t) and t == Row(of))
    if m is None or not is_row(of):
        return None
    return node(Row(of), "{0}[::-1]", lambda xs: xs[::-1], m)


@chosen(GRIDS, 1)
def matrix_by_index(w: Writer, of: Row, fuel: int) -> Made | None:
    """Rows at computed indices, of a matrix that has any."""
    m = w.one_known(lambda t: is_matrix(t) and t == Row(of))
    if m is None:
        return None
    idx = w.row("int64", fuel - 1)
    safe = node(Row("int64"), "({0}[:{1}.shape[0]] % {1}.shape[0])",
                lambda idx, xs: [i % np.int64(len(xs)) for i in idx[: len(xs)]],
                idx, m)  # fmt: skip
    return node(Row(of), "{0}[{1}]", plain.gather, m, safe)


