"""Writes into an array of every row: writes into the one array that holds those of all rows."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import u64
from flatweave.base.errors import Unsupported
from flatweave.ops import Permute, Scatter
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import Segments
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import free_vars


@rule(Scatter, Permute)
def lift_scatter(rows: Rows, op: Scatter | Permute) -> Sequence[Atom]:
    """scatter row at values   ==>   scatter rows (begin of row + at) values"""
    shape = array_type(op.dest[0]).shape
    to, dest = rows.line(op.dest)
    of, (indices, *xs) = rows.line((op.indices, *op.xs))
    changes = {"dest": tuple(dest), "indices": _places(rows, to, of, indices), "xs": tuple(xs)}
    if isinstance(op, Permute):
        if any(map(rows.varies, free_vars(op.fn))):
            raise Unsupported(
                "permute inside an element function with an operator that reads values of the row.",
                where=rows.b.where, remedy="Make these values part of the elements.",
            )  # fmt: skip
        if any(map(rows.varies, op.neutral)):
            changes["neutral"] = ()
    made = rows.b.emit(op.replace(**changes))
    return [rows.bind_line(to, array, shape) for array in made]


def _places(rows: Rows, to: Segments, of: Segments, indices: Atom) -> Atom:
    """Where each value goes among the arrays of all rows; -1 for outside of its row's."""

    def place(c: Builder, p: Atom) -> Atom:
        row, _ = of.locate(c, p)
        i = at(c, indices, p)
        start, length = to.span(c, row)
        there = c.apply("lt", c.cast(i, u64), c.cast(length, u64))
        return c.apply("select", there, c.add(start, i), index(-1))

    return each(rows.b, of.total, place)

