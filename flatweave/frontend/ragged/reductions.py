"""Reductions and scans of a Ragged along its axes: 0 counts rows, 1 the elements of a row.

    sum(rows, axis=None)    sum(rows.values)
    sum(rows, axis=1)       map (r => sum(r)) rows
    sum(rows, axis=2)       Ragged(sum(rows.values, axis=1), rows.offsets)
    sum(rows, axis=0)       sum(columns, axis=1), the values sorted by their index in their row
    cumsum(rows, axis=0)    cumsum(columns, axis=1), each sum moved to where its value was
    argmin(rows, axis=0)    the index of the row with the least value of column j
    sum(nested, axis=1)     the same within each row, over the rows in it: axis 0 of each
    sum(nested, axis=0)     over all rows, at each index in the rows in them
    sum(nested, axis=(0, 2))    over all rows and what the rows in them hold

A column holds the values at one index, of the rows that are long enough to have one, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import f64, i64
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.arrays.sorting import Key, in_lines
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.ragged.cutting import MOST, first_place, offsets_from
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.ragged import (
    Ragged,
    depth_of,
    joined,
    locate,
    rank_of,
    row_count,
    value_count,
)
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, mul, sub
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.arguments import dtype_of, wide_dtype
from flatweave.frontend.values.array import METHODS, Array, Tracer
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import LEAF, flat_values, flatten, unflatten
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

PLACED = frozenset({"argmin", "argmax"})
"""What gives positions, which are those of rows where they are found across rows."""


@record
class Columns:
    """The values by column: `order` has the old index of each value, `of` its column, `numbers`
    its row. Results are cut by each of `ends`, the outermost first; None marks an axis that is
    reduced. `places` are the columns of the values in their old order; there are `count`
    columns."""

    rows: Ragged
    places: Tracer
    count: Any
    order: Tracer
    of: Tracer
    numbers: Tracer
    offsets: Tracer
    ends: Sequence[Tracer | None]

    def whole(self) -> Ragged:
        """The columns as rows."""
        leaves, tree = flatten(self.rows.values)
        moved = [METHODS["gather"](leaf, self.order) for leaf in leaves]
        return Ragged.made(unflatten(tree, moved), self.offsets)

    def back(self, values: object) -> object:
        """Values, one for each of a column, where those of the columns were."""
        leaves, tree = flatten(values)
        found = []
        for leaf in map(as_tracer, leaves):
            place = METHODS["empty"](leaf.shape, leaf.dtype)
            found.append(METHODS["scatter"](place, self.order, leaf))
        return unflatten(tree, found)

    def cut(self, found: Array | Ragged, keepdims: Any) -> Array | Ragged:
        """Results, one for each column; with `keepdims` axes gone along have one element."""
        for ends in reversed(self.ends):
            if ends is not None:
                found = Ragged.made(found, ends)
            elif keepdims:
                found = _one_each(found)
        return found

    def number(self, place: Any) -> Tracer:
        """The row indices of values, by their positions in the columns."""
        return as_tracer(METHODS["gather"](self.numbers, METHODS["gather"](self.order, place)))


def with_axis(found: Array | Ragged, axis: int) -> Array | Ragged:
    """A result with an axis of extent 1 where one, 0 or 1, was gone along."""
    if not isinstance(found, Ragged):
        return METHODS["expand_dims"](found, axis)
    if axis:
        return _one_each(found)
    count = row_count(as_tracer(found.offsets))
    ends = generated((index(2),), lambda i: tracer_of(mul(i, count)))[0]
    return Ragged.made(found, ends)


def _one_each(found: Any) -> Ragged:
    """Rows of one element, or inner row, each."""
    offsets = as_tracer(found.offsets) if isinstance(found, Ragged) else None
    count = as_tracer(found).extents[0] if offsets is None else row_count(offsets)
    return Ragged.made(found, generated((add(count, ONE),), tracer_of)[0])


def columns(rows: Ragged, axes: Sequence[int]) -> Columns:
    """The columns of rows along axes, of which the first is 0 or 1, and the next not 1.

    Level by level: which column an inner row is of, and from these that of what it holds.
    """
    over_all, outer = 0 in axes, as_tracer(rows.offsets)

    def of_first(p: Atom) -> list[Tracer]:
        i, start = locate(outer, 1, p)
        place = extents.known_natural(sub(p, start))
        return [tracer_of(atom) for atom in ((place, i) if over_all else (i, place))]

    of, numbers = generated((value_count(rows),), of_first, "p")
    count: Any = METHODS["max"](rows.lengths, initial=0)
    if not over_all:
        count = tracer_of(row_count(outer))
    ends: list[Tracer | None] = []
    level, axis = rows, 2
    while isinstance(level.values, Ragged):
        level = level.values
        cut = None
        if axis not in axes:
            widths = _widths(rows if axis == 2 and not over_all else None, level, count, of)
            cut = offsets_from(widths, may_overflow=False)
            count = tracer_of(read(cut, (widths.extents[0],)).atom)
        of, numbers = _of_inner(level, of, numbers, cut)
        ends.append(cut)
        axis += 1
    order = as_tracer(METHODS["argsort"](of))
    lengths = as_tracer(METHODS["histogram"](count, of))
    own = as_tracer(METHODS["gather"](of, order))
    offsets = offsets_from(lengths, may_overflow=False)
    return Columns(level, of, count, order, own, numbers, offsets, ends)


def _widths(outer: Ragged | None, rows: Ragged, count: Any, of: Tracer) -> Tracer:
    """How long the longest row of each column is; of those of `outer`, each of its rows is one."""
    if outer is not None:
        lengths = Ragged.made(rows.lengths, outer.offsets)
        return as_tracer(METHODS["max"](lengths, axis=1, initial=0))
    return as_tracer(METHODS["histogram"](count, of, rows.lengths, METHODS["maximum"], 0))


def _of_inner(
    rows: Ragged, of: Tracer, numbers: Tracer, ends: Tracer | None
) -> tuple[Tracer, Tracer]:
    """The columns of the elements of rows, and the indices of the rows; columns count from the
    start of a row's slice, if it is sliced."""
    offsets = as_tracer(rows.offsets)
    starts = of
    if ends is not None:
        known = ends
        starts = generated(of.extents, lambda r: read(known, (read(of, (r,)).atom,)), "r")[0]

    def inner(p: Atom) -> list[Tracer]:
        r, start = locate(offsets, 1, p)
        found = read(starts, (r,)).atom
        if ends is not None:
            found = add(found, sub(p, start))
        extents.known_natural(found)
        return [tracer_of(found), read(numbers, (r,))]

    found, own = generated((value_count(rows),), inner, "p")
    return found, own


