"""Writes into an array of every row: writes into the one array that holds those of all rows."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import u64
from flatweave.ops import Permute, Scatter
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import array_of, at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.carried import held_of
from flatweave.passes.nests.segments import Segments
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import free_vars


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

