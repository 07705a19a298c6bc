"""Segments of every row combined: those of all rows, where a row begins one anyway."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Generate, Index, ReduceSegments
from flatweave.ops.rows import array_type
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.carried import carried, is_carried
from flatweave.passes.nests.rules.filter import counted
from flatweave.passes.nests.rules.subset import at
from flatweave.passes.nests.segments import from_lengths
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


@rule(ReduceSegments)
def lift_reduce_segments(rows: Rows, op: ReduceSegments) -> Sequence[Atom]:
    """reduce_segments fn ne starts row   ==>   the same over all values, and their number by row"""
    starts = _own_starts(rows, op.starts)
    segments, (flags, *xs) = rows.line((starts, *op.xs))
    count = counted(rows, starts)
    found = from_lengths(rows.b, rows.count, rows.column([count])[0])
    rows.know((count,), found)
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
    shape = array_type(starts).shape
    inside = rows.body.inner()
    j = inside.param("j", i64, shape[0])
    (flag,) = inside.emit(Index(starts, (j,), checked=False))
    begins = inside.apply("or", inside.apply("eq", j, index(0)), flag)
    return rows.body.emit(Generate(shape, inside.close([j], [begins])))[0]


