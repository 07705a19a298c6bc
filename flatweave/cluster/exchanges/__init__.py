"""Operations of the host that take arrays in chunks as a whole: the client has them done.

    exchange_of(op)     how; None for an operation that is none
"""

from __future__ import annotations

from flatweave.cluster.exchanges.callback import CallbackExchange
from flatweave.cluster.exchanges.control import BranchExchange, ForExchange, WhileExchange
from flatweave.cluster.exchanges.element import ElementExchange
from flatweave.cluster.exchanges.exchange import Exchange
from flatweave.cluster.exchanges.joined import JoinedExchange
from flatweave.cluster.exchanges.scatter import PermuteExchange, ScatterExchange
from flatweave.cluster.exchanges.sort import SortExchange
from flatweave.terms.syntax import Op

EXCHANGES: tuple[Exchange, ...] = (
    BranchExchange(), CallbackExchange(), ElementExchange(), ForExchange(), JoinedExchange(),
    PermuteExchange(), ScatterExchange(), SortExchange(), WhileExchange(),
)  # fmt: skip


def exchange_of(op: Op) -> Exchange | None:
    """How the client does an operation on arrays that are in chunks."""
    return next((each for each in EXCHANGES if type(op) is each.op), None)
