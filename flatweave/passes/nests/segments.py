"""The rows of a nest in flat arrays: how they are concatenated, written, and combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.array_ir.syntax import OVERFLOW, sizes_overflow
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.ops import (
    HOST_BODIES,
    Check,
    Generate,
    Index,
    Locate,
    Nest,
    PackBits,
    Reduce,
    Scan,
    Span,
)
from flatweave.ops.arrays import WORD
from flatweave.passes.nests.hard import has_hard, needs_memory
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Op, Var, array_type, constant
from flatweave.terms.traverse import lambdas_in

# -- segments -------------------------------------------------------------------------------------
#
# How the rows of a nest are concatenated in flat arrays, and how such arrays are written.
#
#     Even      rows of one length:       row i begins at i * length
#     Uneven    rows of varying lengths:  row i begins at offsets[i]
#
#     each(b, n, lambda c, i: c.add(i, one))      generate [n] (i => add i 1)
#     at(b, xs, i)                                index xs [i]
#     or_zero(b, there, lambda c: at(c, xs, i))   if there (index xs [i]) 0


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


# -- row operators --------------------------------------------------------------------------------
#
# Operators on rows that do not work element by element, or that need memory: combined in rounds.
#
#   reduce fn ne xs     xs = [ne, xs[0], xs[1], ..]; while there is more than one row:
#                       rows 2i and 2i + 1 are combined, a last one alone goes on as it is
#   scan fn ne xs       the same rows; for d = 1, 2, 4, ..: row i becomes row i - d combined with it
#
# Every round is one nest over pairs of rows; where the operator combines numbers, these are such
# rows. The scan combines n log n pairs (Hillis and Steele 1986).


Shapes = Sequence[tuple[Atom, ...]]


def combines_rows(op: Op) -> bool:
    """Whether an operation combines rows rather than scalars."""
    return isinstance(op, Reduce | Scan) and any(
        isinstance(atom.type, ArrayType) for atom in op.neutral
    )


def is_nested(op: Op) -> bool:
    """Whether an operation of the host has an element function that needs memory."""
    if isinstance(op, Nest) or combines_rows(op):
        return True
    if isinstance(op, HOST_BODIES):
        return any(is_nested(let.op) for fn in lambdas_in(op) for let in fn.lets)
    return any(has_hard(fn) for fn in lambdas_in(op))


def is_in_rounds(op: Op) -> bool:
    """Whether an operation is done in rounds: one of rows, or whose operator needs memory."""
    if combines_rows(op) or not isinstance(op, Reduce | Scan) or not needs_memory(op):
        return combines_rows(op)
    return array_type(op.xs[0]).rank == 1 and not (isinstance(op, Scan) and op.starts)


def in_rounds(b: Builder, op: Reduce | Scan) -> list[Atom]:
    """The results of a reduction or scan, as loops that stay nested."""
    reverse = isinstance(op, Scan) and op.reverse
    shapes = [array_type(x).shape[1:] for x in op.xs]
    count = array_type(op.xs[0]).shape[0]
    fn = op.fn
    if reverse:
        half = len(op.xs)
        fn = Lambda(fn.params[half:] + fn.params[:half], fn.lets, fn.results)
    rows = b.add(count, index(1))
    init = _with_neutral(b, op, rows, count, shapes, reverse)
    if isinstance(op, Reduce):
        return _reduced(b, fn, rows, init, shapes)
    made = _scanned(b, fn, rows, init, shapes)
    first = index(0 if op.exclusive else 1)

    def combined(c: Builder, place: Sequence[Atom], x: Atom) -> Atom:
        i = c.sub(c.sub(count, index(1)), place[0]) if reverse else place[0]
        return read(c, x, [c.add(i, first), *place[1:]])

    pairs = zip(made, shapes, strict=True)
    return [array_of(b, (count, *shape), combined, x) for x, shape in pairs]


def _with_neutral(
    b: Builder, op: Reduce | Scan, rows: Atom, count: Atom, shapes: Shapes, reverse: bool
) -> list[Atom]:
    """The rows with the neutral one before them, in the order in which they are combined."""

    def row(c: Builder, place: Sequence[Atom], x: Atom, ne: Atom) -> Atom:
        before = c.sub(count, place[0]) if reverse else c.sub(place[0], index(1))
        first = c.apply("eq", place[0], index(0))
        return _either(c, first, ne, place[1:], x, [before, *place[1:]])

    return [
        array_of(b, (rows, *shape), row, x, ne)
        for x, ne, shape in zip(op.xs, op.neutral, shapes, strict=True)
    ]


def _reduced(
    b: Builder, fn: Lambda, rows: Atom, init: Sequence[Atom], shapes: Shapes
) -> list[Atom]:
    turn = b.inner(optional=True)
    left = turn.param("left", i64)
    state = _state(turn, left, init, shapes)
    pairs = turn.apply("floordiv", left, index(2))
    half = turn.sub(left, pairs)

    def neighbours(c: Builder, i: Atom) -> tuple[Atom, Atom]:
        first = c.mul(i, index(2))
        return first, c.add(first, index(1))

    joined = _pairs(turn, fn, pairs, state, shapes, neighbours)

    def row(c: Builder, place: Sequence[Atom], x: Atom, y: Atom) -> Atom:
        last = c.sub(left, index(1))
        return _either(c, c.apply("lt", place[0], pairs), y, place, x, [last, *place[1:]])

    after = [
        array_of(turn, (half, *shape), row, x, y)
        for x, y, shape in zip(state, joined, shapes, strict=True)
    ]
    body = turn.close([left, *state], [half, *after])
    test, size, _ = b.iteration("left")
    held = _state(test, size, init, shapes)
    more = test.close([size, *held], [test.apply("gt", size, index(1))])
    _, *last = b.emit(While(more, body, (rows, *init)))
    return [
        _row(b, x, index(0), shape) for x, shape in zip(last, shapes, strict=True)
    ]


def _scanned(
    b: Builder, fn: Lambda, rows: Atom, init: Sequence[Atom], shapes: Shapes
) -> list[Atom]:
    turn = b.inner(optional=True)
    by = turn.param("d", i64)
    state = _state(turn, rows, init, shapes)
    pairs = turn.sub(rows, by)
    joined = _pairs(turn, fn, pairs, state, shapes, lambda c, i: (i, c.add(i, by)))

    def row(c: Builder, place: Sequence[Atom], x: Atom, y: Atom) -> Atom:
        before = [c.sub(place[0], by), *place[1:]]
        return _either(c, c.apply("lt", place[0], by), x, place, y, before)

    after = [
        array_of(turn, (rows, *shape), row, x, y)
        for x, y, shape in zip(state, joined, shapes, strict=True)
    ]
    body = turn.close([by, *state], [turn.mul(by, index(2)), *after])
    test, distance, _ = b.iteration("d")
    held = _state(test, rows, init, shapes)
    more = test.close([distance, *held], [test.apply("lt", distance, rows)])
    _, *made = b.emit(While(more, body, (index(1), *init)))
    return [*made]


def _state(b: Builder, rows: Atom, like: Sequence[Atom], shapes: Shapes) -> list[Var]:
    return [
        b.param("x", ArrayType(array_type(x).dtype, (rows, *shape)))
        for x, shape in zip(like, shapes, strict=True)
    ]


def _pairs(
    b: Builder, fn: Lambda, count: Atom, xs: Sequence[Atom], shapes: Shapes,
    of: Callable[[Builder, Atom], tuple[Atom, Atom]],
) -> Sequence[Atom]:  # fmt: skip
    """Pairs of rows combined."""
    inside = b.inner()
    i = inside.param("i", i64, count)
    args = [
        _row(inside, x, k, shape)
        for k in of(inside, i) for x, shape in zip(xs, shapes, strict=True)
    ]
    results = inside.inline(b.copy(fn), args)
    return b.emit(Generate((count,), inside.close([i], results)))


def _either(
    b: Builder, first: Atom, x: Atom, place: Sequence[Atom], y: Atom, other: Sequence[Atom]
) -> Atom:
    """x at `place` if `first` holds, else y at `other`."""
    return b.choose(first, lambda c: [read(c, x, place)], lambda c: [read(c, y, other)])[0]


def read(b: Builder, array: Atom, place: Sequence[Atom]) -> Atom:
    """An element; of a scalar the scalar itself, which stands for all elements of a row."""
    if isinstance(array.type, DType):
        return array
    return at(b, array, *place)


def _row(b: Builder, array: Atom, k: Atom, shape: Sequence[Atom]) -> Atom:
    """Row `k`; of an array of scalars element `k`."""
    if not shape:
        return read(b, array, [k])
    return array_of(b, shape, lambda c, place: read(c, array, [k, *place]))
