"""A Python function called for every row: one step of the host, which calls it by its method."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import Argument, Callback, Returned
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.terms.syntax import ArrayType, Atom


@rule(Callback)
def lift_callback(rows: Rows, op: Callback) -> Sequence[Atom]:
    """callback fn [x]   ==>   callback fn rows [xs], the rows of each operand one after another"""
    rows.settle_checks()
    varying = [extent for extent in op.extents() if rows.varies(extent)]
    columns = dict(zip(varying, rows.column(varying), strict=True)) if varying else {}

    def extents(shape: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(columns.get(extent, extent) for extent in shape)

    operands = tuple(
        Argument(_value(rows, each.value), extents(each.shape), each.seen, True)
        if rows.varies(each.value) else each
        for each in op.operands
    )  # fmt: skip
    segments = [rows.segments(each.shape) for each in op.results]
    results = tuple(
        Returned(each.dtype, extents(each.shape), each.seen, (cut.total,))
        for each, cut in zip(op.results, segments, strict=True)
    )
    found = rows.b.emit(Callback(op.fn, op.method, (rows.count,), operands, results))
    return [
        rows.bind_line(cut, array, each.shape) if each.shape else rows.scalar(array)
        for array, each, cut in zip(found, op.results, segments, strict=True)
    ]


def _value(rows: Rows, value: Atom) -> Atom:
    """An operand for all rows under one axis."""
    if isinstance(value.type, ArrayType):
        return rows.line([value])[1][0]
    return rows.column([value])[0]
