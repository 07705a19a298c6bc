"""What rows of different lengths have at each place, over all rows or over those in each row.

    sum(rows, axis=0)       sum(columns, axis=1), the values sorted by their place in their row
    cumsum(rows, axis=0)    cumsum(columns, axis=1), each sum moved to where its value was
    argmin(rows, axis=0)    the number of the row that column j has its least value from
    sum(nested, axis=1)     the same within each row, over the rows in it: axis 0 of each
    sum(nested, axis=0)     over all rows, at each place in the rows in them

A column holds the values at one place, of the rows that are long enough to have one, in order.
"""

from __future__ import annotations

from typing import Any

from flatweave.base.records import record
from flatweave.frontend.arrays.lines import Key, in_lines
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.ragged.cutting import offsets_from
from flatweave.frontend.ragged.locate import locate
from flatweave.frontend.ragged.ragged import Ragged, row_count, value_count
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, sub
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.sugar import METHODS
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.terms.syntax import Atom

# what combines the elements of a column, so that its result stands for all of them
FOLDS = frozenset({"sum", "prod", "min", "max", "any", "all", "mean"})
PLACED = frozenset({"argmin", "argmax"})


@record
class Columns:
    """The values by their places: `order` says where the values of the columns were, `of` to which
    column each belongs, `numbers` in which row each value is; results are cut by `ends`."""

    rows: Ragged
    order: Tracer
    of: Tracer
    numbers: Tracer
    offsets: Tracer
    ends: Tracer | None

    def whole(self) -> Ragged:
        """The columns as rows."""
        leaves, tree = flatten(self.rows.values)
        moved = [METHODS["gather"](leaf, self.order) for leaf in leaves]
        return Ragged.made(unflatten(tree, moved), self.offsets)

    def back(self, values: Any) -> Ragged:
        """Values, one for each of a column, where those of the columns were."""
        leaves, tree = flatten(values)
        found = []
        for leaf in map(as_tracer, leaves):
            place = METHODS["empty"](leaf.shape, leaf.dtype)
            found.append(METHODS["scatter"](place, self.order, leaf))
        return Ragged.made(unflatten(tree, found), self.rows.offsets)

    def cut(self, found: Any) -> Any:
        """Results, one for each column."""
        return found if self.ends is None else Ragged.made(found, self.ends)

    def number(self, place: Any) -> Tracer:
        """The numbers of the rows that the values at some places of the columns are from."""
        found: Tracer = METHODS["gather"](self.numbers, METHODS["gather"](self.order, place))
        return found


def columns(rows: Ragged, axis: int) -> Columns:
    """The columns of rows along axis 0, which may hold rows, or along axis 1 of those that do."""
    if not isinstance(rows.values, Ragged):
        return _columns(rows, None, None, METHODS["max"](rows.lengths, initial=0))
    outer, offsets = as_tracer(rows.offsets), as_tracer(rows.values.offsets)
    lengths = Ragged.made(METHODS["row_lengths"](rows.values), outer)
    widths = METHODS["max"](lengths, axis=axis, **({"initial": 0} if axis else {}))
    ends = offsets_from(as_tracer(widths), may_overflow=False)

    def of_row(r: Atom) -> list[Tracer]:
        """Where the results begin of the row that an inner row is in, or of its place there."""
        i, start = locate(outer, 1, r)
        place = sub(r, start)
        extents.known_natural(place)
        first, number = (i, place) if axis else (place, i)
        return [read(ends, (first,)), tracer_of(number)]

    bases, numbers = generated((row_count(offsets),), of_row, "r")
    count = tracer_of(read(ends, (sub(ends.extents[0], ONE),)).atom)
    return _columns(rows.values, bases, numbers, count, ends)


def _columns(
    rows: Ragged, bases: Tracer | None, numbers: Tracer | None, count: Any,
    ends: Tracer | None = None,
) -> Columns:  # fmt: skip
    """So many columns of rows that have numbers, and bases, which their places are counted from."""
    offsets = as_tracer(rows.offsets)

    def place(p: Atom) -> list[Tracer]:
        r, start = locate(offsets, 1, p)
        found = sub(p, start)
        if bases is not None:
            found = add(read(bases, (r,)).atom, found)
        extents.known_natural(found)
        number = tracer_of(r) if numbers is None else read(numbers, (r,))
        return [tracer_of(found), number]

    places, own = generated((value_count(rows),), place, "p")
    order = as_tracer(METHODS["argsort"](places))
    lengths = as_tracer(METHODS["histogram"](count, places))
    of = as_tracer(METHODS["gather"](places, order))
    return Columns(rows, order, of, own, offsets_from(lengths, may_overflow=False), ends)


def over_rows(who: str, rows: Ragged, axis: int, options: dict[str, Any]) -> Any:
    """The public function `who` of what rows have at each place."""
    found = columns(rows, axis)
    if who not in FOLDS | PLACED:
        made = found.back(METHODS[who](found.whole(), axis=1, **options).values)
        return _in_rows(rows, made)
    given = {name: value for name, value in options.items() if name != "keepdims"}
    results = METHODS[who](found.whole(), axis=1, **given)
    if who in PLACED:
        results = found.number(_from_all(found.offsets, as_tracer(results)))
    cut = found.cut(results)
    if not options.get("keepdims"):
        return cut
    if not axis:
        return METHODS["expand_dims"](cut, 0)
    each = generated((as_tracer(rows.offsets).extents[0],), tracer_of)[0]
    return Ragged.made(cut, each)


def _from_all(offsets: Tracer, places: Tracer) -> Tracer:
    """A place in each column, counted from the first of all values."""

    def place(c: Atom, *at: Atom) -> Tracer:
        found = add(read(offsets, (c,)).atom, read(places, (c, *at)).atom)
        extents.known_natural(found)
        return tracer_of(found)

    return generated(places.extents, place, "c")[0]


def sorted_columns(who: str, rows: Ragged, axis: int, key: Key, descending: bool) -> Any:
    """`sort` or `argsort` of what rows have at each place: sorted values lie where rows have any,
    and the places of them are the numbers of rows."""
    found = columns(rows, axis)
    made = in_lines(who, found.whole().values, found.of, key, descending)
    if who == "argsort":
        made = found.number(as_tracer(made))
    return _in_rows(rows, found.back(made))


def _in_rows(rows: Ragged, made: Ragged) -> Ragged:
    return Ragged.made(made, rows.offsets) if isinstance(rows.values, Ragged) else made
