"""Scans of rows as a chunk computes them: column by column, where the operator is one on numbers.

    scan (a, b => map (add) [a, b]) [before] [m]  ==>  what `fw.scan` of rows is on one machine

There rows are few or many, long or short, and scanned by what is good for memory
(`frontend/arrays/narrow.py`, `down.py`). The program that is divided has the rows' scan itself, so
that it is one exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.frontend.arrays.columns import has_known_identity, scan_rows
from flatweave.frontend.trace.trace import Leaf, trace
from flatweave.ops import Scan
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom

EXTENT = 2
"""Of what is traced; any that is not broadcast would do."""


def scanned_by_columns(b: Builder, op: Scan) -> Sequence[Atom]:
    """The results of a scan of rows, emitted; none where its operator combines rows otherwise."""
    taken = (*op.neutral, *op.xs)
    if array_type(op.xs[0]).rank == 1:
        return ()
    count = len(op.xs)

    def body(leaves: list[Any]) -> Any:
        if not has_known_identity(op.fn):
            return ()
        return tuple(scan_rows(op.fn, leaves[:count], leaves[count:], op.exclusive, op.reverse))

    types = [array_type(x) for x in taken]
    traced = trace("rows", body, [Leaf(t.dtype, "x", "", (EXTENT,) * t.rank) for t in types])
    fn = traced.program.fn
    if not fn.results:
        return ()
    values: dict[Atom, Atom] = {}
    arrays = [param for param in fn.params if isinstance(param.type, ArrayType)]
    for param, x, type_ in zip(arrays, taken, types, strict=True):
        values[param] = x
        values.update(zip(array_type(param).shape, type_.shape, strict=True))
    return b.inline(fn, [values[param] for param in fn.params])
