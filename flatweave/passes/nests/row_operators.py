"""Operators on rows that do not work element by element, or that need memory: combined in rounds.

    reduce fn ne xs     xs = [ne, xs[0], xs[1], ..]; while there is more than one row:
                        rows 2i and 2i + 1 are combined, a last one alone goes on as it is
    scan fn ne xs       the same rows; for d = 1, 2, 4, ..: row i becomes row i - d combined with it

Every round is one nest over pairs of rows; where the operator combines numbers, these are such
rows. The scan combines n log n pairs (Hillis and Steele 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.ops import HOST_BODIES, Generate, Nest, Reduce, Scan
from flatweave.passes.nests import segments
from flatweave.passes.nests.hard import has_hard, needs_memory
from flatweave.terms.build import Builder, index
from flatweave.terms.control import While
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Var
from flatweave.terms.traverse import lambdas_in

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
    return [segments.array_of(b, (count, *shape), combined, x) for x, shape in pairs]


def _with_neutral(
    b: Builder, op: Reduce | Scan, rows: Atom, count: Atom, shapes: Shapes, reverse: bool
) -> list[Atom]:
    """The rows with the neutral one before them, in the order in which they are combined."""

    def row(c: Builder, place: Sequence[Atom], x: Atom, ne: Atom) -> Atom:
        before = c.sub(count, place[0]) if reverse else c.sub(place[0], index(1))
        first = c.apply("eq", place[0], index(0))
        return _either(c, first, ne, place[1:], x, [before, *place[1:]])

    return [
        segments.array_of(b, (rows, *shape), row, x, ne)
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
        segments.array_of(turn, (half, *shape), row, x, y)
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
        segments.array_of(turn, (rows, *shape), row, x, y)
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
    return segments.at(b, array, *place)


def _row(b: Builder, array: Atom, k: Atom, shape: Sequence[Atom]) -> Atom:
    """Row `k`; of an array of scalars element `k`."""
    if not shape:
        return read(b, array, [k])
    return segments.array_of(b, shape, lambda c, place: read(c, array, [k, *place]))
