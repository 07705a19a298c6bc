"""A nest inside a nest: one nest over the elements of all rows.

    i => map (j => f i j) (row i)     ==>     q => i, j = where q is; f i j
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Generate, Index, Map, Nest, Reshape
from flatweave.ops.rows import array_type
from flatweave.passes.nests.distribute import as_generate, distribute, is_array, rule
from flatweave.passes.nests.rows import Flat, Rows, inline_row
from flatweave.passes.nests.segments import Even, Segments, Uneven, from_offsets
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Op
from flatweave.terms.traverse import free_vars


@rule(Map, Generate, Nest)
def lift_inner(rows: Rows, op: Op) -> Sequence[Atom]:
    """The inner element function over the elements of all rows, in one flat space."""
    if isinstance(op, Map):
        op = as_generate(rows.body, op)
    if isinstance(op, Generate):
        elements, results = over_all(rows, op.shape, op.fn)
        return [_bound(rows, elements, op.shape, result) for result in results]
    assert isinstance(op, Nest)
    return _nest(rows, op)


def over_all(
    rows: Rows, shape: Sequence[Atom], fn: Lambda, optional: bool = False
) -> tuple[Rows, list[Atom]]:
    """The function of an inner nest of every row, distributed over the elements of all rows."""
    rows.settle(tuple(free_vars(fn)))
    rows.settle_checks()
    segments = rows.segments(shape)
    inside = rows.b.inner()
    if isinstance(segments, Even):
        space: tuple[Atom, ...] = (*rows.shape, *shape)
        at = [inside.param("i", i64, extent) for extent in space]
        row: Sequence[Atom] = at[: len(rows.shape)]
        place: Sequence[Atom] = at[len(rows.shape) :]
        renaming = inside.inlining(Lambda(tuple(rows.params), (), ()), row)
        for let in rows.needed(tuple(free_vars(fn))):
            inline_row(inside, let, renaming, {})
    else:
        space = (segments.total,)
        at = [inside.param("q", i64, segments.total)]
        number, start = segments.locate(inside, at[0])
        row = inside.unravel(number, rows.shape)
        renaming = inside.inlining(Lambda(tuple(rows.params), (), ()), row)
        known = {segments.offsets: (number, start)}
        for let in rows.needed(tuple(free_vars(fn))):
            inline_row(inside, let, renaming, known)
        extents = [renaming.atom(extent) for extent in shape]
        place = inside.unravel(inside.sub(at[0], start), extents)
    renaming.mapping.update(zip(fn.params, place, strict=True))
    for let in fn.lets:
        inside.inline_let(let, renaming)
    whole = inside.close(at, [renaming.atom(result) for result in fn.results])
    return distribute(rows.b, space, whole, optional)


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
    inside = rows.body.inner()
    whole = (*shape, *extents)
    at = [inside.param("j", i64, extent) for extent in whole]
    outer, inner = at[: len(shape)], at[len(shape) :]
    number = inside.add(start, inside.ravel(outer, shape))
    begin = flat.segments.start(inside, number)
    place = inside.add(begin, inside.ravel(inner[:lead], extents[:lead]))
    (value,) = inside.emit(Index(flat.array, (place, *inner[lead:]), checked=False))
    return rows.body.emit(Generate(whole, inside.close(at, [value])), "rows")[0]


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
    some = rows.body.inner(optional=True)
    (value,) = some.emit(Index(column, (start,), checked=False))
    none = rows.body.inner(optional=True).close([], [index(0)])
    there = rows.body.apply("gt", size, index(0))
    return rows.body.emit(If(there, some.close([], [value]), none))[0]


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
        first = _at(body, inner, start)
        total = body.sub(_at(body, inner, body.add(start, op.count)), first)
        rows.know((total,), _joined(rows, segments, inner))
        totals.append(total)
        bound += [total, _own_offsets(body, inner, start, first, entries)]
    for group, value in zip(op.groups, values, strict=True):
        if group < 0:
            bound.append(_bound(rows, elements, shape, value))
            continue
        flat = flat_rows(elements, value, lengths[group])
        rest = array_type(value).shape[1:]
        bound.append(rows.bind(Flat(flat, rows.segments((totals[group],))), (totals[group], *rest)))
    return bound


def flat_rows(elements: Rows, value: Atom, length: Atom) -> Atom:
    """Rows of some length, one after the other."""
    (flat,) = elements.flat([value])
    if flat.segments is not None:
        return flat.array
    rest = array_type(value).shape[1:]
    total = elements.segments((length,)).total
    return elements.b.emit(Reshape(flat.array, (total, *rest)))[0]


def _at(b: Builder, array: Atom, i: Atom) -> Atom:
    return b.emit(Index(array, (i,), checked=False))[0]


def _own_offsets(b: Builder, inner: Atom, start: Atom, first: Atom, entries: Atom) -> Atom:
    """The offsets of a row's own inner rows: they begin with 0."""
    inside = b.inner()
    j = inside.param("j", i64, entries)
    own = inside.sub(_at(inside, inner, inside.add(start, j)), first)
    return b.emit(Generate((entries,), inside.close([j], [own])), "offsets")[0]


def _joined(rows: Rows, segments: Segments, inner: Atom) -> Uneven:
    """The values of all inner rows cut by the outer rows."""
    outer = segments.offsets_in(rows.b)
    entries = rows.b.add(rows.count, index(1))
    inside = rows.b.inner()
    i = inside.param("i", i64, entries)
    fn = inside.close([i], [_at(inside, inner, _at(inside, outer, i))])
    (offsets,) = rows.b.emit(Generate((entries,), fn), "offsets")
    return from_offsets(rows.b, rows.count, offsets)
