"""A search in the ends of every row's sources: one search in the ends of all of them.

    sizes of rows  [2, 1], [3]     ends  [2, 3], [3]     ends of all  [2, 3, 6]
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import Locate
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each, or_zero
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import Uneven, from_lengths
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


@rule(Locate)
def lift_locate(rows: Rows, op: Locate) -> Sequence[Atom]:
    """locate ends p   ==>   locate (ends of all rows) (begin of row + p), less what is before"""
    ends, base = all_ends(rows, op.ends)
    body = rows.body
    begin = rows.start(base)
    of, start = body.emit(Locate(ends, 0, body.add(begin, op.position)), "s")
    before = rows.start(rows.segments(array_type(op.ends).shape))
    own = body.sub(body.sub(of, before), index(op.skip))
    return own, body.sub(start, begin)


def all_ends(rows: Rows, ends: Atom) -> tuple[Atom, Uneven]:
    """The ends of all rows' sources, counted from the first row on, and how they are cut."""
    segments, (flat,) = rows.line([ends])
    last = _last(rows, ends)
    base = from_lengths(rows.b, rows.count, rows.column([last])[0])

    def moved(c: Builder, p: Atom) -> Atom:
        row, _ = segments.locate(c, p)
        end = at(c, flat, p)
        return c.add(base.span(c, row)[0], end)

    return each(rows.b, segments.total, moved, "ends"), base


def _last(rows: Rows, ends: Atom) -> Atom:
    """The last end of a row, 0 where there is none."""
    (extent,) = array_type(ends).shape
    there = rows.body.apply("gt", extent, index(0))
    return or_zero(rows.body, there, lambda c: at(c, ends, c.sub(extent, index(1))))
