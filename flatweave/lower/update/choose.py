"""Arrays into which all blocks combine elements as they come: by which kind of update.

    atomic      each component by an instruction, or by a swap of its own    they are independent
    cas         the element swapped whole                                    it is small
    locks       the element under a lock                                     any other
"""

from __future__ import annotations

from flatweave.lower.host.context import Lowering
from flatweave.lower.update.arrays import Updates
from flatweave.lower.update.atomic import by_component
from flatweave.lower.update.compare_and_swap import swapped
from flatweave.lower.update.locks import locked
from flatweave.ops import ScatterReduce
from flatweave.terms.syntax import Let


def choose_updates(lowering: Lowering, let: Let, sink: ScatterReduce, variant: str) -> Updates:
    """The arrays that elements are combined into, which this sweep may write."""
    dest = lowering.own_all(sink.dest, let)
    extent = lowering.host.product(lowering.scope.array(sink.dest[0]).shape)
    match variant:
        case "atomic":
            return by_component(sink, dest, extent)
        case "cas":
            return swapped(lowering, let, sink, dest, extent)
        case _:
            return locked(lowering, let, sink, dest, extent)
