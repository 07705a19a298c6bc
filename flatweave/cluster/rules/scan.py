"""scan: each chunk reduces its rows, the client scans the parts, each chunk scans from there on.

The rows are gone through twice: what is scanned is computed again where that is cheaper than
keeping it (`divide.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flatweave.cluster.rules.reduce import reduced
from flatweave.cluster.rules.rows import scanned_by_columns
from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Scan
from flatweave.terms.syntax import Atom, Let, Op, types_of


class ScanRule(Rule):
    """A part is the reduction of a chunk's rows; missing is what lies before them, or behind."""

    op: ClassVar[type[Op]] = Scan
    stays: ClassVar[bool] = True

    def fed(self, op: Scan) -> tuple[Atom, ...]:
        return (*op.xs, *op.starts)

    def refused(self, op: Scan) -> str:
        return "its segments are marked by flags" if op.starts else ""

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return reduced(chunk, chunk.operation(let.op))

    def goes_on(self, chunk: Chunk, let: Let) -> None:
        op: Scan = chunk.operation(let.op)
        op = op.replace(neutral=chunk.given(let, types_of(op.neutral)))
        by_columns = scanned_by_columns(chunk.b, op)
        if by_columns:
            chunk.know(let, by_columns)
        else:
            chunk.bind(let, op)

    def missing(self, client: Parts, let: Let, parts: Sequence[Part]) -> list[list[Any]]:
        op: Any = let.op
        total = [client.entire(atom) for atom in op.neutral]
        found: list[list[Any]] = []
        for part in reversed(parts) if op.reverse else parts:
            found.append(total)
            if part:
                ordered = [*part, *total] if op.reverse else [*total, *part]
                total = client.call("combined", op.fn, ordered)
        return found[::-1] if op.reverse else found
