"""Rows of a Ragged put together, sorted or replaced: concat, sort, argsort, replace.

    concat([a, b])              values concat([a.values, b.values]), a's offsets, then b's
    concat([a, b], axis=1)      rows a[0], b[0], a[1], b[1], .. of these, and every other offset
    sort(rows, axis=1)          [sorted(row) for row in rows]
    sort(rows, key=fw.sum)      sorted(rows, key=fw.sum)
    sort(rows, axis=0)          the elements at each index of all rows
    sort(nested, axis=1)        those at each index of the rows in a row
    argsort(rows, axis=1)       where in its row each element of the sorted one was
    replace(rows, i, row)       concat([rows[:i], ragged([row]), rows[i + 1:]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.reading import element
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.arrays.sorting import Key
from flatweave.frontend.elements.broadcasting import generated, read, taken
from flatweave.frontend.elements.lambdas import shape_text
from flatweave.frontend.ragged.elementwise import check_rows
from flatweave.frontend.ragged.map_rows import map_rows
from flatweave.frontend.ragged.ragged import Ragged, rank_of, row_count
from flatweave.frontend.ragged.reductions import sorted_columns
from flatweave.frontend.ragged.row_selection import chosen, gathered
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, mul
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, extent_of, tracer_of
from flatweave.frontend.values.array import METHODS, Array, Tracer
from flatweave.frontend.values.tree import is_irregular, map_leaves, unflatten
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


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
