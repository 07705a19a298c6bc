"""Scans, filters and reductions of segments in every row: one of all values, that rows divide.

    scan of every row        one scan of all values that begins again at each row
    filter of every row      one filter of all values; a row's kept values begin after those of all
                             flags before it
    segments of every row    those of all rows; each row begins one

An operator or a neutral element may differ from row to row. Then each value brings what the
operator reads of its row, and whether it begins a row; the neutral element of a row is combined
with its first value beforehand.

    (f, x, c) op' (g, y, d) = (f or g, y if g else x op[d] y, d)

An array that is only a function of the index in the row is not stored by a filter. The positions of
kept elements are stored instead; they do not depend on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.ops import Filter, Generate, ReduceSegments, Scan
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Flat, Rows
from flatweave.passes.nests.segments import Segments, array_of, at, by_flags, each
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Var, array_type, constant
from flatweave.terms.traverse import free_vars

Begins = Callable[[Builder, Atom, Atom], Atom]
"""Whether a position, in a row that begins somewhere, begins a segment."""


@record(eq=True)
class Carried:
    """An operator over flags, values and what they carry, its arrays, and the neutral elements."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    arrays: tuple[Atom, ...]
    starts: tuple[Atom, ...]
    width: int

    def values(self, results: Sequence[Atom]) -> Sequence[Atom]:
        """The combined values among the results of a scan or reduction."""
        return results[1 : 1 + self.width]


def is_carried(rows: Rows, fn: Lambda, neutral: Sequence[Atom]) -> bool:
    """Whether an operator or its neutral element differs from row to row."""
    return any(map(rows.varies, (*neutral, *free_vars(fn))))


def carried(
    rows: Rows, fn: Lambda, neutral: Sequence[Atom], segments: Segments, xs: Sequence[Atom],
    begins: Begins, reverse: bool = False,
) -> Carried:  # fmt: skip
    """The operator of all rows over concatenated numbers."""
    starts = rows.column(neutral)
    held, free = held_of(rows, fn)
    inside = rows.b.inner()
    p = inside.param("p", i64, segments.total)
    row, start = segments.locate(inside, p)
    first = begins(inside, p, start)
    values = [at(inside, x, p) for x in xs]
    own = [at(inside, column, row) for column in held]

    def begun(c: Builder) -> Sequence[Atom]:
        ne = [at(c, column, row) for column in starts]
        return c.inline(free, (*own, *values, *ne) if reverse else (*own, *ne, *values))

    entered = inside.choose(first, begun, lambda _: values)
    made = rows.b.emit(
        Generate((segments.total,), inside.close([p], [first, *entered, *own]))
    )
    types = [array_type(array).dtype for array in made]
    zeros = tuple(constant(0, dtype) for dtype in types)
    joined = _operator(rows.b, free, types, len(xs), reverse)
    return Carried(joined, zeros, tuple(made), tuple(starts), len(xs))


def held_of(rows: Rows, fn: Lambda) -> tuple[list[Atom], Lambda]:
    """What an operator reads of its row, a column each, and the operator with that before its
    elements: the scalars that it reads, or else the row's number."""
    read = [var for var in free_vars(fn) if rows.varies(var)]
    if all(isinstance(var.type, DType) for var in read):
        return rows.column(read), Lambda((*read, *fn.params), fn.lets, fn.results)
    return [each(rows.b, rows.count, lambda b, i: i)], _of_row(rows, fn)


def _of_row(rows: Rows, fn: Lambda) -> Lambda:
    """An operator that reads arrays of its row, as one of the row's number and two elements."""
    rows.settle(free_vars(fn))
    inside = rows.b.inner()
    number = inside.param("i", i64, rows.count)
    params = [inside.param(param.name, param.type) for param in fn.params]
    row = inside.unravel(number, rows.shape)
    renaming = rows.inlined(inside, row, free_vars(fn))
    return inside.close([number, *params], inside.inline(fn, params, renaming))


def _operator(
    b: Builder, fn: Lambda, types: Sequence[DType], width: int, reverse: bool
) -> Lambda:
    """The operator on two elements; the later one, in the order of the scan, may begin anew."""
    inside = b.inner()
    first: list[Var] = [inside.param("a", dtype) for dtype in types]
    second: list[Var] = [inside.param("b", dtype) for dtype in types]
    later = first if reverse else second
    begins = inside.apply("or", first[0], second[0])
    held = later[1 + width :]
    pair = (*first[1 : 1 + width], *second[1 : 1 + width])
    values = inside.choose(
        later[0], lambda _: later[1 : 1 + width], lambda c: c.inline(b.copy(fn), (*held, *pair))
    )
    assert begins.type is bool_
    return inside.close([*first, *second], [begins, *values, *held])


@rule(Scan)
def lift_scan(rows: Rows, op: Scan) -> Sequence[Atom]:
    """scan fn ne row   ==>   scan fn ne values starts=[p begins a row]"""
    shape = array_type(op.xs[0]).shape
    if is_carried(rows, op.fn, op.neutral):
        return _carried(rows, op)
    flats = rows.flat([*op.xs, *op.starts])
    segments = flats[0].segments
    arrays = [flat.array for flat in flats]
    starts = _starts(rows, arrays[0], segments, op.reverse, arrays[len(op.xs) :])
    made = rows.b.emit(op.replace(xs=tuple(arrays[: len(op.xs)]), starts=(starts,)))
    return [rows.bind(Flat(array, segments), shape) for array in made]


