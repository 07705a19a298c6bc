"""Rows of arrays in chunks, read at computed places, brought by their owners.

    map (i => .. index xs [i]) ids        idx = ids; ys = gather_rows [xs] idx; map (y => .. y) ys

Each chunk says which rows it reads, in order and each once, and where in them each of its elements
is; the chunks that have these rows send them (`exchanges/gather.py`). `apart.py` makes such lets,
where what is read is too large to go to every chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from flatweave.base.dtypes import i64, u64
from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Filter, Generate, Index, Scan, Scatter, Sort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Let, Op, Type, Var, op

ZERO, ONE = index(0), index(1)


@op
class GatherRows(Op):
    """ys[k] = xs[index[k]] for arrays of one extent; rows at places outside of it are anything."""

    xs: tuple[Atom, ...]
    index: Atom

    def result_types(self) -> tuple[Type, ...]:
        extent = array_type(self.index).shape[0]
        return tuple(
            ArrayType(array_type(x).dtype, (extent, *array_type(x).shape[1:])) for x in self.xs
        )


class GatherRule(Rule):
    """The parts are the places that a chunk reads, in order and each once, and for each of its
    rows the number of its place among these."""

    op: ClassVar[type[Op]] = GatherRows
    stays: ClassVar[bool] = True
    again: ClassVar[bool] = False

    def fed(self, op: GatherRows) -> tuple[Atom, ...]:
        return (op.index,)

    def asked(self, let: Let, count: int) -> int:
        return 0

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        op: Any = let.op
        extent = chunk.atom(array_type(op.xs[0]).shape[0])
        return each_once(chunk.b, chunk.atom(op.index), extent)

    def goes_on(self, chunk: Chunk, let: Let) -> None:
        (rows,) = chunk.given(let, [i64])
        types: list[Type] = [ArrayType(i64, (chunk.count,))]
        for var in let.vars:
            extents = tuple(map(chunk.atom, array_type(var).shape[1:]))
            types.append(ArrayType(array_type(var).dtype, (rows, *extents)))
        at, *brought = chunk.given(let, types, 1)
        for var, table in zip(let.vars, brought, strict=True):
            chunk.bind(Let((var,), let.op, let.where), rows_at(chunk.b, table, at))

    def missing(self, client: Parts, let: Let, parts: Sequence[Part]) -> list[list[Any]]:
        op: Any = let.op
        return client.brought([client.value(x) for x in op.xs], parts)


def each_once(b: Builder, places: Any, extent: Atom) -> tuple[Atom, Atom]:
    """Places inside of an extent, in order and each once; and for each place its number there."""
    key = b.function([i64, i64], lambda inside, place, k: (inside.cast(place, u64),))
    ordered, order = b.emit(Sort(key, (places, _each(b, places, lambda inside, k: k))))
    first = _each(b, places, lambda inside, k: _is_first(inside, k, ordered, extent))
    ones = _each(b, places, lambda inside, k: inside.cast(_at(inside, first, k), i64))
    (numbers,) = b.emit(Scan(lambda_of("add", i64), (ZERO,), (ones,)))
    found = _each(b, places, lambda inside, k: _number(inside, _at(inside, numbers, k)))
    nowhere = _each(b, places, lambda inside, k: ZERO)
    (at,) = b.emit(Scatter((nowhere,), order, (found,)))
    _, read = b.emit(Filter(first, (ordered,)))
    return read, at


def rows_at(b: Builder, table: Var, places: Var, begin: Atom = ZERO) -> Generate:
    """The rows of a table at places, which are counted from `begin`."""
    shape = (*array_type(places).shape, *array_type(table).shape[1:])

    def element(inside: Builder, k: Var, *others: Var) -> Sequence[Atom]:
        row = inside.sub(_at(inside, places, k), begin)
        return inside.emit(Index(table, (row, *others), checked=False))

    return Generate(shape, b.function([i64] * len(shape), element))


def _each(b: Builder, like: Atom, element: Callable[[Builder, Var], Atom]) -> Var:
    """An array as long as another one."""
    fn = b.function([i64], lambda inside, k: (element(inside, k),))
    return b.emit(Generate(array_type(like).shape, fn))[0]


def _at(b: Builder, xs: Var, k: Atom) -> Var:
    return b.emit(Index(xs, (k,), checked=False))[0]


def _is_first(b: Builder, k: Var, ordered: Var, extent: Atom) -> Atom:
    """Whether a place is inside, and none before it is the same; those outside come last."""
    place = _at(b, ordered, k)
    before = _at(b, ordered, b.apply("maximum", b.sub(k, ONE), ZERO))
    inside = b.apply("lt", b.cast(place, u64), b.cast(extent, u64))
    other = b.apply("or", b.apply("eq", k, ZERO), b.apply("ne", place, before))
    return b.apply("and", inside, other)


def _number(b: Builder, count: Atom) -> Atom:
    """The number of the last of so many; of none the first one, too."""
    return b.apply("maximum", b.sub(count, ONE), ZERO)