def over_rows(
    fn: Callable[..., Any], rows: Ragged, axes: Sequence[int], options: dict[str, Any]
) -> Array | Ragged:
    """A function across the rows, position by position: of each column, or of its elements."""
    found, who = columns(rows, axes), fn.__name__
    is_ours = METHODS.get(who) is fn
    given = {name: value for name, value in options.items() if name != "keepdims"}
    inside = tuple(axis - depth_of(rows) + 1 for axis in axes if axis > depth_of(rows))
    results: Any = by_histogram(who, found, given) if is_ours else None
    if results is None:
        results = fn(found.whole(), axis=(1, *inside) if inside else 1, **given)
    is_placed = is_ours and who in PLACED
    if len(axes) > 1 and (is_placed or isinstance(results, Ragged)):
        raise ArgumentError.here(
            f"{who} goes along one axis, got {tuple(axes)}.",
            "Give one axis, or None for all values.",
        )
    if isinstance(results, Ragged):
        return cut_as(rows, found.back(results.values))
    if is_placed:
        results = found.number(_from_all(found.offsets, as_tracer(results)))
    keepdims = options.get("keepdims")
    if keepdims:
        for axis in inside:
            results = METHODS["expand_dims"](results, axis - 1)
    cut = found.cut(results, keepdims)
    if not keepdims:
        return cut
    return with_axis(cut, axes[0])


def by_histogram(who: str, found: Columns, options: dict[str, Any]) -> Array | None:
    """The result by a histogram over the columns, without a sort; None if there is no such one."""
    leaves, tree = flatten(found.rows.values)
    if tree != LEAF or "initial" in options:
        return None
    values = as_tracer(leaves[0])
    if values.ndim > 1:
        return None
    wanted = wide_dtype(values.element)
    if who == "mean" and not wanted.is_float:
        wanted = f64
    if options.get("dtype") is not None:
        wanted = dtype_of(options["dtype"])

    def at_places(what: Any, op: str, neutral: Any) -> Array:
        return METHODS["histogram"](found.count, found.places, what, METHODS[op], neutral)

    if who in ("any", "all"):
        held = METHODS["not_equal"](values, 0)
        return at_places(held, *(("logical_or", False) if who == "any" else ("logical_and", True)))
    if who == "count_nonzero":
        return at_places(METHODS["astype"](METHODS["not_equal"](values, 0), i64), "add", 0)
    values = as_tracer(METHODS["astype"](values, wanted))
    if who in ("sum", "prod"):
        return at_places(values, *(("add", 0) if who == "sum" else ("mul", 1)))
    if who != "mean":
        return None
    ones = generated(values.extents, lambda p: tracer_of(ONE))[0]
    counts = METHODS["astype"](at_places(ones, "add", 0), wanted)
    return METHODS["truediv"](at_places(values, "add", 0), counts)


