"""A branch in every row: each body for the rows that choose it, and for no other.

    i => if p (then i) (other i)      ys = nest over the rows where p holds; zs = over the others
                                      i => if p ys[how many before i hold] zs[how many do not]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Index, Scan
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import array_of, at, each
from flatweave.passes.nests.distribute import is_array, rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.subset import over_some, where
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import free_vars

Read = Callable[..., Atom]
"""Emits a read, given a builder, a row's position among the rows of a body, and indices."""


@record(eq=True)
class Side:
    """The results of one body for its rows, and the position of the current row among them."""

    rows: Rows
    results: list[Atom]
    place: Atom


@rule(If)
def lift_branch(rows: Rows, op: If) -> Sequence[Atom]:
    """Both bodies, each over its own rows; each row reads what its body gave."""
    rows.settle([op.condition, *free_vars(op.then), *free_vars(op.other)])
    (mask,) = rows.column([op.condition])
    condition = rows.scalar(mask)
    before = _counted_before(rows, mask)
    own = rows.body.emit(Index(before, (rows.row,), checked=False))[0]
    sides = [
        _side(rows, op.then, lambda b, i: at(b, mask, i), own),
        _side(rows, op.other, lambda b, i: b.apply("not", at(b, mask, i)),
              rows.body.sub(rows.row, own)),
    ]  # fmt: skip
    bound: list[Atom] = []
    made = {var for let in op.then.lets for var in let.vars}
    for k, result in enumerate(op.then.results):
        if is_array(result):
            shape = bound[len(bound) - array_type(result).rank :]
            bound.append(_array(rows, condition, sides, k, shape))
        elif result == op.other.results[k] and result not in made:
            bound.append(result)
        else:
            bound.append(_scalar(rows, condition, sides, k))
    return bound


def _side(rows: Rows, fn: Lambda, holds: Callable[[Builder, Atom], Atom], place: Atom) -> Side:
    count, numbers = where(rows.b, rows.count, holds)
    some, results = over_some(rows, rows.b, count, lambda b, k: at(b, numbers, k), fn)
    return Side(some, results, place)


def _counted_before(rows: Rows, mask: Atom) -> Atom:
    """For each row how many rows before it have the flag."""
    ones = each(rows.b, rows.count, lambda b, i: b.cast(at(b, mask, i), i64))
    op = Scan(lambda_of("add", i64), (index(0),), (ones,), exclusive=True)
    return rows.b.emit(op)[0]


def _scalar(rows: Rows, condition: Atom, sides: Sequence[Side], k: int) -> Atom:
    columns = [side.rows.column([side.results[k]])[0] for side in sides]
    return _chosen(rows.body, condition, sides, [_from(column) for column in columns])


def _from(column: Atom) -> Read:
    return lambda b, row: at(b, column, row)


def _chosen(
    b: Builder, condition: Atom, sides: Sequence[Side], reads: Sequence[Read], *place: Atom
) -> Atom:
    """The results of the body that the row chose; of arrays the element at `place`."""
    bodies = []
    for side, read in zip(sides, reads, strict=True):
        inside = b.inner(optional=True)
        bodies.append(inside.close([], [read(inside, side.place, *place)]))
    return b.emit(If(condition, *bodies))[0]


def _array(
    rows: Rows, condition: Atom, sides: Sequence[Side], k: int, shape: Sequence[Atom]
) -> Atom:
    def value(b: Builder, place: Sequence[Atom]) -> Atom:
        return _chosen(b, condition, sides, reads, *place)

    reads = [_reader(side, k) for side in sides]
    return array_of(rows.body, shape, value, hint="row")


def _reader(side: Side, k: int) -> Read:
    """Reads an element of a body's result for the row at some position among its rows."""
    result = side.results[k]
    (flat,) = side.rows.flat([result])
    own = array_type(result).shape
    lead = side.rows.lead(own)
    columns = [side.rows.column([extent])[0] for extent in own[:lead]]

    def read(b: Builder, row: Atom, *place: Atom) -> Atom:
        if flat.segments is None:
            return at(b, flat.array, row, *place)
        start = flat.segments.span(b, row)[0]
        extents = [at(b, column, row) for column in columns]
        return at(b, flat.array, b.add(start, b.ravel(place[:lead], extents)), *place[lead:])

    return read
