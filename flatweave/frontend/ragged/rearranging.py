"""Rows of a Ragged selected, put together, sorted or replaced: `rows[key]`, concat, sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import bool_
from flatweave.base.errors import ArgumentError, IndexOutOfBounds
from flatweave.base.pretty import counted
from flatweave.frontend.arrays.indexing import getitem
from flatweave.frontend.arrays.reading import element, from_start
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.arrays.sorting import Key
from flatweave.frontend.arrays.sources import concat
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, read, taken
from flatweave.frontend.elements.lambdas import combine_lambda, shape_text
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.ragged.cutting import offsets_from
from flatweave.frontend.ragged.elementwise import check_rows
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.ragged import Ragged, locate, rank_of, row_count, row_of
from flatweave.frontend.ragged.reductions import sorted_columns
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, mul, sub
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, extent_of, tracer_of
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, describe, host_array
from flatweave.frontend.values.tree import flatten, is_irregular, map_leaves, unflatten
from flatweave.ops import Index, Reduce
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

# -- row selection --------------------------------------------------------------------------------
#
# `rows[key]`: one row, a slice of rows, those where a mask holds, or those of an index array.
#
#     rows[1]          values[offsets[1]:offsets[2]]
#     rows[1:3]        the offsets from 1 to 3, less the first of them, and the values between
#     rows[[2, 0]]     offsets from the lengths of these rows, and each value from its old index


def _host(rows: Any, i: Any) -> object:
    """A row, or a slice of rows, on the host, the values not copied."""
    if type(i) is tuple and len(i) > 1 and _is_number(i[0]) and Ellipsis not in i[1:]:
        first, rest = _host(rows, i[0]), i[1:]
        return first if first is NotImplemented else METHODS["in_row"](first, rest)
    if isinstance(i, str):
        return _field(rows, i)
    if _is_number(i):
        i = int(i)
    leaves = flatten(rows)[0]
    if not all(isinstance(leaf, HostArray) for leaf in leaves):
        return NotImplemented
    count = len(rows)
    if isinstance(i, slice) and all(type(part) in (int, type(None)) for part in _parts(i)):
        start, stop, step = i.indices(count)
        return _host_span(rows, start, max(start, stop)) if step == 1 else NotImplemented
    if type(i) is not int:
        return NotImplemented
    if not -count <= i < count:
        raise IndexOutOfBounds.here(
            f"index {i} is outside a Ragged of {counted(count, 'row')}.",
            f"Indices go from {-count} to {count - 1}." if count else "It has no rows.",
        )
    start, stop = rows.offsets.to_numpy()[i % count : i % count + 2]
    return _host_part(rows.values, start, stop)


def _is_number(i: Any) -> bool:
    """Whether this is one integer."""
    if isinstance(i, HostArray | np.generic):
        return i.ndim == 0 and i.dtype.kind in "iu"
    return type(i) is int


def _parts(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def _host_part(values: object, start: int, stop: int) -> object:
    """Elements of an array or of a structure, in which rows may be, too."""
    def part(leaf: Any) -> object:
        if isinstance(leaf, Ragged):
            return _host_span(leaf, start, stop)
        return host_array(leaf.to_numpy()[start:stop])

    return map_leaves(part, values, lambda leaf: isinstance(leaf, Ragged))


def _host_span(rows: Ragged, start: int, stop: int) -> Ragged:
    """The rows from `start` to `stop`."""
    offsets = rows.offsets.to_numpy()[start : stop + 1]
    values = _host_part(rows.values, offsets[0], offsets[-1])
    return Ragged.made(values, host_array(offsets - offsets[0]))


@operation(host=_host)
def row(rows: Ragged, i: Any) -> object:
    """`rows[i]`: a row's values, or the Ragged of the rows that a slice, mask or array names.

    Raises IndexOutOfBounds for a row that is not there.
    """
    if isinstance(i, tuple) or i is Ellipsis or i is None:
        return METHODS["at_places"](rows, i if isinstance(i, tuple) else (i,))
    if isinstance(i, str):
        return _field(rows, i)
    return METHODS["by_rows"](rows, i) if isinstance(i, Ragged) else chosen(rows, i)


def _field(rows: Ragged, name: str) -> Ragged:
    """One field of the elements, under the same offsets."""
    if isinstance(rows.values, Ragged):
        return Ragged.made(_field(rows.values, name), rows.offsets)
    fields = rows.values if isinstance(rows.values, dict) else {}
    names = getattr(type(rows.values), "_fields", ())
    if hasattr(type(rows.values), "__dataclass_fields__"):
        names = tuple(type(rows.values).__dataclass_fields__)
    fields = {**fields, **{name: getattr(rows.values, name) for name in names}}
    if name not in fields:
        known = ", ".join(map(repr, fields))
        raise ArgumentError.here(
            f"a Ragged has no field {name!r}: its elements have"
            f" {f'the fields {known}' if known else 'no names'}.",
            "Rows are chosen by numbers, slices and masks; rows.values are the elements.",
        )
    return Ragged.made(fields[name], rows.offsets)


def chosen(rows: Ragged, i: Any) -> Any:
    """The row, or the rows, that one number, slice, mask or index array names."""
    if isinstance(i, slice):
        return _slice(rows, i)
    index = None if isinstance(i, list) else as_tracer(i, "the index of a Ragged")
    if index is None or index.ndim:
        return gathered(rows, numbers_of(rows, i), may_repeat=True)
    if index.element is bool_:
        raise no_single_bool()
    offsets = as_tracer(rows.offsets)
    count = row_count(offsets)
    number, checked = from_start(extent_of(i, "the number of a row"), count)

    def at(distance: Atom) -> Atom:
        # through an array of `count` rows: a number outside is caught before anything is read
        bounds = generated((count,), lambda j: read(offsets, (add(j, distance),)))[0]
        return emit(Index(bounds.atom, (number,), checked))[0].atom

    start, stop = at(ZERO), at(ONE)
    length = sub(stop, start)
    extents.known_natural(start)
    extents.known_extent(length)
    return _part(rows.values, start, length)


def no_single_bool() -> ArgumentError:
    return ArgumentError.here(
        "an index of a Ragged is one bool, which would be a new axis.",
        "Give a bool for each row, or choose: fw.cond(p, lambda: rows, lambda: rows[:0]).",
    )


def _part(values: object, start: Atom, length: Atom) -> object:
    """`length` values from `start`, or rows of a Ragged."""
    if isinstance(values, Ragged):
        return _span(values, start, length)
    leaves, tree = flatten(values)
    return unflatten(tree, [row_of(as_tracer(leaf), start, length) for leaf in leaves])


def _span(rows: Ragged, first: Atom, count: Atom) -> Ragged:
    """So many rows from row `first`."""
    offsets = as_tracer(rows.offsets)
    start = extents.known_natural(read(offsets, (first,)).atom)
    length = extents.known_extent(sub(read(offsets, (add(first, count),)).atom, start))

    def own(i: Atom) -> Tracer:
        return tracer_of(sub(read(offsets, (add(first, i),)).atom, start))

    return Ragged.made(
        _part(rows.values, start, length), generated((add(count, ONE),), own)[0]
    )


def numbers_of(rows: Ragged, key: Any) -> Tracer:
    """The numbers of the rows that a key names, each of them there."""
    count = row_count(as_tracer(rows.offsets))
    found = as_tracer(getitem(generated((count,), tracer_of)[0], key))
    if found.ndim != 1:
        raise no_rank_one(found)
    return found


def no_rank_one(found: Tracer) -> ArgumentError:
    """An index array of a Ragged whose rank is not 1."""
    return ArgumentError.here(
        f"an index array of a Ragged must have rank 1, got {describe(found)}.",
        "Give the indices of rows in a vector.",
    )


def _slice(rows: Ragged, part: slice) -> Ragged:
    """The rows of a slice; those next to each other are one part of the values."""
    numbers = numbers_of(rows, part)
    if isinstance(part.step, Array) or part.step not in (None, 1):
        return gathered(rows, numbers)
    count = row_count(as_tracer(rows.offsets))
    least = combine_lambda(lambda a, b: [apply("minimum", a, b)], [numbers.element])
    first = extents.known_natural(emit(Reduce(least, (count,), (numbers.atom,)))[0].atom)
    return _span(rows, first, numbers.extents[0])


def gathered(rows: Ragged, numbers: Tracer, may_repeat: bool = False) -> Ragged:
    """The rows of these numbers, which are there."""
    old = as_tracer(rows.offsets)

    def length_of(k: Atom) -> Tracer:
        number = extents.known_natural(read(numbers, (k,)).atom)
        length = sub(read(old, (add(number, ONE),)).atom, read(old, (number,)).atom)
        extents.known_natural(length)
        return tracer_of(length)

    offsets = offsets_from(generated(numbers.extents, length_of)[0], may_repeat)
    total = extents.known_extent(read(offsets, (numbers.extents[0],)).atom)

    def place(p: Atom) -> Atom:
        k, start = locate(offsets, 1, p)
        number = read(numbers, (k,)).atom
        return extents.known_natural(add(read(old, (number,)).atom, sub(p, start)))

    if isinstance(rows.values, Ragged):
        inner = generated((total,), lambda p: tracer_of(place(p)))[0]
        return Ragged.made(gathered(rows.values, inner, may_repeat), offsets)
    leaves, tree = flatten(rows.values)
    found = [
        generated((total, *x.extents[1:]), lambda p, *at, x=x: read(x, (place(p), *at)), "p")[0]
        for x in (as_tracer(leaf) for leaf in leaves)
    ]
    return Ragged.made(unflatten(tree, found), offsets)


# -- rearranging ----------------------------------------------------------------------------------
#
# Rows of a Ragged put together, sorted or replaced: concat, sort, argsort, replace.

def concat_rows(parts: Sequence[Any], axis: Any) -> Ragged:
    """The rows of several Ragged values, concatenated."""
    if not all(isinstance(part, Ragged) for part in parts):
        raise ArgumentError.here(
            "concat got a Ragged and an array.", "Make rows of the array first: fw.ragged([xs])."
        )
    number = axis_below(rank_of(parts[0]), axis, "concat", "a Ragged")
    if number == 1:
        return _side_by_side(parts)
    if number:
        return _inside(parts, number - 1)
    return Ragged.made(_values([part.values for part in parts]), _offsets(parts))


def _side_by_side(parts: Sequence[Ragged]) -> Ragged:
    """Each row of the first followed by that of the second, and so on."""
    count = row_count(as_tracer(parts[0].offsets))
    for other in parts[1:]:
        count = extents.same(
            count, row_count(as_tracer(other.offsets)),
            "concat within rows needs as many rows everywhere, got {0} and {1}.",
            remedy="Cut all to as many rows, for instance with rows[:n].",
        )  # fmt: skip
    width = index(len(parts))

    def number(p: Atom) -> Tracer:
        found = add(mul(extents.mod(p, width), count), extents.floordiv(p, width))
        extents.known_natural(found)
        return tracer_of(found)

    total = extents.known_extent(mul(count, width))
    turned = gathered(concat_rows(parts, 0), generated((total,), number)[0])
    ends = as_tracer(turned.offsets)
    offsets = generated((add(count, ONE),), lambda i: read(ends, (mul(i, width),)))[0]
    return Ragged.made(turned.values, offsets)


def _inside(parts: Sequence[Ragged], axis: int) -> Ragged:
    """Values end to end along an axis of theirs, under offsets that are the same."""
    for other in parts[1:]:
        check_rows(parts[0], other, "concat")
    values = [part.values for part in parts]
    return Ragged.made(METHODS["concat"](values, axis), parts[0].offsets)


def _values(parts: Sequence[Any]) -> Array | Ragged:
    """The values of all, which have one structure."""
    if any(isinstance(part, Ragged) for part in parts):
        return concat_rows(parts, 0)
    return concat(list(parts))


def _offsets(parts: Sequence[Ragged]) -> Tracer:
    """The offsets of the first part, then those of the others without their 0, shifted."""
    found = [as_tracer(parts[0].offsets)]
    before: Atom = read(found[0], (row_count(found[0]),)).atom
    for part in parts[1:]:
        own = as_tracer(part.offsets)

        def moved(i: Atom, own: Tracer = own, before: Atom = before) -> Tracer:
            return tracer_of(add(read(own, (add(i, ONE),)).atom, before))

        found.append(generated((row_count(own),), moved)[0])
        before = add(before, read(own, (row_count(own),)).atom)
    return as_tracer(concat(found))


def ordered_rows(who: str, rows: Ragged, key: Key, descending: bool, axis: Any) -> Array | Ragged:
    """`sort` or `argsort` of a Ragged along an axis; without one, of whole rows by a key."""
    if axis is None:
        return _by_key(who, rows, key, descending)
    number = axis_below(rank_of(rows), axis, who, "a Ragged")
    if number > 1:
        values = METHODS[who](rows.values, key, descending, axis=number - 1)
        return Ragged.made(values, rows.offsets)
    if number == 0 or isinstance(rows.values, Ragged):
        return sorted_columns(who, rows, number, key, descending)
    along = 0 if key is None and rank_of(rows) > 2 else None  # rows are not ordered
    found = map_rows(lambda row: METHODS[who](row, key, descending, axis=along), [rows])
    values = map_leaves(lambda each: each.values, found, is_irregular)
    return Ragged.made(values, rows.offsets)


def _by_key(who: str, rows: Ragged, key: Key, descending: bool) -> Array | Ragged:
    """The rows in the order of what a function gives for each."""
    if key is None:
        raise ArgumentError.here(
            f"{who} of a Ragged needs an axis or a key: rows themselves have no order.",
            f"fw.{who}(rows, axis=1) orders the elements of each row,"
            f" fw.{who}(rows, key=f) the rows by f(row).",
        )
    keys = map_rows(key, [rows])
    if is_irregular(keys):
        raise ArgumentError.here(
            f"the key of {who} gives rows of different lengths, which have no order.",
            "Give a number, or a tuple of numbers: key=fw.sum.",
        )
    order = METHODS["argsort"](keys, None, descending)
    return order if who == "argsort" else gathered(rows, as_tracer(order))


def with_row(rows: Ragged, key: Any, row: Any) -> Ragged:
    """The rows, one of which is another, of any length."""
    if isinstance(key, slice | tuple | list) or (isinstance(key, Array) and key.ndim):
        raise ArgumentError.here(
            "replace changes one row of a Ragged at a time.",
            "Put rows together with fw.concat([rows[:i], others, rows[j:]]).",
        )
    count = row_count(as_tracer(rows.offsets))
    numbers = generated((count,), tracer_of)[0]
    number = element(numbers, [extent_of(key, "the number of a row")])
    extents.known_natural(number.atom)
    before, behind = chosen(rows, slice(None, number)), chosen(rows, slice(number + 1, None))
    return concat_rows([before, _one(row, rows), behind], 0)


def _one(row: Any, rows: Ragged) -> Ragged:
    """A Ragged of one row, of the dtypes of others."""
    if isinstance(row, Ragged):
        length: Atom = row_count(as_tracer(row.offsets))
    else:
        wanted, own = as_tracers(rows.values, "the rows of replace")
        if type(row) is list and not row and len(wanted) == 1:
            row = np.zeros(0, wanted[0].dtype)
        leaves, tree = as_tracers(row, "the row of replace")
        if tree != own:
            raise ArgumentError.here(
                f"replace needs a row of the structure {shape_text(own, wanted)}, got"
                f" {shape_text(tree, leaves)}.",
                "Give it the structure of the other rows.",
            )
        pairs = zip(leaves, wanted, strict=True)
        row = unflatten(tree, [taken(mine, x.element, "the row of replace") for mine, x in pairs])
        length = extents.same_length(leaves, "a row", ["values"] * len(leaves))
    ends = METHODS["stack"]([tracer_of(ZERO), tracer_of(length)])
    return Ragged.made(row, as_tracer(ends))


METHODS["concat_rows"], METHODS["with_row"] = concat_rows, with_row
METHODS["ordered_rows"] = ordered_rows
