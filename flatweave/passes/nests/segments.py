"""How the rows of a nest are concatenated in flat arrays, and how such arrays are written.

    Even      rows of one length:       row i begins at i * length
    Uneven    rows of varying lengths:  row i begins at offsets[i]

    each(b, n, lambda c, i: c.add(i, one))      generate [n] (i => add i 1)
    at(b, xs, i)                                index xs [i]
    or_zero(b, there, lambda c: at(c, xs, i))   if there (index xs [i]) 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.array_ir.fault import OVERFLOW, sizes_overflow
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Check, Generate, Index, Locate, PackBits, Reduce, Scan, Span
from flatweave.ops.arrays import WORD
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, constant

Body = Callable[[Builder], Sequence[Atom]]
"""Emits lets, and gives their results."""


def array_of(
    b: Builder, shape: Sequence[Atom], fn: Callable[..., Atom], *operands: Any, hint: str = "t"
) -> Atom:
    """An array whose element is `fn(builder, indices, *operands)`."""
    inside = b.inner()
    place = [inside.param("i", i64, extent) for extent in shape]
    element = fn(inside, place, *operands)
    return b.emit(Generate(tuple(shape), inside.close(place, [element])), hint)[0]


def each(
    b: Builder, extent: Atom, fn: Callable[[Builder, Atom], Atom], hint: str = "t"
) -> Atom:
    """An array of one axis whose element is `fn(builder, index)`."""
    return array_of(b, (extent,), lambda c, place: fn(c, place[0]), hint=hint)


def at(b: Builder, array: Atom, *place: Atom) -> Atom:
    """An element of an array."""
    return b.emit(Index(array, place, checked=False))[0]


def branch(b: Builder, results: Sequence[Atom]) -> Lambda:
    """A branch that returns these, each array after its extents."""
    given: list[Atom] = []
    for result in results:
        if isinstance(result.type, ArrayType):
            given += result.type.shape
        given.append(result)
    return b.close([], given)


def first_of(b: Builder, versions: Sequence[tuple[Atom, Body]], other: Body) -> list[Atom]:
    """The results of the first version whose guard holds, or of the other one."""
    if not versions:
        return list(other(b))
    (guard, body), *rest = versions
    if isinstance(guard, Const):
        return list(body(b)) if guard.value else first_of(b, rest, other)
    then, otherwise = b.inner(optional=True), b.inner(optional=True)
    results = body(then)
    bodies = branch(then, results), branch(otherwise, first_of(otherwise, rest, other))
    found = iter(b.emit(If(guard, *bodies)))
    return [[next(found) for _ in (*getattr(x.type, "shape", ()), x)][-1] for x in results]


def or_zero(b: Builder, there: Atom, value: Callable[[Builder], Atom]) -> Atom:
    """An i64 that is computed only where a condition holds; elsewhere it is 0."""
    return b.choose(there, lambda c: [value(c)], lambda _: [index(0)])[0]


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


def by_flags(b: Builder, segments: Segments, mask: Atom) -> Uneven:
    """The rows that are left of some rows where only the elements whose flag holds are kept: a row
    begins after as many elements as flags hold before it."""
    bits = index(WORD.bits)
    extent = b.ceil_div(segments.total, bits)
    (words,) = b.emit(PackBits(mask, extent))
    counts = each(b, extent, lambda c, w: c.cast(c.apply("popcount", at(c, words, w)), i64))
    zero = (index(0),)
    (before,) = b.emit(Scan(lambda_of("add", i64), zero, (counts,), exclusive=True))
    begins = segments.offsets_in(b)

    def rank(c: Builder, i: Atom) -> Atom:
        begin = at(c, begins, i)

        def some(d: Builder) -> Atom:
            last = d.sub(begin, index(1))
            word = d.apply("floordiv", last, bits)
            above = d.sub(index(WORD.bits - 1), d.apply("mod", last, bits))
            every = constant((1 << WORD.bits) - 1, WORD)
            up_to = d.apply("shr", every, d.cast(above, WORD))
            own = d.apply("popcount", d.apply("and", at(d, words, word), up_to))
            return d.add(at(d, before, word), d.cast(own, i64))

        return or_zero(c, c.apply("gt", begin, index(0)), some)

    return from_offsets(b, segments.rows, each(b, b.add(segments.rows, index(1)), rank, "offsets"))
