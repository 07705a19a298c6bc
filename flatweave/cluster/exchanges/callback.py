"""callback: a Python function of whole arrays is called by the client, which fetches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from flatweave.cluster.exchanges.exchange import Client, Exchange, Made
from flatweave.ops import Callback
from flatweave.terms.syntax import Let, Op, Var


class CallbackExchange(Exchange):
    """Functions of rows are called where the rows are: by the programs of the chunks."""

    op: ClassVar[type[Op]] = Callback

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        op: Any = let.op
        values = [client.entire(atom) for atom in op.given()]
        found = op.called_with(values, let.where)
        shapes = [[int(client.value(extent)) for extent in each.shape] for each in op.results]
        return {
            var: value.reshape(shape)[()]
            for var, value, shape in zip(let.vars, found, shapes, strict=True)
        }
