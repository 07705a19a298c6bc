"""filter: each chunk keeps its own rows; how many there are before it is a scan of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Filter
from flatweave.terms.syntax import Atom, Let, Op, Var


class FilterRule(Rule):
    """The parts are the number of rows that a chunk keeps, and these."""

    op: ClassVar[type[Op]] = Filter
    stored: ClassVar[bool] = True

    def fed(self, op: Filter) -> tuple[Atom, ...]:
        return (op.mask, *op.xs)

    def asked(self, let: Let, count: int) -> int:
        return 1

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return chunk.b.emit(chunk.operation(let.op))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        return {let.vars[0]: sum(int(part[0]) for part in parts if part)}

    def keeps(self, let: Let) -> list[tuple[Var, int, int | None]]:
        return [(var, k, 0) for k, var in enumerate(let.vars[1:], 1)]
