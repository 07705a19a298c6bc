"""How the rows of a nest are concatenated in flat arrays.

    Even      rows of one length:       row i begins at i * length
    Uneven    rows of varying lengths:  row i begins at offsets[i]
"""

from __future__ import annotations

from flatweave.array_ir.fault import OVERFLOW, sizes_overflow
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Check, Locate, Reduce, Scan, Span
from flatweave.passes.nests.arrays import at, each, or_zero
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import Atom


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

    def span(self, b: Builder, row: Atom) -> tuple[Atom, Atom]:
        """Where a row begins, and how long it is."""
        return b.mul(row, self.length), self.length

    def longest(self, b: Builder) -> Atom:
        """How long the longest row is."""
        return self.length

    def offsets_in(self, b: Builder) -> Atom:
        """Where every row begins, and where the last one ends, as an array."""
        entries = b.add(self.rows, index(1))
        return each(b, entries, lambda c, i: c.mul(i, self.length), "offsets")


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

    def span(self, b: Builder, row: Atom) -> tuple[Atom, Atom]:
        """Where a row begins, and how long it is."""
        start, length = b.emit(Span(self.offsets, row), "row")
        return start, length

    def longest(self, b: Builder) -> Atom:
        """How long the longest row is."""
        lengths = each(b, self.rows, lambda c, i: c.emit(Span(self.offsets, i))[1])
        most = Reduce(lambda_of("maximum", i64), (index(0),), (lengths,), known=True)
        return b.emit(most, "longest")[0]

    def offsets_in(self, b: Builder) -> Atom:
        """Where every row begins, and where the last one ends, as an array."""
        return self.offsets


Segments = Even | Uneven


def from_offsets(b: Builder, rows: Atom, offsets: Atom) -> Uneven:
    """The rows that known offsets cut."""
    return Uneven(rows, offsets, at(b, offsets, rows))


def from_lengths(b: Builder, rows: Atom, lengths: Atom) -> Uneven:
    """Rows of given lengths, one for each, none of them negative: their exclusive prefix sums."""
    entries = b.add(rows, index(1))

    def size(c: Builder, i: Atom) -> Atom:
        return or_zero(c, c.apply("lt", i, rows), lambda there: at(there, lengths, i))

    def end(c: Builder, i: Atom) -> Atom:
        # of sums that overflow, the first one wraps to below 0
        found = at(c, sums, i)
        fits = c.apply("ge", found, index(0))
        c.emit(Check(fits, OVERFLOW, (c.sub(i, index(1)),), sizes_overflow("the rows")))
        return found

    sizes = each(b, entries, size)
    (sums,) = b.emit(Scan(lambda_of("add", i64), (index(0),), (sizes,), exclusive=True))
    return from_offsets(b, rows, each(b, entries, end, "offsets"))

