"""map over the rows of a Ragged, or over elements beside them: the function of one row, nested.

    map sum rows                generate [rows] (i => reduce add 0 (row i))
    map (r => r / sum r) rows   nest rows (i => .., rows as long as those of rows)

The function is traced once, on a row of unknown length. How the work of all rows is done at once is
decided by the compiler (`passes/nests`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import ShapeError
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.elements.lambdas import check_arity
from flatweave.frontend.ragged.nest import Result, element, nested, result_of
from flatweave.frontend.ragged.ragged import Ragged, joined, row_count, row_of
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, sub
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, tracer_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.asarray import is_number_list
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, unflatten
from flatweave.ops import Span
from flatweave.terms.syntax import Atom, Var


def is_irregular(xs: Any) -> bool:
    """Whether there is a Ragged among arguments."""
    return flatten(xs, is_number_list)[1].irregular


@record(eq=True)
class Source:
    """An array that the function gets elements of; of a Ragged's values, rows by its offsets.

    A row of the offsets of inner rows has one entry more, and begins with 0.
    """

    array: Tracer
    offsets: Tracer | None
    is_offsets: bool = False


class Rows:
    """Several arguments of which one is a Ragged or holds one, row by row.

    `lengths` has the offsets of the rows that were asked for, by their length.
    """

    def __init__(self, xs: Sequence[Any]) -> None:
        self.parts: list[Source] = []
        self.trees = [_parts_of(x, self.parts) for x in xs]
        self.count = _row_count(self.parts)
        self.lengths: dict[Atom, Tracer] = {}

    def at(self, i: Atom) -> list[Any]:
        """The row, or element, of each argument."""
        elements = iter([_element(part, i, self.lengths) for part in self.parts])
        return [
            unflatten(tree, [next(elements) for _ in range(tree.size)]) for tree in self.trees
        ]


def map_rows(f: Callable[..., Any], xs: Sequence[Any]) -> Any:
    """`f` on every row, or element, of several arguments of which one is a Ragged or holds one."""
    return _nested(f, Rows(xs))


def _parts_of(x: Any, parts: list[Source]) -> Tree:
    """The arrays of an argument, and the tree of its elements, where a Ragged is its row."""
    found, tree = flatten(x, lambda value: isinstance(value, Ragged) or is_number_list(value))
    elements: list[Any] = []
    for leaf in found:
        if not isinstance(leaf, Ragged):
            parts.append(Source(as_tracer(leaf, "xs of map"), None))
            elements.append(0)
            continue
        elements.append(_row_in(leaf, parts))
    return flatten(unflatten(tree, elements))[1]


def _row_in(rows: Ragged, parts: list[Source]) -> Any:
    """The arrays of a Ragged, and what a row of it is made of; of rows of rows a Ragged, too."""
    offsets = as_tracer(rows.offsets)
    if isinstance(rows.values, Ragged):
        values = _row_in(joined(rows), parts)
        parts.append(Source(as_tracer(rows.values.offsets), offsets, is_offsets=True))
        return Ragged.made(values, 0)
    arrays, tree = as_tracers(rows.values, "the values of a Ragged that map goes through")
    parts += [Source(array, offsets) for array in arrays]
    return unflatten(tree, [0] * tree.size)


def _row_count(parts: Sequence[Source]) -> Atom:
    """The number of rows, which all arguments share."""
    count: Atom | None = None
    for part in parts:
        if part.offsets is None and not part.array.ndim:
            raise ShapeError(
                f"map goes through arrays, but xs is a scalar, {describe(part.array)}.",
                where=user_location(),
                remedy="Use the scalar inside the function: it may be read from outside.",
            )
        own_ = row_count(part.offsets) if part.offsets is not None else part.array.extents[0]
        count = own_ if count is None else extents.same(
            count, own_, "map needs as many rows as elements, got {0} and {1}.", [],
            "Give every argument one row or element for each.",
        )  # fmt: skip
    assert count is not None
    return count


def _nested(f: Callable[..., Any], rows: Rows) -> Any:
    """The function on the i-th row of every argument, for all rows."""
    found: list[tuple[Result, Scope]] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        i = params[0]
        inside.natural.add(i)
        inside.trace.bounds[i] = rows.count
        args = rows.at(i)
        check_arity(f, len(args), "map")
        found.append((result_of(f(*args), f, inside), inside))
        return [leaf.atom for leaf in found[0][0].leaves]

    fn = current().function([i64], body, "i")
    result, inside = found[0]
    return nested(rows.count, fn, result, inside, rows.lengths)


def _element(part: Source, i: Atom, lengths: dict[Atom, Tracer]) -> Tracer:
    """The row, or element, of a part; a row's length is entered in `lengths`."""
    if part.offsets is None:
        return element(part.array, i)
    start, own = current().emit(Span(part.offsets.atom, i), "row")
    extents.known_natural(start)
    extents.known_extent(own)
    known = [each for each, offsets in lengths.items() if offsets.atom == part.offsets.atom]
    length = known[0] if known else own
    lengths[length] = part.offsets
    if part.is_offsets:
        first = read(part.array, (start,)).atom

        def own_start(j: Atom) -> Tracer:
            return tracer_of(sub(read(part.array, (add(start, j),)).atom, first))

        return generated((add(length, ONE),), own_start)[0]
    return row_of(part.array, start, length)
