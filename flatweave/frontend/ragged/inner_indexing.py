"""`rows[key, ..]` with several parts: which rows, and where in each of them.

    rows[i, j]         rows[i][j]
    rows[:, j]         [row[j] for row in rows]: an array, or of rows of rows a Ragged
    rows[:, a:b]       [row[a:b] for row in rows]
    rows[:, idx]       [row[idx] for row in rows]: an array, of as many elements of each row
    rows[i, j]         [rows[a][b] for a, b in zip(i, j)] for index arrays i and j
    rows[i, :, k]      [rows[a][:, b] for a, b in zip(i, k)]
    rows[mask]         [[x for x, m in zip(row, own) if m] for row, own in zip(rows, mask)]
    rows[order]        [[row[j] for j in own] for row, own in zip(rows, order)]

A mask or order that is a Ragged itself says which elements of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import bool_
from flatweave.base.errors import ArgumentError, ShapeError, Unsupported
from flatweave.base.pretty import counted
from flatweave.frontend.arrays.columns import compacted
from flatweave.frontend.arrays.indexing import getitem, sliced
from flatweave.frontend.arrays.reading import listed_index, read_atom
from flatweave.frontend.elements.broadcasting import (
    broadcast_to,
    common_shape,
    generated,
    read,
    read_stretched,
)
from flatweave.frontend.ragged.cutting import offsets_from
from flatweave.frontend.ragged.elementwise import check_rows
from flatweave.frontend.ragged.ragged import (
    Ragged,
    depth_of,
    locate,
    rank_of,
    row_count,
    value_count,
)
from flatweave.frontend.ragged.rearranging import (
    chosen,
    gathered,
    no_rank_one,
    no_single_bool,
    numbers_of,
)
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, mul, sub
from flatweave.frontend.trace.run_time_checks import ROW, check, check_message
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import flatten, map_leaves, unflatten
from flatweave.terms.syntax import Atom

WHOLE = slice(None)


def at_places(rows: Ragged, key: Sequence[Any]) -> object:
    """`rows[key]` for a key of several parts, the first of which says which rows."""
    first, *rest = _expanded(rows, key)
    if not rest:
        return rows if _is_whole(first) else chosen(rows, first)
    if isinstance(first, slice):
        some = rows if _is_whole(first) else chosen(rows, first)
        return _in_rows(some, rest)
    if not isinstance(first, list) and not as_tracer(first, "the index of a Ragged").ndim:
        return in_row(chosen(rows, first), rest)
    if isinstance(rest[0], slice):
        if any(map(_is_array, rest)):
            return _beside(rows, numbers_of(rows, first), rest)
        return _in_rows(chosen(rows, first), rest)
    numbers = numbers_of(rows, first)
    return _at(rows, _positions(rows, numbers, _index(rest[0])), rest[1:])


def by_rows(rows: Ragged, key: Ragged) -> Ragged:
    """The elements of each row that the same row of a mask, or of indices, selects."""
    if isinstance(key.values, Ragged) and isinstance(rows.values, Ragged):
        check_rows(rows, key, "an index of a Ragged")
        return Ragged.made(by_rows(rows.values, key.values), rows.offsets)
    leaf = as_tracer(key.values, "an index of a Ragged")
    if leaf.element is bool_ and leaf.ndim == 1:
        check_rows(rows, key, "a mask of a Ragged")
        counts = METHODS["sum"](key, axis=1)
        places = generated(leaf.extents, tracer_of)[0]
        kept = compacted(leaf, [places])[0]
        return Ragged.made(taken(rows.values, kept), offsets_from(as_tracer(counts), False))
    if leaf.ndim > 1 or not leaf.element.is_integer:
        raise ArgumentError.here(
            f"an index of a Ragged that is a Ragged itself must hold bools or integers, one for"
            f" each element, got {describe(leaf)}.",
            "Compare first: rows[rows > 0].",
        )
    own = as_tracer(key.offsets)
    extents.same(
        row_count(as_tracer(rows.offsets)), row_count(own),
        "an index of a Ragged needs as many rows, got {0} and {1}.",
        remedy="Give the indices within each row, such as those of fw.argsort(rows, axis=1).",
    )  # fmt: skip
    numbers = generated(leaf.extents[:1], lambda p: tracer_of(locate(own, 1, p)[0]), "p")[0]
    return Ragged.made(taken(rows.values, _positions(rows, numbers, leaf)), key.offsets)


def in_row(row: object, rest: Sequence[Any]) -> object:
    """A row, or a tree of rows, at the other parts of a key."""
    key = rest[0] if len(rest) == 1 else tuple(rest)
    return row[key] if isinstance(row, Ragged) else map_leaves(lambda x: x[key], row)


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part == WHOLE


def _expanded(rows: Ragged, key: Sequence[Any]) -> list[Any]:
    """The parts of a key, with whole slices for an Ellipsis."""
    parts = list(key)
    rank = rank_of(rows)
    if any(part is None for part in parts):
        raise ArgumentError.here(
            "an index of a Ragged holds None, which would be a new axis.",
            "Give the values an axis: rows.values[:, None].",
        )
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    if len(parts) - len(dots) > rank or len(dots) > 1:
        raise ShapeError.here(
            f"a Ragged with {counted(rank, 'axis', 'axes')} got"
            f" {counted(len(parts), 'index', 'indices')}.",
            "Give at most one index for each axis.",
        )
    if dots:
        parts[dots[0] : dots[0] + 1] = [WHOLE] * (rank - len(parts) + 1)
    return parts or [WHOLE]


def _is_array(part: Any) -> bool:
    return isinstance(part, list | np.ndarray | Array) and as_tracer(part).ndim > 0


def _slice_between() -> Unsupported:
    return Unsupported.here(
        "index arrays of a Ragged with a slice between them, after a slice of all rows.",
        "Index in two steps, rows[:, j][:, :, :, k], or"
        " fw.map(lambda row: row[j, :, k], rows).",
    )


def _beside(rows: Ragged, numbers: Tracer, rest: Sequence[Any]) -> object:
    """The rows of some numbers at the other parts of a key, of whose arrays each has one index for
    each of these rows."""
    arrays = [_index(part) for part in rest if _is_array(part)]
    shape = common_shape([numbers, *arrays], "indexing a Ragged")
    if len(shape) > 1:
        raise no_rank_one(next(array for array in arrays if array.ndim > 1))
    whole = broadcast_to(numbers, shape)
    parts = [broadcast_to(_index(part), shape) if _is_array(part) else part for part in rest]
    return _in_each(gathered(rows, whole, may_repeat=True), parts)


def _in_each(rows: Ragged, rest: Sequence[Any]) -> object:
    """Every row at the other parts of a key, in which an array has one index for each row."""
    part, *behind = rest
    if not isinstance(part, slice):
        numbers = generated((row_count(as_tracer(rows.offsets)),), tracer_of)[0]
        positions = _positions(rows, numbers, _index(part))
        if behind and isinstance(rows.values, Ragged):
            return _in_each(gathered(rows.values, positions, may_repeat=True), behind)
        return _at(rows, positions, behind)
    found = rows if _is_whole(part) else _within(rows, part)
    if not any(map(_is_array, behind)):
        return _in_rows(found, [WHOLE, *behind])
    offsets, count = as_tracer(found.offsets), value_count(found)

    def of_elements(each: Any) -> object:
        if not _is_array(each):
            return each
        return generated((count,), lambda p: read(each, (locate(offsets, 1, p)[0],)), "p")[0]

    moved = [of_elements(each) for each in behind]
    if isinstance(found.values, Ragged):
        return Ragged.made(_in_each(found.values, moved), found.offsets)
    every = generated((count,), tracer_of)[0]
    values = map_leaves(lambda leaf: getitem(leaf, (every, *moved)), found.values)
    return Ragged.made(values, found.offsets)


def _index(part: Any) -> Tracer:
    """An integer, or integers, that say where in its row an element is."""
    found = as_tracer(listed_index(part), "an index into rows of a Ragged")
    if found.element is bool_ and not found.ndim:
        raise no_single_bool()
    if not found.element.is_integer:
        raise ArgumentError.here(
            f"an index into rows of a Ragged must be an integer or a slice, got {describe(found)}.",
            "Choose between elements with fw.where, or filter rows.values."
            if found.element is bool_
            else "Convert it with astype(fw.i64), or divide with // rather than /.",
        )
    return found


def _in_rows(rows: Ragged, rest: Sequence[Any]) -> object:
    """Every row at the other parts of a key."""
    part, *behind = rest
    if isinstance(part, slice):
        found = rows if _is_whole(part) else _within(rows, part)
        if all(_is_whole(other) for other in behind):
            return found
        inner = (WHOLE, *behind)
        if isinstance(found.values, Ragged):
            return Ragged.made(at_places(found.values, inner), found.offsets)
        return Ragged.made(map_leaves(lambda leaf: leaf[inner], found.values), found.offsets)
    place = _index(part)
    if place.ndim:
        return _at_each(rows, place, behind)
    numbers = generated((row_count(as_tracer(rows.offsets)),), tracer_of)[0]
    return _behind(taken(rows.values, _positions(rows, numbers, place)), behind)


def _at_each(rows: Ragged, places: Tracer, rest: Sequence[Any]) -> object:
    """Every row at the same indices, and at the other parts of a key."""
    count = row_count(as_tracer(rows.offsets))
    is_nested = isinstance(rows.values, Ragged)
    others = [_index(part) for part in rest if _is_array(part)]
    last = max((at for at, part in enumerate(rest, 1) if _is_array(part)), default=0)
    if any(isinstance(part, slice) for part in rest[:last]):
        raise _slice_between()
    shape = common_shape([places, *others], "indexing a Ragged")
    if not is_nested or (others and depth_of(rows) <= last + 1):
        numbers = generated((count, *[ONE] * len(shape)), lambda i, *at: tracer_of(i))[0]
        return _at(rows, _positions(rows, numbers, broadcast_to(places, shape)), rest)
    if len(shape) > 1:
        raise no_rank_one(next(array for array in [places, *others] if array.ndim > 1))
    width = shape[0]
    total = extents.known_extent(extents.product((count, width)))
    arrays = [broadcast_to(array, shape) for array in [places, *others]]

    def one(p: Atom) -> list[Tracer]:
        number, place = extents.unravel(p, (count, width))
        return [tracer_of(number), *(read(array, (place,)) for array in arrays)]

    numbers, own, *moved = generated((total,), one, "p")
    positions = _positions(rows, numbers, own)
    ends = generated((add(count, ONE),), lambda i: tracer_of(mul(i, width)))[0]
    if others:
        behind = iter(moved)
        inner = [next(behind) if _is_array(part) else part for part in rest]
        return Ragged.made(_at(rows, positions, inner), ends)
    return _behind(Ragged.made(taken(rows.values, positions), ends), [WHOLE, *rest])


def _behind(found: object, rest: Sequence[Any]) -> object:
    """The other parts of a key, applied after the elements found."""
    if not rest:
        return found
    if isinstance(found, Ragged):
        return at_places(found, (WHOLE, *rest))
    return map_leaves(lambda leaf: leaf[(WHOLE, *rest)], found)


def _at(rows: Ragged, positions: Tracer, rest: Sequence[Any]) -> object:
    """The values, or inner rows, at positions that are there and at the other parts of a key."""
    if not rest:
        return taken(rows.values, positions)
    if isinstance(rows.values, Ragged):
        if isinstance(rest[0], slice):
            return at_places(rows.values, (positions, *rest))
        return _at(rows.values, _positions(rows.values, positions, _index(rest[0])), rest[1:])
    return map_leaves(lambda leaf: getitem(leaf, (positions, *rest)), rows.values)


def _positions(rows: Ragged, numbers: Tracer, places: Tracer) -> Tracer:
    """The indices in the values of the elements at `places` within the rows of `numbers`; the two
    are broadcast to one shape."""
    offsets = as_tracer(rows.offsets)
    shape = common_shape([numbers, places], "indexing a Ragged")
    message = check_message(
        "index {0} is outside of row {1} of a Ragged, which is too short.", [],
        "Choose rows that are long enough first: rows[rows.lengths > n].",
    )  # fmt: skip

    def position(*at: Atom) -> Tracer:
        number = extents.known_natural(read_stretched(numbers, at).atom)
        start = read(offsets, (number,)).atom
        length = sub(read(offsets, (add(number, ONE),)).atom, start)
        scope, given = current(), read_atom(read_stretched(places, at))
        place = given
        if not scope.is_natural(place):
            below = scope.apply("lt", place, ZERO)
            place = scope.apply("select", below, add(place, length), place)
        fits = scope.apply(
            "and", scope.apply("ge", place, ZERO), scope.apply("lt", place, length)
        )
        check(fits, ROW, (given, number), message)
        return tracer_of(extents.known_natural(add(start, place)))

    return generated(shape, position, "k")[0]


def taken(values: object, positions: Tracer) -> object:
    """The values, or inner rows, at positions that are there."""
    if isinstance(values, Ragged):
        if positions.ndim > 1:
            raise no_rank_one(positions)
        return gathered(values, positions, may_repeat=True)
    leaves, tree = flatten(values)
    rank = positions.ndim

    def at_position(x: Tracer) -> Callable[..., Tracer]:
        def one(*at: Atom) -> Tracer:
            place = extents.known_natural(read(positions, at[:rank]).atom)
            return read(x, (place, *at[rank:]))

        return one

    return unflatten(tree, [
        generated((*positions.extents, *x.extents[1:]), at_position(x), "k")[0]
        for x in (as_tracer(leaf) for leaf in leaves)
    ])  # fmt: skip


def _within(rows: Ragged, part: slice) -> Ragged:
    """The same part of every row."""
    old = as_tracer(rows.offsets)

    def length_of(i: Atom) -> Atom:
        return extents.known_natural(sub(read(old, (add(i, ONE),)).atom, read(old, (i,)).atom))

    count = row_count(old)
    kept = generated((count,), lambda i: tracer_of(sliced(part, length_of(i)).length))[0]
    offsets = offsets_from(kept, may_overflow=False)
    total = extents.known_extent(read(offsets, (count,)).atom)

    def position(p: Atom) -> Tracer:
        i, start = locate(offsets, 1, p)
        own = sliced(part, length_of(i))
        place = add(own.start, mul(sub(p, start), own.step))
        return tracer_of(extents.known_natural(add(read(old, (i,)).atom, place)))

    return Ragged.made(taken(rows.values, generated((total,), position, "p")[0]), offsets)


METHODS["at_places"], METHODS["in_row"], METHODS["by_rows"] = at_places, in_row, by_rows
