"""Scans of the rows of a Ragged: one scan of the flat values that starts anew where a row does.

    map cumsum rows     scanned = scan (restarting add) [false, 0] [p begins a row, values[p]]
                        row i of the result: scanned[offsets[i] + k]
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.frontend.array import Tracer
from flatweave.frontend.broadcast import generated, read
from flatweave.frontend.extents import ONE, add, sub
from flatweave.frontend.locate import locate
from flatweave.frontend.rows import restarting, shifted, wrap_false
from flatweave.frontend.scope import current
from flatweave.frontend.values import emit, wrap
from flatweave.ops import Generate, Index, Scan
from flatweave.terms.syntax import Atom, Let, Var


def scan_of_rows(op: Scan, values: Sequence[Tracer], offsets: Tracer) -> list[Tracer]:
    """A scan of each row, as flat arrays: `values` are those of all rows, one after the other."""

    def flagged(p: Atom) -> list[Tracer]:
        i, start = locate(offsets, 1, p)
        first = sub(read(offsets, (add(i, ONE),)).atom, ONE) if op.reverse else start
        moved = [shifted(x, (p,), first, e, op.reverse) if op.exclusive else read(x, (p,))
                 for x, e in zip(values, op.neutral, strict=True)]  # fmt: skip
        return [wrap(current().apply("eq", p, first)), *moved]

    flat = tuple(x.atom for x in generated(values[0].extents, flagged, "p"))
    fn = restarting(op.fn, op.reverse)
    return emit(Scan(fn, (wrap_false(), *op.neutral), flat, False, op.reverse))[1:]


def read_of_rows(let: Let, length: Atom, flat: Sequence[Tracer], offsets: Tracer, i: Var) -> Let:
    """What takes the place of a scan of row `i`: the row, read where it was stored."""
    b = current().builder.inner()
    k = b.var("k", i64)
    (start,) = b.emit(Index(offsets.atom, (i,), checked=False))
    place = b.add(start, k)
    row = [b.emit(Index(x.atom, (place,), checked=False))[0] for x in flat]
    return Let(let.vars, Generate((length,), b.close([k], row)), let.where)