def _starts(
    rows: Rows, like: Atom, segments: Segments | None, reverse: bool, flags: Sequence[Atom] = ()
) -> Atom:
    """Where a row begins among the values, or in a reverse scan ends, or a segment inside it."""
    shape = array_type(like).shape
    lead = len(rows.shape)

    def begins(b: Builder, place: Sequence[Atom]) -> Atom:
        if segments is None:
            first = first_in(b, place[lead:], shape[lead:], reverse)
        else:
            first = first_of(b, place, shape, segments, reverse)
        for flag in flags:
            first = b.apply("or", first, at(b, flag, *place))
        return first

    return array_of(rows.b, shape, begins)


def first_in(b: Builder, place: Sequence[Atom], shape: Sequence[Atom], reverse: bool) -> Atom:
    """Whether an index is the first of a shape, or with `reverse` the last."""
    found: Atom | None = None
    for i, extent in zip(place, shape, strict=True):
        edge = b.sub(extent, index(1)) if reverse else index(0)
        here = b.apply("eq", i, edge)
        found = here if found is None else b.apply("and", found, here)
    assert found is not None
    return found


def first_of(
    b: Builder, place: Sequence[Atom], shape: Sequence[Atom], segments: Segments, reverse: bool
) -> Atom:
    """Whether a position is the first of its row, or with `reverse` the last."""
    row, start = segments.locate(b, place[0])
    edge = start
    if reverse:
        edge = b.add(start, b.sub(segments.span(b, row)[1], index(1)))
    begins = b.apply("eq", place[0], edge)
    if len(place) == 1:
        return begins
    return b.apply("and", begins, first_in(b, place[1:], shape[1:], reverse))


def _carried(rows: Rows, op: Scan) -> Sequence[Atom]:
    """A scan whose neutral element or operator is not the same for every row."""
    shape = array_type(op.xs[0]).shape
    segments, lines = rows.line([*op.xs, *op.starts])
    flags = lines[len(op.xs) :]

    def begins(b: Builder, p: Atom, start: Atom) -> Atom:
        first = first_of(b, [p], [segments.total], segments, op.reverse)
        for flag in flags:
            first = b.apply("or", first, at(b, flag, p))
        return first

    xs = lines[: len(op.xs)]
    joined = carried(rows, op.fn, op.neutral, segments, xs, begins, op.reverse)
    scan = Scan(joined.fn, joined.neutral, joined.arrays, reverse=op.reverse)
    made = list(joined.values(rows.b.emit(scan)))
    if op.exclusive:
        made = _shifted(rows, segments, joined, made, op.reverse)
    return [rows.bind_line(segments, array, shape) for array in made]


def _shifted(
    rows: Rows, segments: Segments, joined: Carried, made: Sequence[Atom], reverse: bool
) -> list[Atom]:
    """The results shifted by one position; the neutral element where a segment begins."""
    inside = rows.b.inner()
    p = inside.param("p", i64, segments.total)
    row, _ = segments.locate(inside, p)

    def on(c: Builder) -> list[Atom]:
        before = c.apply("add" if reverse else "sub", p, index(1))
        return [at(c, array, before) for array in made]

    values = inside.choose(
        at(inside, joined.arrays[0], p), lambda c: [at(c, x, row) for x in joined.starts], on
    )
    return list(rows.b.emit(Generate((segments.total,), inside.close([p], values))))


@rule(Filter)
def lift_filter(rows: Rows, op: Filter) -> Sequence[Atom]:
    """filter mask row   ==>   filter mask values, and how many flags precede each row"""
    counts = [x for x in op.xs if _is_of_index(rows.body, x)]
    values = [x for x in op.xs if x not in counts]
    segments, (mask, *xs) = rows.line((op.mask, *values))
    kept = by_flags(rows.b, segments, mask)
    positions = [each(rows.b, segments.total, lambda c, p: p)] if counts else []
    _, *found = rows.b.emit(Filter(mask, (*xs, *positions)))
    count = rows.length(kept)
    made = {x: rows.bind_line(kept, flat, (count,)) for x, flat in zip(values, found, strict=False)}
    if counts:
        start, first = rows.start(segments), rows.start(kept)
        for x in counts:
            made[x] = array_of(rows.body, (count,), lambda c, place, x=x: at(
                c, x, c.sub(at(c, found[-1], c.add(first, place[0])), start)))  # fmt: skip
    return [count, *(made[x] for x in op.xs)]


def _is_of_index(b: Builder, x: Atom) -> bool:
    """Whether an element is computed from its index alone."""
    made = b.definition(x)
    if not isinstance(made, Generate):
        return False
    return all(isinstance(let.op, Apply | Cast) for let in made.fn.lets)


@rule(ReduceSegments)
def lift_reduce_segments(rows: Rows, op: ReduceSegments) -> Sequence[Atom]:
    """reduce_segments fn ne starts row   ==>   the same over all values, and their number by row"""
    starts = _own_starts(rows, op.starts)
    segments, (flags, *xs) = rows.line((starts, *op.xs))
    found = by_flags(rows.b, segments, flags)
    count = rows.length(found)
    made: Sequence[Atom]
    if is_carried(rows, op.fn, op.neutral):
        joined = carried(
            rows, op.fn, op.neutral, segments, xs, lambda b, p, start: at(b, flags, p)
        )
        op = ReduceSegments(joined.fn, joined.neutral, flags, joined.arrays)
        made = joined.values(rows.b.emit(op)[1:])
    else:
        made = rows.b.emit(op.replace(starts=flags, xs=tuple(xs)))[1:]
    return [count, *(rows.bind_line(found, array, (count,)) for array in made)]


def _own_starts(rows: Rows, starts: Atom) -> Atom:
    """The flags of a row, of which the first one holds."""
    (extent,) = array_type(starts).shape

    def begins(c: Builder, j: Atom) -> Atom:
        return c.apply("or", c.apply("eq", j, index(0)), at(c, starts, j))

    return each(rows.body, extent, begins)
