"""A sort of every row: of short rows side by side, else one of all values by row and by key."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.ops import Generate, Reshape, Sort, SortRows
from flatweave.ops.rows import array_type
from flatweave.ops.sorts import SHORT
from flatweave.passes.nests.arrays import at, branch, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.operators import by_keys, keys_of, needs_memory
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.inner import lift_inner
from flatweave.passes.nests.segments import Segments, Uneven
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
