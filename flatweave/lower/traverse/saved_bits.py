"""Predicate bits: flags that the first pass over a block finds, saved for the last one.

    first     saved[step] = ballot of the step's flags
    last      the flags of a step = in_set saved[step]

The flags of a step of 64 lanes are one word, so those of a block stay in the first-level cache,
from where its elements and all that flags are computed from would have been evicted by then.
"""

from __future__ import annotations

from flatweave.base.dtypes import u64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.kernel_ir.warp_ops import Ballot, InSet
from flatweave.lower.traverse.position import Position
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var


@record
class SavedBits:
    """The flags of each whole step of a block that begins at `lo`."""

    words: Var
    lo: Atom
    width: int

    def note(self, b: Builder, position: Position, flag: Atom) -> None:
        """Keep the flags of a step, if it is a whole one."""
        if position.base is not None and position.width == self.width:
            step = self._step(b, position.base)
            b.emit(Store(self.words, step, b.emit(Ballot(flag))[0]))

    def recall(self, b: Builder, position: Position) -> Atom | None:
        """The flags of a step, if they were kept."""
        if position.base is None or position.width != self.width:
            return None
        word = b.emit(Load(self.words, self._step(b, position.base)))[0]
        return b.emit(InSet(word))[0]

    def _step(self, b: Builder, base: Atom) -> Atom:
        """The number of a step in its block."""
        return b.apply("floordiv", b.sub(base, self.lo), index(self.width))


def room_for_bits(b: Builder, width: int, most: int, lo: Atom) -> SavedBits:
    """Room for the bits of a block of up to `most` elements that begins at `lo`, in whole steps."""
    steps = most // width
    return SavedBits(b.emit(Shared(u64, steps + 1))[0], lo, width)
