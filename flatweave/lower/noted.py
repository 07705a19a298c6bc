"""Flags that a pass over a block finds, noted as bits for the last one.

    count     notes[step] = ballot of the step's flags
    last      the flags of a step = in_set notes[step]

A set of 64 lanes is a word, so the notes of a block stay in the first-level cache, where its flags
and all that they are computed from would have been pushed out by the values.
"""

from __future__ import annotations

from dataclasses import dataclass

from flatweave.base.dtypes import u64
from flatweave.kernel_ir.syntax import Ballot, InSet, Load, Shared, Store
from flatweave.lower.machine import Machine, choose_tiling
from flatweave.lower.rows import Strategy
from flatweave.lower.walk import Position
from flatweave.ops import Sweep
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var


@dataclass(frozen=True, eq=False)
class Notes:
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


def notes_for(
    b: Builder, machine: Machine, op: Sweep, strategy: Strategy, lo: Atom
) -> Notes | None:
    """Room for the notes of a block, where it goes in whole steps along its positions."""
    if machine.masked_tail or strategy.rows or strategy.width < 2:
        return None
    steps = choose_tiling(machine, op, in_order=True).most // strategy.width
    return Notes(b.emit(Shared(u64, steps + 1))[0], lo, strategy.width)
