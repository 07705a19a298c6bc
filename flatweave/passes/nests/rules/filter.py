"""A filter of every row: one filter of all values, and how many of each row are kept.

An array that is only a function of the index in the row is not stored. The positions of kept
elements are stored instead; they do not depend on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Filter, Generate, Reduce
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import array_of, at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import from_lengths
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom


@rule(Filter)
def lift_filter(rows: Rows, op: Filter) -> Sequence[Atom]:
    """filter mask row   ==>   filter mask values, and a count of each row's flags"""
    counts = [x for x in op.xs if _is_of_index(rows.body, x)]
    values = [x for x in op.xs if x not in counts]
    segments, (mask, *xs) = rows.line((op.mask, *values))
    kept = from_lengths(rows.b, rows.count, rows.column([counted(rows, op.mask)])[0])
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


def counted(rows: Rows, mask: Atom) -> Atom:
    """How often a row's flags hold."""
    (extent,) = array_type(mask).shape
    ones = each(rows.body, extent, lambda c, j: c.cast(at(c, mask, j), i64))
    total = Reduce(lambda_of("add", i64), (index(0),), (ones,))
    return rows.body.emit(total, "kept")[0]
