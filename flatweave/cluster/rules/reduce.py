"""reduce: each chunk reduces its rows, the client its parts, from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Generate, Reduce, Scan
from flatweave.ops.rows import array_type
from flatweave.passes.monoid import TRUE, Monoid, monoid
from flatweave.terms.syntax import Atom, Let, Op, Var


class ReduceRule(Rule):
    """A part is the reduction of a chunk's rows alone, without what the whole begins with."""

    op: ClassVar[type[Op]] = Reduce

    def fed(self, op: Reduce) -> tuple[Atom, ...]:
        return op.xs

    def refused(self, op: Reduce) -> str:
        return of_rows(op)

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return reduced(chunk, chunk.operation(let.op))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op: Any = let.op
        total = [client.value(atom) for atom in op.neutral]
        for part in filter(None, parts):
            total = client.call("combined", op.fn, [*total, *part])
        return dict(zip(let.vars, total, strict=True))


def of_rows(op: Any) -> str:
    """Why an operator on rows or on arrays of more axes has no rule."""
    plain = all(array_type(x).rank == 1 for x in op.xs)
    return "" if plain else "its elements are rows, or its arrays have more than one axis"


def reduced(chunk: Chunk, op: Reduce | Scan) -> tuple[Atom, ...]:
    """A chunk's reduction; no chunk is empty, so that a flag of a pair holds."""
    b = chunk.b
    law = monoid(b, op.fn, op.neutral)
    found = b.emit(Reduce(law.fn, law.neutral, (*flags(chunk, law, op.xs), *op.xs), known=True))
    return law.values(found)


def flags(chunk: Chunk, law: Monoid, xs: Sequence[Atom]) -> tuple[Atom, ...]:
    """The flags of elements that are pairs: all of them hold."""
    if not law.optional:
        return ()
    shape = array_type(xs[0]).shape
    return chunk.b.emit(
        Generate(shape, chunk.b.function([i.type for i in shape], lambda b, *_: (TRUE,)))
    )
