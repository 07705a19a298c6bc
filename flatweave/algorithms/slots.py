"""A chain whose slots are three arrays: what a block publishes is stored first, then released.

    slot         0       1        2        3        4
    state        PREFIX  PREFIX   AGGR     AGGR     NOTHING
    aggregate            a        b        c                 of block t - 1 alone
    prefix       z       z a                                 of all up to it
"""

from __future__ import annotations

from flatweave.algorithms.operator import Combine
from flatweave.algorithms.words import PREFIX
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.syntax import Acquire, Load, Release, Store
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Var


@record
class Slots:
    """The memory of the grid in which blocks publish; one slot more than there are blocks."""

    aggregates: tuple[Var, ...]
    states: Var
    prefixes: tuple[Var, ...]

    def publish(self, b: Builder, slot: Atom, values: Values, state: Atom) -> None:
        """Tell the blocks behind."""
        buffers = self.prefixes if state is PREFIX else self.aggregates
        for buffer, value in zip(buffers, values, strict=True):
            b.emit(Store(buffer, slot, value))
        b.emit(Release(self.states, slot, state))

    def state(self, b: Builder, slot: Atom) -> Atom:
        """What is known of a slot now."""
        return b.emit(Acquire(self.states, slot))[0]

    def prefix(self, b: Builder, slot: Atom) -> Values:
        """What was found to be a prefix."""
        return tuple(b.emit(Load(buffer, slot))[0] for buffer in self.prefixes)

    def join(self, b: Builder, slot: Atom, before: Values, combine: Combine) -> Values:
        """What lies before the slot and its aggregate, combined."""
        mine = tuple(b.emit(Load(buffer, slot))[0] for buffer in self.aggregates)
        return combine(b, before, mine)
