"""map over the rows of a Ragged, and over other arrays: the function of one row, nested.

    map sum rows                generate [rows] (i => reduce add 0 (row i))
    map (r => r / sum r) rows   nest rows (i => .., rows as long as those of rows)
    map (n => iota n) ns        Ragged: rows 0, .., n - 1
    map (r => filter p r) rows  Ragged of what is kept of each row

The function is traced once, on a row of unknown length. How the work of all rows is done at once is
decided by the compiler (`passes/nests`). A Ragged that the function makes gives a Ragged of Ragged:
`Result` has the lengths of its rows, and their values, as rows of the element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import ShapeError, Unsupported
from flatweave.base.records import record
from flatweave.frontend.elements.bodies import outside
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.elements.lambdas import check_arity, element_type, name_of, own
from flatweave.frontend.ragged.cutting import offsets_from
from flatweave.frontend.ragged.ragged import Ragged, joined, row_count, row_lengths, row_of
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, sub
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, tracer_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.asarray import is_number_list, no_array
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import LEAF, Tree, flatten, portions, unflatten
from flatweave.ops import Generate, Map, Nest, Reshape, Span
from flatweave.terms.syntax import Atom, Lambda, Var
from flatweave.terms.traverse import Substitution

EMPTY: Mapping[Atom, Tracer] = {}
Rebuild = Callable[[list[Any]], Any]


@record(eq=True)
class Result:
    """What an element function gives: its arrays, which of them are rows, and their structure.

    `rebuild` makes the value for all elements of what is given for each array: an array, or for
    rows a Ragged.
    """

    leaves: list[Tracer]
    rows: list[bool]
    rebuild: Rebuild

    def is_regular(self, inside: Scope) -> bool:
        """Whether every array has one shape for all elements."""
        return not any(self.rows) and not any(
            varies(extent, inside) for leaf in self.leaves for extent in leaf.extents
        )


def varies(extent: Atom, inside: Scope) -> bool:
    """Whether an extent is known only inside an element function."""
    assert inside.outer is not None
    return not outside(extent, inside.outer)


def result_of(value: Any, f: Any, inside: Scope) -> Result:
    """A user function's result, as arrays of the inner scope."""
    if value is None:
        raise no_array(None, f"the result of {name_of(f)}")
    found, tree = flatten(value, lambda v: isinstance(v, Ragged))
    leaves: list[Tracer] = []
    rows: list[bool] = []
    makers: list[Callable[[list[Any]], Any]] = []
    for part in found:
        if isinstance(part, Ragged):
            makers.append(_rows_of_rows(part, leaves, rows, inside))
            continue
        leaf = own(as_tracer(part, f"the result of {name_of(f)}"), inside)
        if any(varies(extent, inside) for extent in leaf.extents[1:]):
            makers.append(_rows_of_rows(_by_rows(leaf, inside), leaves, rows, inside))
        else:
            leaves.append(leaf)
            rows.append(False)
            makers.append(operator.itemgetter(len(leaves) - 1))
    return Result(leaves, rows, _in_tree(tree, makers))


def _by_rows(leaf: Tracer, inside: Scope) -> Ragged:
    """An array of rank 2 or more as rows of rows of one length."""
    first, second, *rest = leaf.extents
    (joined,) = emit(Reshape(leaf.atom, (extents.mul(first, second), *rest)))
    entries = extents.add(first, extents.ONE)
    offsets = generated((entries,), lambda i: tracer_of(extents.mul(i, second)))[0]
    deeper = any(varies(extent, inside) for extent in rest)
    return Ragged.made(_by_rows(joined, inside) if deeper else joined, offsets)


def _in_tree(tree: Tree, makers: Sequence[Callable[[list[Any]], Any]]) -> Rebuild:
    return lambda given: unflatten(tree, [made(given) for made in makers])


def _rows_of_rows(
    rows: Ragged, leaves: list[Tracer], are_rows: list[bool], inside: Scope
) -> Callable[[list[Any]], Ragged]:
    """A Ragged of an element: for all of them, a Ragged of Ragged."""
    at = len(leaves)
    leaves.append(own(as_tracer(row_lengths(rows)), inside))
    are_rows.append(True)
    below = _below(rows, inside)
    if isinstance(below, Ragged):
        inner = _rows_of_rows(below, leaves, are_rows, inside)
    else:
        values, tree = flatten(below)
        first = len(leaves)
        leaves += [own(as_tracer(leaf), inside) for leaf in values]
        are_rows += [True] * len(values)

        def inner(given: list[Any]) -> Ragged:
            each = [part.values for part in given[first : first + tree.size]]
            return Ragged.made(unflatten(tree, each), None)

    def made(given: list[Any]) -> Ragged:
        lengths = given[at]
        values = inner(given).values
        offsets = offsets_from(as_tracer(lengths.values), may_overflow=False)
        return Ragged.made(Ragged.made(values, offsets), lengths.offsets)

    return made


