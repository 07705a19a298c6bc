"""Reductions and scans of a Ragged along its axes: 0 counts rows, 1 the elements of a row.

    sum(rows, axis=None)     sum(rows.values)
    sum(rows, axis=1)        map (r => sum(r)) rows
    sum(rows, axis=2)        Ragged(sum(rows.values, axis=1), rows.offsets)
    sum(rows, axis=0)        sum(columns, axis=1), the values sorted by their place in their row
    sum(nested, axis=1)      the same within each row, over the rows in it
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.ragged.cutting import MOST, first_place, offsets_from
from flatweave.frontend.ragged.locate import locate
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.ragged import (
    Ragged,
    innermost,
    joined,
    rank_of,
    row_count,
    value_count,
)
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, sub
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.trace.sizes import check
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.sugar import METHODS
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.terms.syntax import Atom

# what has no result for an empty row
NEEDY = frozenset({"min", "max", "argmin", "argmax"})
# what combines the rows' elements at each place; the others would need the number of the row
OVER_ROWS = frozenset({"sum", "prod", "min", "max", "any", "all", "mean"})


def along_rows(who: str, rows: Ragged, axis: Any, options: dict[str, Any]) -> Any:
    """The public function `who` of a Ragged, along `axis`; of all values for None."""
    fn, rank = METHODS[who], rank_of(rows)
    axes = _axes_of(rank, axis, who)
    if axis is None or len(axes) == rank:
        result = fn(innermost(rows), **options)
        for _ in range(rank - as_tracer(result).ndim if options.get("keepdims") else 0):
            result = METHODS["expand_dims"](result, 0)
        return result
    if 0 in axes:
        if axes != [0] or isinstance(rows.values, Ragged) or who not in OVER_ROWS:
            raise Unsupported(
                f"{who} of a Ragged along axis {axis}, over all rows at each place.",
                where=user_location(),
                remedy=f"fw.{who}(rows, axis=1) is that of each row; without axis, all values"
                " count.",
            )
        given = {name: value for name, value in options.items() if name != "keepdims"}
        result = along_rows(who, _columns(rows), 1, given)
        return METHODS["expand_dims"](result, 0) if options.get("keepdims") else result
    inner = tuple(number - 1 for number in axes)
    inner_axis: Any = inner if isinstance(axis, tuple | list) else inner[0]
    if 0 not in inner:
        return Ragged.made(fn(rows.values, axis=inner_axis, **options), rows.offsets)
    if not isinstance(rows.values, Ragged):
        return _of_each_row(who, rows, {"axis": inner_axis, **options})
    if 1 not in inner:
        if inner != (0,) or isinstance(rows.values.values, Ragged) or who not in OVER_ROWS:
            raise Unsupported(
                f"{who} along axis {axis} of a Ragged whose rows hold rows.",
                where=user_location(),
                remedy="Along the last axis it works, and along axes (1, 2) at once.",
            )
        return _over_inner_rows(who, rows, options)
    result = along_rows(who, joined(rows), inner[1:], options)
    return METHODS["expand_dims"](result, 1) if options.get("keepdims") else result


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


def _columns(rows: Ragged) -> Ragged:
    """The values by their place in their row: row j has element j of every row that long."""
    offsets = as_tracer(rows.offsets)

    def place(p: Atom) -> Tracer:
        _, start = locate(offsets, 1, p)
        found = sub(p, start)
        extents.known_natural(found)
        return tracer_of(found)

    places = generated((value_count(rows),), place, "p")[0]
    return _grouped(rows.values, places, METHODS["max"](rows.lengths, initial=0))


def _grouped(values: Any, groups: Tracer, count: Any) -> Ragged:
    """The values by the number of their group, in order: row j has those of group j."""
    order = METHODS["argsort"](groups)
    leaves, tree = flatten(values)
    sorted_ = [METHODS["gather"](leaf, order) for leaf in leaves]
    lengths = as_tracer(METHODS["histogram"](count, groups))
    return Ragged.made(unflatten(tree, sorted_), offsets_from(lengths, may_overflow=False))


def _over_inner_rows(who: str, rows: Ragged, options: dict[str, Any]) -> Ragged:
    """Over the inner rows of each row, at each place: as many results as the longest has places."""
    inner = rows.values
    outer, offsets = as_tracer(rows.offsets), as_tracer(inner.offsets)
    lengths = Ragged.made(METHODS["row_lengths"](inner), outer)
    widths = METHODS["max"](lengths, axis=1, initial=0)
    ends = offsets_from(as_tracer(widths), may_overflow=False)
    owners = generated(
        (row_count(offsets),), lambda r: read(ends, (locate(outer, 1, r)[0],)), "p"
    )[0]  # where the results of the row begin that an inner row is in

    def slot(p: Atom) -> Tracer:
        r, start = locate(offsets, 1, p)
        found = add(read(owners, (r,)).atom, sub(p, start))
        extents.known_natural(found)
        return tracer_of(found)

    count = row_count(outer)
    slots = generated((value_count(inner),), slot, "p")[0]
    groups = _grouped(inner.values, slots, tracer_of(read(ends, (count,)).atom))
    given = {name: value for name, value in options.items() if name != "keepdims"}
    found = Ragged.made(along_rows(who, groups, 1, given), ends)
    if not options.get("keepdims"):
        return found
    each = generated((add(count, ONE),), tracer_of)[0]
    return Ragged.made(found, each)


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
