"""A nest inside a nest: one nest over the elements of all rows.

    i => map (j => f i j) (row i)     ==>     q => i, j = where q is; f i j
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import Generate, Map, Nest
from flatweave.ops.rows import array_type
from flatweave.passes.nests.distribute import as_generate, distribute, is_array, rule
from flatweave.passes.nests.rows import Flat, Rows
from flatweave.passes.nests.segments import (
    Even,
    Segments,
    Uneven,
    array_of,
    at,
    each,
    from_offsets,
    or_zero,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Op
from flatweave.terms.traverse import free_vars


@rule(Map, Generate, Nest)
def lift_inner(rows: Rows, op: Op) -> Sequence[Atom]:
    """The inner element function over the elements of all rows, in one flat space."""
    if isinstance(op, Map) and op.barrier:
        segments, xs = rows.line(op.xs)
        made = rows.b.emit(Map(rows.b.copy(op.fn), tuple(xs), 1, barrier=True))
        return [rows.bind_line(segments, each, array_type(op.xs[0]).shape) for each in made]
    if isinstance(op, Map):
        op = as_generate(rows.body, op)
    if isinstance(op, Generate):
        elements, results = over_all(rows, op.shape, op.fn)
        return [_bound(rows, elements, op.shape, result) for result in results]
    assert isinstance(op, Nest)
    return _nest(rows, op)


def over_all(
    rows: Rows, shape: Sequence[Atom], fn: Lambda
) -> tuple[Rows, list[Atom]]:
    """The function of an inner nest of every row, distributed over the elements of all rows."""
    rows.settle(free_vars(fn))
    rows.settle_checks()
    one = rows.element(shape, len(shape), free_vars(fn))
    results = one.b.inline(fn, one.place, one.renaming)
    return distribute(rows.b, one.space, one.function(results))


def _bound(rows: Rows, elements: Rows, shape: Sequence[Atom], result: Atom) -> Atom:
    """The row's own part of what the elements of all rows give."""
    segments = rows.segments(shape)
    even = isinstance(segments, Even)
    if not is_array(result):
        (column,) = elements.results([result])
        return rows.bind(Flat(column, None if even else segments), shape)
    (flat,) = elements.flat([result])
    own = array_type(result).shape
    if flat.segments is None:
        return rows.bind(Flat(flat.array, None if even else segments), (*shape, *own))
    return _rows_of_rows(rows, segments, shape, flat, elements, own)


def _rows_of_rows(
    rows: Rows, segments: Segments, shape: Sequence[Atom], flat: Flat, elements: Rows,
    own: Sequence[Atom],
) -> Atom:
    """Inner arrays whose extents vary from row to row: read through where each one begins."""
    assert flat.segments is not None
    lead = elements.lead(own)
    extents = _extents_in(rows, segments, shape, elements, own)
    start = rows.start(segments)

    def value(b: Builder, place: Sequence[Atom], begins: Segments) -> Atom:
        outer, inner = place[: len(shape)], place[len(shape) :]
        begin = begins.span(b, b.add(start, b.ravel(outer, shape)))[0]
        first = b.add(begin, b.ravel(inner[:lead], extents[:lead]))
        return at(b, flat.array, first, *inner[lead:])

    return array_of(rows.body, (*shape, *extents), value, flat.segments, hint="rows")


def _extents_in(
    rows: Rows, segments: Segments, shape: Sequence[Atom], elements: Rows, own: Sequence[Atom]
) -> list[Atom]:
    """The extents of inner arrays as the row at hand knows them: those of its first element."""
    found: list[Atom] = []
    for extent in own:
        if not elements.varies(extent):
            found.append(extent)
            continue
        (column,) = elements.column([extent])
        found.append(first_or_none(rows, segments, shape, column))
    return found


def first_or_none(rows: Rows, segments: Segments, shape: Sequence[Atom], column: Atom) -> Atom:
    """The value for the first element of a row; 0 where it has none."""
    start, size = rows.start(segments), rows.body.product(shape)
    there = rows.body.apply("gt", size, index(0))
    return or_zero(rows.body, there, lambda c: at(c, column, start))


def _nest(rows: Rows, op: Nest) -> list[Atom]:
    """A nest inside a nest whose rows are of varying lengths: rows of rows."""
    body, shape = rows.body, (op.count,)
    elements, results = over_all(rows, shape, op.fn)
    lengths, values = results[: len(op.lengths)], results[len(op.lengths) :]
    segments = rows.segments(shape)
    start = rows.start(segments)
    entries = body.add(op.count, index(1))
    bound: list[Atom] = [entries]
    totals: list[Atom] = []
    for length in lengths:
        inner = elements.segments((length,)).offsets_in(rows.b)
        first = at(body, inner, start)
        total = rows.length(_joined(rows, segments, inner))
        totals.append(total)
        bound += [total, _own_offsets(body, inner, start, first, entries)]
    own = op.fn.results[len(lengths) :]
    for group, value, inner in zip(op.groups, values, own, strict=True):
        if group < 0:
            bound.append(_bound(rows, elements, shape, value))
            continue
        rest = array_type(inner).shape[1:]  # as the row at hand knows it
        whole = (totals[group], *rest)
        if any(map(rows.varies, rest)):
            _, (flat,) = elements.line([value])
            bound.append(rows.bind(Flat(flat, rows.segments(whole)), whole))
        else:
            flat = elements.flat_rows(value, lengths[group])
            bound.append(rows.bind(Flat(flat, rows.segments(whole[:1])), whole))
    return bound


def _own_offsets(b: Builder, inner: Atom, start: Atom, first: Atom, entries: Atom) -> Atom:
    """The offsets of a row's own inner rows: they begin with 0."""
    return each(
        b, entries, lambda c, j: c.sub(at(c, inner, c.add(start, j)), first), "offsets"
    )


def _joined(rows: Rows, segments: Segments, inner: Atom) -> Uneven:
    """The values of all inner rows cut by the outer rows."""
    outer = segments.offsets_in(rows.b)
    entries = rows.b.add(rows.count, index(1))
    offsets = each(rows.b, entries, lambda c, i: at(c, inner, at(c, outer, i)), "offsets")
    return from_offsets(rows.b, rows.count, offsets)
