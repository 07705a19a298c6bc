"""A nest inside a nest: one nest over the elements of all rows.

    i => map (j => f i j) (row i)     ==>     q => i, j = where q is; f i j

Sorts of every row, and writes into an array of every row.

Short rows are sorted side by side, others by one sort of their values, by row and by key. Writes go
into the one array that holds the arrays of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.ops import Filter, Generate, Map, Nest, Permute, Reshape, Scatter, Sort, SortRows
from flatweave.ops.writes import SHORT, longest_in_lanes
from flatweave.passes.nests.distribute import as_generate, distribute, rule
from flatweave.passes.nests.hard import by_keys, is_array, keys_of, needs_memory
from flatweave.passes.nests.rows import Flat, Rows
from flatweave.passes.nests.scan_rules import held_of
from flatweave.passes.nests.segments import (
    Even,
    Segments,
    Uneven,
    array_of,
    at,
    branch,
    each,
    from_lengths,
    from_offsets,
    or_zero,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Op, array_type
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


@rule(Sort)
def lift_sort(rows: Rows, op: Sort) -> Sequence[Atom]:
    """sort fn row   ==>   if few values are in long rows (sort_rows fn [values], then long rows)
    (sort (r, x => r, fn x) [row numbers, values])"""
    if needs_memory(op):
        own = lift_inner(rows, keys_of(op))
        return lift_sort(rows, by_keys(own, op.xs))[len(own) :]
    shape = array_type(op.xs[0]).shape
    segments, xs = rows.line(op.xs)
    rows.settle(free_vars(op.fn))
    rows.settle_checks()
    keys: Sequence[Atom] = ()
    fn = op.fn
    if any(map(rows.varies, free_vars(fn))):
        keys = _keys(rows, segments, xs, fn)
        fn, xs = by_keys(keys, xs).fn, [*keys, *xs]
    if isinstance(segments, Uneven):
        found = _uneven(rows.b, segments, xs, fn)
    else:
        found = _even(rows.b, segments, xs, fn)
    lines = [rows.b.emit(Reshape(x, (segments.total,)))[0] for x in found[len(keys) :]]
    return [rows.bind_line(segments, line, shape) for line in lines]


def _even(b: Builder, segments: Even, xs: Sequence[Atom], fn: Lambda) -> Sequence[Atom]:
    """Rows of one length: all are short, or none."""
    short, long = b.inner(optional=True), b.inner(optional=True)
    beside = SortRows(short.copy(fn), segments.rows, (), segments.length, tuple(xs))
    is_short = b.apply("le", segments.length, index(longest_in_lanes(fn, is_even=True)))
    bodies = branch(short, short.emit(beside)), branch(long, _by_row(long, segments, xs, fn))
    return b.emit(If(is_short, *bodies))[1::2]


def _uneven(b: Builder, segments: Uneven, xs: Sequence[Atom], fn: Lambda) -> Sequence[Atom]:
    """Short rows side by side; values of long rows by row and key, written back to their rows.

    Where more than one of `SHORT` values is in a long row, all values by row and key.
    """
    start, longer = _longer(b, segments)
    some, all_ = b.inner(optional=True), b.inner(optional=True)
    longest = some.apply("minimum", segments.longest(b), index(SHORT))
    offsets = (segments.offsets,)
    beside = some.emit(SortRows(some.copy(fn), segments.rows, offsets, longest, tuple(xs)))

    def origin(c: Builder, p: Atom) -> Atom:
        row, begin = longer.locate(c, p)
        return c.add(at(c, start, row), c.sub(p, begin))

    origins = each(some, longer.total, origin)
    values = [array_of(some, (longer.total,), _moved, x, origins) for x in xs]
    ordered = _by_row(some, longer, values, fn)
    written = some.emit(Scatter(tuple(beside), origins, tuple(ordered)))
    few = b.apply("le", b.mul(longer.total, index(SHORT)), segments.total)
    bodies = branch(some, written), branch(all_, _by_row(all_, segments, xs, fn))
    return b.emit(If(few, *bodies))[1::2]


def _longer(b: Builder, segments: Uneven) -> tuple[Atom, Uneven]:
    """Where rows of more than `SHORT` elements begin, and the offsets of only these rows."""
    mask = each(
        b, segments.rows, lambda c, i: c.apply("gt", segments.span(c, i)[1], index(SHORT))
    )
    numbers = each(b, segments.rows, lambda c, i: i)
    count, kept = b.emit(Filter(mask, (numbers,)))
    starts = each(b, count, lambda c, i: segments.span(c, at(c, kept, i))[0])
    lengths = each(b, count, lambda c, i: segments.span(c, at(c, kept, i))[1])
    return starts, from_lengths(b, count, lengths)


def _moved(b: Builder, place: Sequence[Atom], x: Atom, origins: Atom) -> Atom:
    return at(b, x, at(b, origins, *place))


def _by_row(b: Builder, segments: Segments, xs: Sequence[Atom], fn: Lambda) -> Sequence[Atom]:
    """All values by the numbers of their rows, and then by their keys."""
    number = each(b, segments.total, lambda c, p: c.cast(segments.locate(c, p)[0], u64))
    inside = b.inner()
    row = inside.param("r", u64)
    params = [inside.param(param.name, param.type) for param in fn.params]
    by_row = inside.close([row, *params], [row, *inside.inline(fn, params)])
    return b.emit(Sort(by_row, (number, *xs)))[1:]


def _keys(
    rows: Rows, segments: Segments, xs: Sequence[Atom], fn: Lambda
) -> Sequence[Atom]:
    """The keys of each value, which may read what its row has."""
    inside = rows.b.inner()
    p = inside.param("p", i64, segments.total)
    row = inside.unravel(segments.locate(inside, p)[0], rows.shape)
    values = [at(inside, x, p) for x in xs]
    keys = inside.inline(fn, values, rows.inlined(inside, row, free_vars(fn)))
    return rows.b.emit(Generate((segments.total,), inside.close([p], keys)))


@rule(Scatter, Permute)
def lift_scatter(rows: Rows, op: Scatter | Permute) -> Sequence[Atom]:
    """scatter row at values   ==>   scatter rows (begin of row + at) values"""
    shape = array_type(op.dest[0]).shape
    to, dest = rows.line(op.dest)
    of, (indices, *xs) = rows.line((op.indices, *op.xs))
    changes: dict[str, object] = {
        "dest": tuple(dest), "indices": _places(rows, to, of, indices), "xs": tuple(xs),
    }  # fmt: skip
    if isinstance(op, Permute):
        if any(map(rows.varies, free_vars(op.fn))):
            changes |= _with_held(rows, op.fn, (to, dest), (of, xs))
        elif any(map(rows.varies, op.neutral)):
            changes["neutral"] = ()
    made = rows.b.emit(op.replace(**changes))[: len(dest)]
    return [rows.bind_line(to, array, shape) for array in made]


def _with_held(
    rows: Rows, fn: Lambda, *lines: tuple[Segments, Sequence[Atom]]
) -> dict[str, object]:
    """Elements that bring what their row's operator reads, as in `carried`, and the operator."""
    held, free = held_of(rows, fn)

    def own(c: Builder, place: Sequence[Atom], column: Atom, segments: Segments) -> Atom:
        return at(c, column, segments.locate(c, place[0])[0])

    dest, xs = (
        (*arrays, *(array_of(rows.b, (s.total,), own, column, s) for column in held))
        for s, arrays in lines
    )
    inside, half = rows.b.inner(), len(fn.results)
    types = [array_type(array).dtype for array in dest]
    first = [inside.param("a", dtype) for dtype in types]
    second = [inside.param("b", dtype) for dtype in types]
    results = inside.inline(rows.b.copy(free), (*first[half:], *first[:half], *second[:half]))
    joined = inside.close([*first, *second], (*results, *first[half:]))
    return {"fn": joined, "neutral": (), "dest": dest, "xs": xs}


def _places(rows: Rows, to: Segments, of: Segments, indices: Atom) -> Atom:
    """Where each value goes among the arrays of all rows; -1 for outside of its row's."""

    def place(c: Builder, p: Atom) -> Atom:
        row, _ = of.locate(c, p)
        i = at(c, indices, p)
        start, length = to.span(c, row)
        there = c.apply("lt", c.cast(i, u64), c.cast(length, u64))
        return c.apply("select", there, c.add(start, i), index(-1))

    return each(rows.b, of.total, place)
