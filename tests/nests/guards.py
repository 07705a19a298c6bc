"""What would be an error in some elements, in a branch that only the others take.

    fw.cond((k >= 0) & (k < row.shape[0]), lambda: row[k], lambda: 1)
    fw.cond(n >= 0, lambda: fw.iota(n), lambda: row)
"""

from __future__ import annotations

import operator

from tests.nests import plain
from tests.nests.rows import is_row
from tests.nests.tree import Made
from tests.nests.types import Row
from tests.nests.writer import ROWS, SCALARS, Writer, bound, cast, chosen, length, literal, node


def between(k: Made, n: Made) -> Made:
    """Whether a number is an index below another one."""
    return node("bool", "(({0} >= 0) & ({0} < {1}))", lambda k, n: 0 <= k < n, k, n)


@chosen(SCALARS, 3)
def guarded_read(w: Writer, dtype: str, fuel: int) -> Made | None:
    """An element at any number, where the row has one there."""
    row = w.one_known(is_row)
    if row is None or dtype == "bool":
        return None
    f, g = w.shares(fuel, 2)

    def read(k: Made) -> Made:
        element = node(row.type.of, "{0}[{1}]", lambda xs, k: xs[k], row, k)
        there = w.function([], lambda _: cast(element, dtype), deeper=False)
        other = w.function([], lambda _: w.make(dtype, g), deeper=False)
        return node(dtype, "fw.cond({0}, {1}, {2})", plain.cond, between(k, length(row)), there,
                    other)  # fmt: skip

    return bound(w, w.make("int64", f), read)


@chosen(ROWS, 2)
def guarded_length(w: Writer, dtype: str, fuel: int) -> Made | None:
    """As many elements as any number says, where it is neither negative nor great."""
    f, g, h = w.shares(fuel, 3)

    def filled(n: Made) -> Made:
        def full(_: object) -> Made:
            return node(Row(dtype), "fw.full({0}, {1})", plain.full, n, w.make(dtype, g))

        some = w.function([], full, deeper=False)
        other = w.function([], lambda _: w.row(dtype, h), deeper=False)
        return node(Row(dtype), "fw.cond({0}, {1}, {2})", plain.cond,
                    between(n, literal("int64", 6)), some, other)  # fmt: skip

    return bound(w, w.make("int64", f), filled)


@chosen(SCALARS, 2)
def guarded_extreme(w: Writer, dtype: str, fuel: int) -> Made | None:
    """The greatest element of what a filter leaves, where it leaves any."""
    if w.is_deep or dtype == "bool":
        return None
    f, g, h = w.shares(fuel, 3)
    p = w.pure([dtype], "bool", g)
    kept = node(Row(dtype), "fw.filter({0}, {1})", plain.filter_, p, w.row(dtype, f))

    def greatest(row: Made) -> Made:
        some = node("bool", "({0} > {1})", operator.gt, length(row), literal("int64", 0))
        there = w.function([], lambda _: node(dtype, "fw.max({0})", max, row), deeper=False)
        other = w.function([], lambda _: w.make(dtype, h), deeper=False)
        return node(dtype, "fw.cond({0}, {1}, {2})", plain.cond, some, there, other)

    return bound(w, kept, greatest)
