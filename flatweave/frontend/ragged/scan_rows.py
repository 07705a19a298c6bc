"""Scans of the rows of a Ragged: one scan of the flat values that starts anew where a row does.

    map cumsum rows     scanned = scan add [0] [values] starts=[p begins a row]
                        row i of the result: scanned[offsets[i] + k]
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.ragged.locate import locate
from flatweave.frontend.trace.extents import ONE, add, sub
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Generate, Index, Scan
from flatweave.terms.syntax import Atom, Let, Var


def scan_of_rows(op: Scan, values: Sequence[Tracer], offsets: Tracer) -> list[Tracer]:
    """A scan of each row, as flat arrays: `values` are those of all rows, one after the other.

    A scan that starts anew within rows, too, has its flags behind its elements.
    """
    xs, flags = values[: len(op.xs)], values[len(op.xs) :]

    def begins(p: Atom) -> Tracer:
        i, start = locate(offsets, 1, p)
        first = sub(read(offsets, (add(i, ONE),)).atom, ONE) if op.reverse else start
        found = current().apply("eq", p, first)
        for flag in flags:
            found = current().apply("or", found, read(flag, (p,)).atom)
        return tracer_of(found)

    starts = generated(xs[0].extents, begins, "p")[0]
    atoms = tuple(x.atom for x in xs)
    return emit(Scan(op.fn, op.neutral, atoms, op.exclusive, op.reverse, (starts.atom,)))


def read_of_rows(let: Let, length: Atom, flat: Sequence[Tracer], offsets: Tracer, i: Var) -> Let:
    """What replaces a scan of row `i`: reads of the segmented scan's result."""
    b = current().builder.inner()
    k = b.var("k", i64)
    (start,) = b.emit(Index(offsets.atom, (i,), checked=False))
    place = b.add(start, k)
    row = [b.emit(Index(x.atom, (place,), checked=False))[0] for x in flat]
    return Let(let.vars, Generate((length,), b.close([k], row)), let.where)
