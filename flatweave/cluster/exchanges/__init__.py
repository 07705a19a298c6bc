"""Operations of the host that take arrays in chunks as a whole: the client has them done.

    exchange_of(op)     its exchange; None for an operation without one
"""

from __future__ import annotations

from flatweave.cluster.exchanges.exchange import (
    BranchExchange,
    CallbackExchange,
    ElementExchange,
    Exchange,
    ForExchange,
    JoinedExchange,
    WhileExchange,
)
from flatweave.cluster.exchanges.sort_and_scatter import (
    PermuteExchange,
    ScatterExchange,
    SortExchange,
)
from flatweave.terms.syntax import Op

EXCHANGES: tuple[Exchange, ...] = (
    BranchExchange(), CallbackExchange(), ElementExchange(), ForExchange(), JoinedExchange(),
    PermuteExchange(), ScatterExchange(), SortExchange(), WhileExchange(),
)  # fmt: skip


def exchange_of(op: Op) -> Exchange | None:
    """How the client does an operation on arrays that are in chunks."""
    return next((each for each in EXCHANGES if type(op) is each.op), None)
