"""sort and argsort of a Ragged: its rows by a key, or the elements of each row.

    sort(rows, axis=1)              [sorted(row) for row in rows]
    sort(rows, key=fw.sum)          sorted(rows, key=fw.sum)
    sort(rows, axis=0)              the elements at each place of all rows
    sort(nested, axis=1)            those at each place of the rows in a row
    argsort(rows, axis=1)           where in its row each element of the sorted one was
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.lines import Key
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.over_rows import sorted_columns
from flatweave.frontend.ragged.ragged import Ragged, rank_of
from flatweave.frontend.ragged.selection import gathered
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.tree import is_irregular, map_leaves


def ordered_rows(who: str, rows: Ragged, key: Key, descending: bool, axis: Any) -> Any:
    """`sort` or `argsort` of a Ragged along an axis; without one, of whole rows by a key."""
    if axis is None:
        return _by_key(who, rows, key, descending)
    number = axis_below(rank_of(rows), axis, who, "a Ragged")
    if number > 1:
        values = METHODS[who](rows.values, key, descending, axis=number - 1)
        return Ragged.made(values, rows.offsets)
    if number == 0 or isinstance(rows.values, Ragged):
        return sorted_columns(who, rows, number, key, descending)
    along = 0 if key is None and rank_of(rows) > 2 else None  # rows have no order of their own
    found = map_rows(lambda row: METHODS[who](row, key, descending, axis=along), [rows])
    values = map_leaves(lambda each: each.values, found, is_irregular)
    return Ragged.made(values, rows.offsets)


def _by_key(who: str, rows: Ragged, key: Key, descending: bool) -> Any:
    """The rows in the order of what a function gives for each."""
    if key is None:
        raise ArgumentError(
            f"{who} of a Ragged needs an axis or a key: rows themselves have no order.",
            where=user_location(),
            remedy=f"fw.{who}(rows, axis=1) orders the elements of each row,"
            f" fw.{who}(rows, key=f) the rows by f(row).",
        )  # fmt: skip
    keys = map_rows(key, [rows])
    if is_irregular(keys):
        raise ArgumentError(
            f"the key of {who} gives rows of different lengths, which have no order.",
            where=user_location(), remedy="Give a number, or a tuple of numbers: key=fw.sum.",
        )  # fmt: skip
    order = METHODS["argsort"](keys, None, descending)
    return order if who == "argsort" else gathered(rows, as_tracer(order))
