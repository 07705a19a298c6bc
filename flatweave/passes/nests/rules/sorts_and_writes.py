"""Sorts of every row, and writes into an array of every row.

Short rows are sorted side by side, others by one sort of all values, by row and by key. Writes go
into the one array that holds the arrays of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.ops import Generate, Permute, Reshape, Scatter, Sort, SortRows
from flatweave.ops.rows import array_type
from flatweave.ops.sorts import SHORT
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.hard import by_keys, keys_of, needs_memory
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.inner import lift_inner
from flatweave.passes.nests.rules.scans import held_of
from flatweave.passes.nests.segments import Segments, Uneven, array_of, at, branch, each
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import free_vars


@rule(Sort)
def lift_sort(rows: Rows, op: Sort) -> Sequence[Atom]:
    """sort fn row   ==>   if rows are short (sort_rows fn [values])
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
    short, long = rows.b.inner(optional=True), rows.b.inner(optional=True)
    offsets = (segments.offsets,) if isinstance(segments, Uneven) else ()
    longest = segments.longest(rows.b)
    beside = SortRows(short.copy(fn), segments.rows, offsets, longest, tuple(xs))
    is_short = rows.b.apply("le", longest, index(SHORT))
    bodies = branch(short, short.emit(beside)), branch(long, _by_row(long, segments, xs, fn))
    found = rows.b.emit(If(is_short, *bodies))[1::2]
    lines = [rows.b.emit(Reshape(x, (segments.total,)))[0] for x in found[len(keys) :]]
    return [rows.bind_line(segments, line, shape) for line in lines]


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
