"""index: one element of an array in chunks, fetched from the chunk that has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from flatweave.array_ir.fault import index_fault
from flatweave.cluster.exchanges.exchange import Client, Exchange, Made
from flatweave.ops import Index
from flatweave.terms.syntax import Let, Op, Var


class ElementExchange(Exchange):
    """Indices outside are faults, as ever."""

    op: ClassVar[type[Op]] = Index

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        op: Any = let.op
        array = client.value(op.xs)
        row, *rest = (int(client.value(atom)) for atom in op.indices)
        for axis, (i, extent) in enumerate(zip((row, *rest), array.shape, strict=True)):
            if not 0 <= i < extent:
                fault = index_fault(-1, i, extent, axis)
                fault.where = let.where
                raise fault
        return {let.vars[0]: array.load(row, row + 1)[(0, *rest)]}
