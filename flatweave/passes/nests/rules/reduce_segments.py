"""Segments of every row combined: those of all rows, where a row begins one anyway."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import ReduceSegments
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.carried import carried, is_carried
from flatweave.passes.nests.rules.filter import counted
from flatweave.passes.nests.segments import from_lengths
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


@rule(ReduceSegments)
def lift_reduce_segments(rows: Rows, op: ReduceSegments) -> Sequence[Atom]:
    """reduce_segments fn ne starts row   ==>   the same over all values, and their number by row"""
    starts = _own_starts(rows, op.starts)
    segments, (flags, *xs) = rows.line((starts, *op.xs))
    found = from_lengths(rows.b, rows.count, rows.column([counted(rows, starts)])[0])
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
