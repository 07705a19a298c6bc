"""A filter of every row: one filter of all values, and how many of each row are kept."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Filter, Reduce
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import from_lengths
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import Atom


@rule(Filter)
def lift_filter(rows: Rows, op: Filter) -> Sequence[Atom]:
    """filter mask row   ==>   filter mask values, and a count of each row's flags"""
    segments, (mask, *xs) = rows.line((op.mask, *op.xs))
    kept = from_lengths(rows.b, rows.count, rows.column([counted(rows, op.mask)])[0])
    _, *found = rows.b.emit(Filter(mask, tuple(xs)))
    count = rows.length(kept)
    return [count, *(rows.bind_line(kept, x, (count,)) for x in found)]


def counted(rows: Rows, mask: Atom) -> Atom:
    """How often a row's flags hold."""
    (extent,) = array_type(mask).shape
    ones = each(rows.body, extent, lambda c, j: c.cast(at(c, mask, j), i64))
    total = Reduce(lambda_of("add", i64), (index(0),), (ones,))
    return rows.body.emit(total, "kept")[0]
