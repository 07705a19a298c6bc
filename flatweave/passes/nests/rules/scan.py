"""A scan of every row: one scan of all values that begins anew where a row does."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Generate, Scan
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import array_of, at
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Flat, Rows
from flatweave.passes.nests.rules.carried import Carried, carried, is_carried
from flatweave.passes.nests.segments import Segments
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom


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
    anew, on = inside.inner(optional=True), inside.inner(optional=True)
    neutral = anew.close([], [at(anew, column, row) for column in joined.starts])
    before = on.apply("add" if reverse else "sub", p, index(1))
    results = on.close([], [at(on, array, before) for array in made])
    values = inside.emit(If(at(inside, joined.arrays[0], p), neutral, results))
    return list(rows.b.emit(Generate((segments.total,), inside.close([p], values))))
