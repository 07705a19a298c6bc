"""concat: the chunks of one array, then those of the next; nothing is computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from flatweave.cluster.exchanges.exchange import Client, Divide, Exchange, Made
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.ops import Concat
from flatweave.terms.syntax import Let, Op, Var


class JoinedExchange(Exchange):
    """An array that is whole becomes one chunk."""

    op: ClassVar[type[Op]] = Concat

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        return Made(frozenset(let.vars))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        parts = [client.value(x) for x in let.op.xs]  # type: ignore[attr-defined]
        pieces = [
            piece for part in parts
            for piece in (part.pieces if isinstance(part, Chunked) else (Held(part),))
        ]  # fmt: skip
        first = parts[0]
        return {let.vars[0]: Chunked.of(pieces, first.dtype, tuple(first.shape[1:]))}
