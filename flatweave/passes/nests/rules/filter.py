"""A filter of every row: one filter of all values, and how many of each row are kept."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Filter, Generate, Index, Reduce
from flatweave.ops.rows import array_type
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import from_lengths
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import Atom


@rule(Filter)
def lift_filter(rows: Rows, op: Filter) -> Sequence[Atom]:
    """filter mask row   ==>   filter mask values, and a count of each row's flags"""
    segments, (mask, *xs) = rows.line((op.mask, *op.xs))
    counts = counted(rows, op.mask)
    column = rows.column([counts])[0]
    kept = from_lengths(rows.b, rows.count, column)
    rows.know((counts,), kept)
    _, *found = rows.b.emit(Filter(mask, tuple(xs)))
    return [counts, *(rows.bind_line(kept, x, (counts,)) for x in found)]


def counted(rows: Rows, mask: Atom) -> Atom:
    """How often a row's flags hold."""
    shape = array_type(mask).shape
    inside = rows.body.inner()
    j = inside.param("j", i64, shape[0])
    (flag,) = inside.emit(Index(mask, (j,), checked=False))
    one = inside.close([j], [inside.cast(flag, i64)])
    (ones,) = rows.body.emit(Generate(shape, one))
    total = Reduce(lambda_of("add", i64), (index(0),), (ones,))
    return rows.body.emit(total, "kept")[0]


