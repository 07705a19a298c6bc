"""A sort of every row: one sort of all values by row first, and then by their keys."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.ops import Generate, Sort
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.operators import by_keys, keys_of, needs_memory
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.inner import lift_inner
from flatweave.passes.nests.segments import Segments
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import free_vars


@rule(Sort)
def lift_sort(rows: Rows, op: Sort) -> Sequence[Atom]:
    """sort fn row   ==>   sort (r, x => r, fn x) [row numbers, values]"""
    if needs_memory(op):
        own = lift_inner(rows, keys_of(op))
        return lift_sort(rows, by_keys(own, op.xs))[len(own) :]
    shape = array_type(op.xs[0]).shape
    segments, xs = rows.line(op.xs)
    if not any(map(rows.varies, free_vars(op.fn))):
        (numbers,) = _keys(rows, segments, xs, Lambda(op.fn.params, (), ()))
        _, *sorted_ = rows.b.emit(Sort(_by_row(rows, op.fn), (numbers, *xs)))
        return [rows.bind_line(segments, x, shape) for x in sorted_]
    keys = _keys(rows, segments, xs, op.fn)
    made = rows.b.emit(by_keys(keys, xs))
    return [rows.bind_line(segments, x, shape) for x in made[len(keys) :]]


def _by_row(rows: Rows, fn: Lambda) -> Lambda:
    """The keys with the number of the row before them."""
    inside = rows.b.inner()
    row = inside.param("r", u64)
    params = [inside.param(param.name, param.type) for param in fn.params]
    return inside.close([row, *params], [row, *inside.inline(fn, params)])


def _keys(
    rows: Rows, segments: Segments, xs: Sequence[Atom], fn: Lambda
) -> Sequence[Atom]:
    """For each value the number of its row, and its keys, which may read what its row has."""
    rows.settle(free_vars(fn))
    rows.settle_checks()
    inside = rows.b.inner()
    p = inside.param("p", i64, segments.total)
    number, _ = segments.locate(inside, p)
    row = inside.unravel(number, rows.shape)
    values = [at(inside, x, p) for x in xs]
    own = inside.inline(fn, values, rows.inlined(inside, row, free_vars(fn)))
    keys = [inside.cast(number, u64), *own]
    return rows.b.emit(Generate((segments.total,), inside.close([p], keys)))