def _from_all(offsets: Tracer, places: Tracer, of: Tracer | None = None) -> Tracer:
    """Positions within columns, counted from the start of the first column."""

    def place(c: Atom, *at: Atom) -> Tracer:
        column = c if of is None else read(of, (c,)).atom
        found = add(read(offsets, (column,)).atom, read(places, (c, *at)).atom)
        extents.known_natural(found)
        return tracer_of(found)

    return generated(places.extents, place, "c")[0]


def sorted_columns(who: str, rows: Ragged, axis: int, key: Key, descending: bool) -> Ragged:
    """`sort` or `argsort` across the rows, position by position: sorted values are where rows have
    any, and their indices are row indices."""
    found = columns(rows, [axis])
    whole = found.whole()
    made: Any
    if rank_of(whole) == 2:
        made = in_lines(who, whole.values, found.of, key, descending)
    else:
        ordered: Any = METHODS[who](whole, key, descending, axis=1)
        made = ordered.values
    if who == "argsort":
        made = as_tracer(made)
        made = found.number(made if made.ndim == 1 else _from_all(found.offsets, made, found.of))
    return cut_as(rows, found.back(made))


def cut_as(rows: Ragged, made: Any) -> Ragged:
    """Values cut as those of rows are."""
    inner = cut_as(rows.values, made) if isinstance(rows.values, Ragged) else made
    return Ragged.made(inner, rows.offsets)


# what has no result for an empty row
NEEDY = frozenset({"min", "max", "argmin", "argmax"})


def along_rows(
    fn: Callable[..., Any], rows: Ragged, axis: Any, options: dict[str, Any]
) -> Array | Ragged:
    """A function of a Ragged, along `axis`; of all values for None."""
    who = fn.__name__
    if (where := options.pop("where", None)) is not None:
        if who == "mean":
            return _mean_of_chosen(rows, axis, options, where)
        chosen: Any = METHODS["masked"](who, rows, where, options.get("initial"))
        rows = chosen
    rank = rank_of(rows)
    result: Array | Ragged
    axes = _axes_of(rank, axis, who)
    if axis is None or len(axes) == rank:
        result = fn(flat_values(rows), **options)
        for _ in range(rank - as_tracer(result).ndim if options.get("keepdims") else 0):
            result = METHODS["expand_dims"](result, 0)
        return result
    if 0 in axes:
        if axes[1:2] != [1]:
            return over_rows(fn, rows, axes, options)
        result = fn(rows.values, axis=tuple(number - 1 for number in axes[1:]), **options)
        return with_axis(result, 0) if options.get("keepdims") else result
    inner = tuple(number - 1 for number in axes)
    inner_axis: Any = inner if isinstance(axis, tuple | list) else inner[0]
    if 0 not in inner:
        return Ragged.made(fn(rows.values, axis=inner_axis, **options), rows.offsets)
    if not isinstance(rows.values, Ragged):
        return _of_each_row(fn, rows, {"axis": inner_axis, **options})
    if 1 not in inner:
        return over_rows(fn, rows, axes, options)
    result = along_rows(fn, joined(rows), inner[1:], options)
    return with_axis(result, 1) if options.get("keepdims") else result


def _mean_of_chosen(rows: Ragged, axis: Any, options: dict[str, Any], where: Any) -> Array | Ragged:
    """The mean of the values of a Ragged where a mask holds."""
    flat = as_tracer(flat_values(rows))
    options = {"dtype": flat.element if flat.element.is_float else f64, **options}
    chosen: Any = METHODS["masked"]("mean", rows, where)
    ones = cut_as(rows, generated(flat.extents, lambda *at: tracer_of(ONE))[0])
    held: Any = METHODS["where"](where, ones, 0)
    sums = [along_rows(METHODS["sum"], each, axis, options) for each in (chosen, held)]
    return METHODS["truediv"](*sums)


def _of_each_row(
    fn: Callable[..., Any], rows: Ragged, options: dict[str, Any]
) -> Array | Ragged:
    """A function of every row; where it needs elements, rows are looked at first."""
    who = fn.__name__
    if who not in NEEDY or "initial" in options:
        each: Array | Ragged = map_rows(lambda row: fn(row, **options), [rows])
        return each
    _need_elements(who, as_tracer(rows.offsets))

    def one(row: Any) -> Array:
        if isinstance(row, Tracer):
            current().checked.add(current().apply("gt", row.extents[0], ZERO))
        result: Array = fn(row, **options)
        return result

    found: Array | Ragged = map_rows(one, [rows])
    return found


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
        raise ArgumentError.here(
            f"{who} got an axis twice: {tuple(parts)}.", "Name each axis once."
        )
    return found


METHODS["along_rows"], METHODS["cut_as"] = along_rows, cut_as
