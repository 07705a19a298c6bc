"""Arrays into which all blocks combine elements as they come: by which kind of update.

    atomic      each component by an instruction, or by a swap of its own    they are independent
    cas         the element swapped whole                                    it is small
    locks       the element under a lock                                     any other
"""

from __future__ import annotations

from flatweave.base.errors import Unsupported
from flatweave.lower.host.context import Lowering
from flatweave.lower.schedule.scatter_variants import chosen_variant, obstacles
from flatweave.lower.update.arrays import Merged
from flatweave.lower.update.atomic import by_component
from flatweave.lower.update.compare_and_swap import swapped
from flatweave.lower.update.locks import locked
from flatweave.ops import Merge, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.terms.syntax import Let


def merged(low: Lowering, let: Let, sink: Merge) -> Merged:
    """The arrays that elements are combined into, which this sweep may write."""
    variant = chosen_variant(low.schedule, low.machine, let, sink) or _by_itself(low, let, sink)
    dest = low.own_all(sink.dest, let)
    extent = low.host.product(low.scope.array(sink.dest[0]).shape)
    match variant:
        case "atomic":
            return by_component(sink, dest, extent)
        case "cas":
            return swapped(low, let, sink, dest, extent)
        case _:
            return locked(low, let, sink, dest, extent)


def _by_itself(low: Lowering, let: Let, sink: Merge) -> str:
    """The least that an operator asks for."""
    if is_commutative(sink.fn):
        return "atomic"
    assert isinstance(let.op, Sweep)
    cannot = dict(obstacles(low.machine, let.op, sink))
    if "locks" in cannot:
        raise Unsupported(
            "permute and reduce_by_index with an operator that does not commute are not there on "
            f"{low.machine.name}, where elements meet in any order.",
            where=let.where,
            remedy='Run this function with target="cpu", which keeps their order.',
        )
    return "locks" if "cas" in cannot else "cas"