def _below(rows: Ragged, inside: Scope) -> object:
    """The values of a Ragged; arrays of which another extent than the first varies, by rows."""
    leaves, tree = flatten(rows.values, lambda v: isinstance(v, Ragged))
    uneven = [
        leaf for leaf in leaves
        if not isinstance(leaf, Ragged)
        and any(varies(extent, inside) for extent in as_tracer(leaf).extents[1:])
    ]  # fmt: skip
    if not uneven:
        return rows.values
    if tree != LEAF:
        raise Unsupported.here(
            "rows of tuples of arrays whose lengths differ from element to element.",
            "Give each array of the tuple as a separate result.",
        )
    return _by_rows(own(as_tracer(uneven[0]), inside), inside)


def mapped(f: Callable[..., Any], arrays: Sequence[Tracer], trees: Sequence[Tree]) -> Any:
    """`f` on the elements along axis 0 of arrays of one length, one tree for each argument."""
    found: list[tuple[Result, Scope]] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        parts = portions(trees, [tracer_of(param) for param in params])
        args = [unflatten(tree, part) for tree, part in zip(trees, parts, strict=True)]
        check_arity(f, len(args), "map")
        found.append((result_of(f(*args), f, inside), inside))
        return [leaf.atom for leaf in found[0][0].leaves]

    fn = current().function([element_type(x) for x in arrays], body, "x")
    result, inside = found[0]
    if not result.leaves:
        return result.rebuild([])
    if result.is_regular(inside):
        return result.rebuild(list(emit(Map(fn, tuple(x.atom for x in arrays), 1))))
    return _emitted(arrays[0].extents[0], fn, result, inside, arrays=arrays)


def _of_index(fn: Lambda, arrays: Sequence[Tracer]) -> Lambda:
    """A function of elements as one of their index."""

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        i = params[0]
        elements = [element(array, i).atom for array in arrays]
        renaming = Substitution(dict(zip(fn.params, elements, strict=True)))
        inside.builder.lets += [renaming.let(let) for let in fn.lets]
        return [renaming.atom(result) for result in fn.results]

    return current().function([i64], body, "i")


def element(array: Tracer, i: Atom) -> Tracer:
    """Element `i` along axis 0: a scalar, or a row."""
    if array.ndim == 1:
        return read(array, (i,))
    return generated(array.extents[1:], lambda *at: read(array, (i, *at)))[0]


def nested(
    count: Atom, fn: Lambda, result: Result, inside: Scope,
    known: Mapping[Atom, Tracer] = EMPTY,
) -> Any:  # fmt: skip
    """The results of an element function of the index for all elements.

    `known` has the offsets of the rows that have a length: what is as long is cut like these.
    """
    if result.is_regular(inside):
        return result.rebuild(list(emit(Generate((count,), fn))) if result.leaves else [])
    return _emitted(count, fn, result, inside, known=known)


def _emitted(
    count: Atom, fn: Lambda, result: Result, inside: Scope,
    known: Mapping[Atom, Tracer] = EMPTY, arrays: Sequence[Tracer] = (),
) -> Any:  # fmt: skip
    """The results of a function of the index, or of the elements of arrays."""
    groups: list[int] = []
    lengths: list[Atom] = []
    for leaf, is_row in zip(result.leaves, result.rows, strict=True):
        first = leaf.extents[0] if leaf.ndim else extents.ONE
        if not is_row and not (leaf.ndim and varies(first, inside)):
            groups.append(-1)
            continue
        if first not in lengths:
            lengths.append(first)
        groups.append(lengths.index(first))
    whole = Lambda(fn.params, fn.lets, (*lengths, *fn.results))
    if arrays:
        whole = _of_index(whole, arrays)
    entries, *made = emit(Nest(count, tuple(groups), whole))
    extents.known_extent(entries.atom)
    cut: list[Tracer] = []
    for k, length in enumerate(lengths):
        extents.known_extent(made[2 * k].atom)
        cut.append(known.get(length, made[2 * k + 1]))
    arrays = made[2 * len(lengths) :]
    return result.rebuild([
        array if group < 0 else Ragged.made(array, cut[group])
        for array, group in zip(arrays, groups, strict=True)
    ])  # fmt: skip


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


def _row_in(rows: Ragged, parts: list[Source]) -> object:
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
            raise ShapeError.here(
                f"map goes through arrays, but xs is a scalar, {describe(part.array)}.",
                "Use the scalar inside the function: it may be read from outside.",
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
