"""reduce: each chunk reduces its rows, the client its parts, from left to right.

The elements of a reduction are scalars, or rows, of which an array with more axes is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.base.dtypes import i64
from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Generate, Index, Map, Reduce, Scan
from flatweave.ops.rows import array_type
from flatweave.passes.monoid import TRUE, Monoid, monoid
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, constant, types_of


class ReduceRule(Rule):
    """A part is the reduction of a chunk's rows alone, without what the whole begins with."""

    op: ClassVar[type[Op]] = Reduce

    def fed(self, op: Reduce) -> tuple[Atom, ...]:
        return op.xs

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return reduced(chunk, chunk.operation(let.op))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op: Any = let.op
        total = [client.entire(atom) for atom in op.neutral]
        for part in filter(None, parts):
            total = client.call("combined", op.fn, [*total, *part])
        return dict(zip(let.vars, total, strict=True))


def reduced(chunk: Chunk, op: Reduce | Scan) -> tuple[Atom, ...]:
    """A chunk's reduction; no chunk is empty, so that a flag of a pair holds."""
    b = chunk.b
    if any(isinstance(atom.type, ArrayType) for atom in op.neutral):
        return _reduced_rows(b, op)
    law = monoid(b, op.fn, op.neutral)
    found = b.emit(Reduce(law.fn, law.neutral, (*flags(chunk, law, op.xs), *op.xs), known=True))
    return law.values(found)


def _reduced_rows(b: Builder, op: Reduce | Scan) -> tuple[Atom, ...]:
    """A chunk's rows combined: down each column by itself, where the operator combines rows so;
    else the first row, then all others."""
    fn = of_columns(op.fn)
    if fn is None:
        return b.emit(Reduce(op.fn, tuple(_first(b, x) for x in op.xs), _others(b, op.xs)))
    count, *extents = array_type(op.xs[0]).shape
    nothing = tuple(constant(0, type_) for type_ in types_of(fn.params[: len(op.xs)]))  # type: ignore[arg-type]
    law = monoid(b, fn, nothing, segmented=True)

    def column(inside: Builder, *at: Var) -> tuple[Atom, ...]:
        def elements(k: Builder, row: Var) -> tuple[Atom, ...]:
            return law.enter([k.emit(Index(x, (row, *at), checked=False))[0] for x in op.xs])

        xs = inside.emit(Generate((count,), inside.function([i64], elements)))
        found = inside.emit(Reduce(inside.copy(law.fn), law.neutral, xs, known=True))
        return law.values(found)

    return b.emit(Generate(tuple(extents), b.function([i64] * len(extents), column)))


def of_columns(fn: Lambda) -> Lambda | None:
    """The operator on elements that an operator on rows applies to each column; None where it
    looks at several columns."""
    if len(fn.lets) != 1 or not isinstance(fn.lets[0].op, Map):
        return None
    let, op = fn.lets[0], fn.lets[0].op
    plain = op.depth == array_type(op.xs[0]).rank
    return op.fn if plain and op.xs == fn.params and fn.results == let.vars else None


def _first(b: Builder, xs: Atom) -> Var:
    """The first row of an array, or its first element."""
    shape = array_type(xs).shape[1:]
    if not shape:
        return b.emit(Index(xs, (index(0),), checked=False))[0]

    def element(inside: Builder, *at: Var) -> tuple[Atom, ...]:
        return inside.emit(Index(xs, (index(0), *at), checked=False))

    return b.emit(Generate(shape, b.function([i64] * len(shape), element)))[0]


def _others(b: Builder, arrays: Sequence[Atom]) -> tuple[Var, ...]:
    """All rows of some arrays but the first."""
    found: list[Var] = []
    for xs in arrays:
        count, *extents = array_type(xs).shape

        def element(inside: Builder, k: Var, *at: Var, xs: Atom = xs) -> tuple[Atom, ...]:
            return inside.emit(Index(xs, (inside.add(k, index(1)), *at), checked=False))

        shape = (b.sub(count, index(1)), *extents)
        found += b.emit(Generate(shape, b.function([i64] * len(shape), element)))
    return tuple(found)


def flags(chunk: Chunk, law: Monoid, xs: Sequence[Atom]) -> tuple[Atom, ...]:
    """The flags of elements that are pairs: all of them hold."""
    if not law.optional:
        return ()
    shape = array_type(xs[0]).shape
    return chunk.b.emit(
        Generate(shape, chunk.b.function([i.type for i in shape], lambda b, *_: (TRUE,)))
    )
