"""Rows that a sweep reads around each element's own row.

    sweep [n, m] (i, j =>
        a = index xs [maximum (i - 1) 0, j]            xs: rows i - 1 and i + 1, the last one
        b = index xs [minimum (i + 1) (n - 1), j])     of which a step prefetches
"""

from __future__ import annotations

from flatweave.access.analyse import Accesses, find_offset
from flatweave.base.records import record
from flatweave.ops import Index, Sweep
from flatweave.ops.rows import array_type, scalar_type
from flatweave.terms.syntax import Var


@record(eq=True)
class Neighbours:
    """The reads of rows around an element's own row: for each array the read of the furthest row,
    which a step prefetches, and the bytes of a column of all these rows, including those that are
    stored."""

    furthest: tuple[Index, ...]
    column_bytes: int


def find_neighbours(op: Sweep, known: Accesses) -> Neighbours | None:
    """Of a sweep that reads several rows of an array, all at its own indices of the axes before."""
    if len(op.shape) < 2 or op.reverse:
        return None
    *before, row, column = op.body.params
    rows: dict[Var, dict[int, Index]] = {}
    for read in (let.op for let in op.body.lets if isinstance(let.op, Index)):
        if len(read.indices) != len(op.shape):
            continue
        *lead, i, j = read.indices
        offset = find_offset(known, i, row)
        if offset is None or lead != before or find_offset(known, j, column) is None:
            return None
        assert isinstance(read.xs, Var)
        rows.setdefault(read.xs, {}).setdefault(offset, read)
    if all(len(reads) == 1 for reads in rows.values()):
        return None
    bytes_read = sum(
        (max(at) - min(at) + 1) * array_type(xs).dtype.bytes for xs, at in rows.items()
    )
    bytes_stored = sum(scalar_type(result).bytes for result in op.body.results)
    furthest = tuple(at[max(at)] for at in rows.values())
    return Neighbours(furthest, bytes_read + bytes_stored)
