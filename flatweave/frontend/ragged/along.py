"""Reductions and scans of a Ragged along its axes: 0 counts rows, 1 the elements of a row.

    sum(rows, axis=None)     sum(rows.values)
    sum(rows, axis=1)        map (r => sum(r)) rows
    sum(rows, axis=2)        Ragged(sum(rows.values, axis=1), rows.offsets)
    sum(rows, axis=0)        over all rows, at each place: `over_rows.py`
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.elements.broadcast import read
from flatweave.frontend.ragged.cutting import MOST, first_place
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.over_rows import FOLDS, over_rows, with_axis
from flatweave.frontend.ragged.ragged import Ragged, innermost, joined, rank_of, row_count
from flatweave.frontend.trace.extents import ONE, ZERO, add
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.scope import current
from flatweave.terms.syntax import Atom

# what has no result for an empty row
NEEDY = frozenset({"min", "max", "argmin", "argmax"})


def along_rows(who: str, rows: Ragged, axis: Any, options: dict[str, Any]) -> Any:
    """The public function `who` of a Ragged, along `axis`; of all values for None."""
    fn, rank = METHODS[who], rank_of(rows)
    axes = _axes_of(rank, axis, who)
    if axis is None or len(axes) == rank:
        result = fn(innermost(rows), **options)
        for _ in range(rank - as_tracer(result).ndim if options.get("keepdims") else 0):
            result = METHODS["expand_dims"](result, 0)
        return result
    if len(axes) > 1 and who not in FOLDS:
        raise ArgumentError(
            f"{who} goes along one axis, got {axis}.",
            where=user_location(), remedy="Give one axis, or None for all values.",
        )  # fmt: skip
    if 0 in axes:
        if axes[1:2] != [1]:
            return over_rows(who, rows, axes, options)
        result = fn(rows.values, axis=tuple(number - 1 for number in axes[1:]), **options)
        return with_axis(result, 0) if options.get("keepdims") else result
    inner = tuple(number - 1 for number in axes)
    inner_axis: Any = inner if isinstance(axis, tuple | list) else inner[0]
    if 0 not in inner:
        return Ragged.made(fn(rows.values, axis=inner_axis, **options), rows.offsets)
    if not isinstance(rows.values, Ragged):
        return _of_each_row(who, rows, {"axis": inner_axis, **options})
    if 1 not in inner:
        return over_rows(who, rows, axes, options)
    result = along_rows(who, joined(rows), inner[1:], options)
    return with_axis(result, 1) if options.get("keepdims") else result


def _of_each_row(who: str, rows: Ragged, options: dict[str, Any]) -> Any:
    """The public function of every row; where it needs elements, rows are looked at first."""
    fn = METHODS[who]
    if who not in NEEDY or "initial" in options:
        return map_rows(lambda row: fn(row, **options), [rows])
    _need_elements(who, as_tracer(rows.offsets))

    def one(row: Any) -> Any:
        if isinstance(row, Tracer):
            current().checked.add(current().apply("gt", row.extents[0], ZERO))
        return fn(row, **options)

    return map_rows(one, [rows])


def _need_elements(who: str, offsets: Tracer) -> None:
    """Stop the program when a row has no elements, and say which is the first one."""

    def is_empty(i: Atom) -> Atom:
        ends = read(offsets, (add(i, ONE),)).atom
        return current().apply("eq", read(offsets, (i,)).atom, ends)

    remedy = "Leave such rows out, rows[rows.lengths > 0]"
    text = check_message(
        f"{who} of a Ragged along its rows: row {{0}} has no elements.", [],
        f"{remedy}." if who.startswith("arg") else f"{remedy}, or give what they get: initial=.",
    )  # fmt: skip
    found = first_place(row_count(offsets), is_empty)
    check(current().apply("eq", found, MOST), "empty", (found,), text)


def _axes_of(rank: int, axis: Any, who: str) -> list[int]:
    """The axes named, in order; none for None."""
    if axis is None:
        return []
    parts = axis if isinstance(axis, tuple | list) else [axis]
    found = sorted(axis_below(rank, part, who, "a Ragged") for part in parts)
    if len(set(found)) < len(found):
        raise ArgumentError(
            f"{who} got an axis twice: {tuple(parts)}.",
            where=user_location(), remedy="Name each axis once.",
        )  # fmt: skip
    return found
