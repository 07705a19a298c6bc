"""Operators and neutral elements that differ from row to row, as one operator for all rows.

Each value brings what the operator reads of its row, and whether it begins a row; the neutral
element of a row is combined with its first value beforehand.

    (f, x, c) op' (g, y, d) = (f or g, y if g else x op[d] y, d)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.ops import Generate
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import Segments
from flatweave.terms.build import Builder
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Var, constant
from flatweave.terms.traverse import free_vars

Begins = Callable[[Builder, Atom, Atom], Atom]
"""Whether a position, in a row that begins somewhere, begins a segment."""


@record(eq=True)
class Carried:
    """An operator over flags, values and what they carry, its arrays, and the neutral elements."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    arrays: tuple[Atom, ...]
    starts: tuple[Atom, ...]
    width: int

    def values(self, results: Sequence[Atom]) -> Sequence[Atom]:
        """The combined values among the results of a scan or reduction."""
        return results[1 : 1 + self.width]


def is_carried(rows: Rows, fn: Lambda, neutral: Sequence[Atom]) -> bool:
    """Whether an operator or its neutral element differs from row to row."""
    return any(map(rows.varies, (*neutral, *free_vars(fn))))


def carried(
    rows: Rows, fn: Lambda, neutral: Sequence[Atom], segments: Segments, xs: Sequence[Atom],
    begins: Begins, reverse: bool = False,
) -> Carried:  # fmt: skip
    """The operator of all rows over concatenated numbers."""
    starts = rows.column(neutral)
    held, free = held_of(rows, fn)
    inside = rows.b.inner()
    p = inside.param("p", i64, segments.total)
    row, start = segments.locate(inside, p)
    first = begins(inside, p, start)
    values = [at(inside, x, p) for x in xs]
    own = [at(inside, column, row) for column in held]
    there, other = inside.inner(optional=True), inside.inner(optional=True)
    ne = [at(there, column, row) for column in starts]
    pair = (*values, *ne) if reverse else (*ne, *values)
    combined = there.inline(free, (*own, *pair))
    entered = inside.emit(If(first, there.close([], combined), other.close([], values)))
    made = rows.b.emit(
        Generate((segments.total,), inside.close([p], [first, *entered, *own]))
    )
    types = [array_type(array).dtype for array in made]
    zeros = tuple(constant(0, dtype) for dtype in types)
    joined = _operator(rows.b, free, types, len(xs), reverse)
    return Carried(joined, zeros, tuple(made), tuple(starts), len(xs))


def held_of(rows: Rows, fn: Lambda) -> tuple[list[Atom], Lambda]:
    """What an operator reads of its row, a column each, and the operator with that before its
    elements: the scalars that it reads, or else the row's number."""
    read = [var for var in free_vars(fn) if rows.varies(var)]
    if all(isinstance(var.type, DType) for var in read):
        return rows.column(read), Lambda((*read, *fn.params), fn.lets, fn.results)
    return [each(rows.b, rows.count, lambda b, i: i)], _of_row(rows, fn)


def _of_row(rows: Rows, fn: Lambda) -> Lambda:
    """An operator that reads arrays of its row, as one of the row's number and two elements."""
    rows.settle(free_vars(fn))
    inside = rows.b.inner()
    number = inside.param("i", i64, rows.count)
    params = [inside.param(param.name, param.type) for param in fn.params]
    row = inside.unravel(number, rows.shape)
    renaming = rows.inlined(inside, row, free_vars(fn))
    return inside.close([number, *params], inside.inline(fn, params, renaming))


def _operator(
    b: Builder, fn: Lambda, types: Sequence[DType], width: int, reverse: bool
) -> Lambda:
    """The operator on two elements; the later one, in the order of the scan, may begin anew."""
    inside = b.inner()
    first: list[Var] = [inside.param("a", dtype) for dtype in types]
    second: list[Var] = [inside.param("b", dtype) for dtype in types]
    later = first if reverse else second
    begins = inside.apply("or", first[0], second[0])
    held = later[1 + width :]
    anew, on = inside.inner(optional=True), inside.inner(optional=True)
    combined = on.inline(b.copy(fn), (*held, *first[1 : 1 + width], *second[1 : 1 + width]))
    kept = anew.close([], later[1 : 1 + width])
    values = inside.emit(If(later[0], kept, on.close([], combined)))
    assert begins.type is bool_
    return inside.close([*first, *second], [begins, *values, *held])
