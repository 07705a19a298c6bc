"""nest: each chunk makes its own rows; how many elements lie before them is a scan of lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops.nests.nest import Nest
from flatweave.terms.syntax import ArrayType, Atom, Let, Op, Var
from flatweave.terms.traverse import free_vars


class NestRule(Rule):
    """The parts are how many elements the rows of each group have, then the results: those of one
    shape in the chunks that the nest goes over, the others one after the other."""

    op: ClassVar[type[Op]] = Nest
    stored: ClassVar[bool] = True

    def space(self, op: Nest) -> Atom:
        return op.count

    def fed(self, op: Nest) -> tuple[Atom, ...]:
        return tuple(var for var in free_vars(op.fn) if isinstance(var.type, ArrayType))

    def asked(self, let: Let, count: int) -> int:
        return len(let.op.lengths)  # type: ignore[attr-defined]

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        op: Any = let.op
        found = chunk.b.emit(Nest(chunk.count, op.groups, chunk.by_row(op.fn)))
        totals, results = _taken_apart(op, found)
        return (*totals, *results)

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        totals, _ = _taken_apart(let.op, let.vars)
        return {
            var: sum(int(part[k]) for part in parts if part) for k, var in enumerate(totals)
        }

    def keeps(self, let: Let) -> list[tuple[Var, int, int | None]]:
        op: Any = let.op
        totals, results = _taken_apart(op, let.vars)
        numbered = enumerate(zip(results, op.groups, strict=True), len(totals))
        return [(var, k, group if group >= 0 else None) for k, (var, group) in numbered]


def _taken_apart(op: Any, found: Sequence[Var]) -> tuple[Sequence[Var], Sequence[Var]]:
    """Of what a nest binds: for each group its number of elements, and the results."""
    groups = len(op.lengths)
    return found[1 : 1 + 2 * groups : 2], found[1 + 2 * groups :]
