"""How the rows of a nest lie one after the other in flat arrays.

    Even      rows of one length:       row i begins at i * length
    Uneven    rows of varying lengths:  row i begins at offsets[i]
"""

from __future__ import annotations

from flatweave.array_ir.fault import OVERFLOW, sizes_overflow
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Check, Generate, Index, Locate, Scan, Span
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda


@record(eq=True)
class Even:
    """Rows of one length."""

    rows: Atom
    length: Atom
    total: Atom

    def locate(self, b: Builder, p: Atom) -> tuple[Atom, Atom]:
        """The row that a position belongs to, and where it begins."""
        row = b.apply("floordiv", p, self.length)
        return row, b.mul(row, self.length)

    def start(self, b: Builder, row: Atom) -> Atom:
        """Where a row begins."""
        return b.mul(row, self.length)

    def length_of(self, b: Builder, row: Atom) -> Atom:
        """How long a row is."""
        return self.length

    def offsets_in(self, b: Builder) -> Atom:
        """Where every row begins, and where the last one ends, as an array."""
        entries = b.add(self.rows, index(1))
        inside = b.inner()
        i = inside.param("i", i64, entries)
        fn = inside.close([i], [inside.mul(i, self.length)])
        return b.emit(Generate((entries,), fn), "offsets")[0]


@record(eq=True)
class Uneven:
    """Rows of varying lengths; `offsets` has one entry more than there are rows."""

    rows: Atom
    offsets: Atom
    total: Atom

    def locate(self, b: Builder, p: Atom) -> tuple[Atom, Atom]:
        """The row that a position belongs to, and where it begins."""
        row, start = b.emit(Locate(self.offsets, 1, p), "s")
        return row, start

    def start(self, b: Builder, row: Atom) -> Atom:
        """Where a row begins."""
        return b.emit(Span(self.offsets, row), "start")[0]

    def length_of(self, b: Builder, row: Atom) -> Atom:
        """How long a row is."""
        return b.emit(Span(self.offsets, row), "start")[1]

    def offsets_in(self, b: Builder) -> Atom:
        """Where every row begins, and where the last one ends, as an array."""
        return self.offsets


Segments = Even | Uneven


def from_offsets(b: Builder, rows: Atom, offsets: Atom) -> Uneven:
    """The rows that known offsets cut."""
    (total,) = b.emit(Index(offsets, (rows,), checked=False), "total")
    return Uneven(rows, offsets, total)


def from_lengths(b: Builder, rows: Atom, lengths: Atom) -> Uneven:
    """Rows of given lengths, one for each, none of them negative: their exclusive prefix sums."""
    entries = b.add(rows, index(1))
    inside = b.inner()
    i = inside.param("i", i64, entries)
    there = inside.inner(optional=True)
    (length,) = there.emit(Index(lengths, (i,), checked=False))
    none = inside.inner(optional=True).close([], [index(0)])
    has_row = inside.apply("lt", i, rows)
    (size,) = inside.emit(If(has_row, there.close([], [length]), none))
    (sizes,) = b.emit(Generate((entries,), inside.close([i], [size])))
    (sums,) = b.emit(Scan(lambda_of("add", i64), (index(0),), (sizes,), exclusive=True))
    (offsets,) = b.emit(Generate((entries,), _checked(b, entries, sums)), "offsets")
    return from_offsets(b, rows, offsets)


def _checked(b: Builder, entries: Atom, sums: Atom) -> Lambda:
    """The running sums; of sums that overflow, the first one wraps to below 0."""
    inside = b.inner()
    i = inside.param("i", i64, entries)
    (end,) = inside.emit(Index(sums, (i,), checked=False))
    fits = inside.apply("ge", end, index(0))
    inside.emit(Check(fits, OVERFLOW, (inside.sub(i, index(1)),), sizes_overflow("the rows")))
    return inside.close([i], [end])

