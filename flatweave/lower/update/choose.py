"""Arrays into which all blocks combine elements as they come: by which kind of update."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.lower.host.context import Lowering
from flatweave.lower.update.arrays import Update, Updates
from flatweave.lower.update.atomic import ByAtomics
from flatweave.lower.update.compare_and_swap import BySwaps
from flatweave.lower.update.locks import ByLocks
from flatweave.ops import ScatterReduce
from flatweave.terms.syntax import Let

UPDATES: Sequence[type[Update]] = (ByAtomics, BySwaps, ByLocks)
"""The first that suits an operator is the least that it asks for."""


def choose_updates(lowering: Lowering, let: Let, sink: ScatterReduce, variant: str) -> Updates:
    """The arrays that elements are combined into, which this sweep may write."""
    dest = lowering.own_all(sink.dest, let)
    extent = lowering.host.product(lowering.scope.array(sink.dest[0]).shape)
    update = next(each for each in UPDATES if each.name == variant)
    return update.arrays(lowering, let, sink, dest, extent)
