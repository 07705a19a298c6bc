"""Who goes on, and how far a launch has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from flatweave.base.records import record
from flatweave.simulator.counts import Counter
from flatweave.simulator.memory import ATOMICALLY, Buffer
from flatweave.terms.batch import Value
from flatweave.terms.syntax import Var

# Who goes on, where blocks, warps or units of a for_all may go in any order.
#
#     InOrder()              the oldest block and warp that does not wait
#     Shuffled(seed)         blocks, warps and units at random
#     ReverseBlocks()        the youngest of the blocks that run
#     StalledBlock(3, 2)     block 3 is let go on twice, and then only when no other block can
#     LateBlock(3)           block 3 begins when no other block can go on
#     ReverseWarps()         the last warp of a block first
#     WarpAhead(1)           warp 1 goes first, wherever it can
#     ReverseUnits()         units of a for_all, one warp's worth at a time, the last ones first
#     ShuffledUnits(seed)    in random order, in small groups
#
# A block or warp *waits* when it has looked for what others do, found nothing, and nobody has
# done anything since. Races are found in every order; orders matter for what control flow depends
# on.


TOGETHER = 32
"""So many neighbouring threads of a `for_all` are of one warp."""


class Turn(Protocol):
    """A block of a launch, or a warp of a block."""

    number: int
    turns: int

    @property
    def waits(self) -> bool:
        """Whether nothing has happened since it last looked."""


class Schedule:
    """An order; this one is that of numbers. Those that run come with the longest waiting last."""

    def block(self, running: Sequence[Turn]) -> int:
        """Which of the blocks that run goes on."""
        return 0

    def warp(self, ready: Sequence[Turn]) -> int:
        """Which of the warps of a block that may go on does."""
        return 0

    def units(self, units: Value) -> list[Value]:
        """Units of a for_all in groups: those of one group run in lock step."""
        return [units]

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in vars(self).items() if name[0] != "_")
        return f"{type(self).__name__}({', '.join(given)})"


InOrder = Schedule


class Shuffled(Schedule):
    """Blocks, warps and the lanes' updates at random."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._rng = np.random.default_rng(seed)

    def block(self, running: Sequence[Turn]) -> int:
        return int(self._rng.integers(len(running)))

    def warp(self, ready: Sequence[Turn]) -> int:
        return int(self._rng.integers(len(ready)))

    def units(self, units: Value) -> list[Value]:
        return [self._rng.permutation(units)]


class ReverseBlocks(Schedule):
    """The youngest of the blocks that run, if it does not wait."""

    def block(self, running: Sequence[Turn]) -> int:
        return _first(running, sorted(range(len(running)), key=lambda k: -running[k].number))


class StalledBlock(Schedule):
    """A block may run a number of steps, and then only when no other can."""

    def __init__(self, block: int = 0, after: int = 1) -> None:
        self.number = block
        self.after = after

    def block(self, running: Sequence[Turn]) -> int:
        stalls = [
            turn.number == self.number and turn.turns >= self.after for turn in running
        ]
        order = sorted(range(len(running)), key=lambda k: stalls[k])
        return _first(running, order)


class LateBlock(StalledBlock):
    """A block begins when no other can go on."""

    def __init__(self, block: int = 0) -> None:
        super().__init__(block, 0)


class ReverseWarps(Schedule):
    """The last warp of a block that does not wait."""

    def warp(self, ready: Sequence[Turn]) -> int:
        return _first(ready, sorted(range(len(ready)), key=lambda k: -ready[k].number))


class WarpAhead(Schedule):
    """One warp of each block goes first, wherever it can; the others alternate."""

    def __init__(self, warp: int = 0) -> None:
        self.number = warp

    def warp(self, ready: Sequence[Turn]) -> int:
        order = sorted(
            range(len(ready)), key=lambda k: (ready[k].number != self.number, ready[k].turns)
        )
        return _first(ready, order)


class ReverseUnits(Schedule):
    """Units of a for_all a warp's worth after the other, from the last to the first."""

    def units(self, units: Value) -> list[Value]:
        return _groups(units[::-1], TOGETHER)


class ShuffledUnits(Schedule):
    """Units of a for_all at random, a few at a time."""

    def __init__(self, seed: int = 0, together: int = 5) -> None:
        self.seed = seed
        self.together = together
        self._rng = np.random.default_rng(seed)

    def units(self, units: Value) -> list[Value]:
        return _groups(self._rng.permutation(units), self.together)


def _groups(units: Value, size: int) -> list[Value]:
    return [units[k : k + size] for k in range(0, units.size, size)]


def _first(running: Sequence[Turn], order: Sequence[int]) -> int:
    """The first in an order that does not wait, or the one with the fewest steps."""
    for k in order:
        if not running[k].waits:
            return k
    return min(range(len(running)), key=lambda k: running[k].turns)


def adversaries(blocks: int = 4, warps: int = 4) -> list[Schedule]:
    """All the orders above, for the first few blocks and warps, each stalled where it may hurt."""
    return [
        InOrder(), Shuffled(1), Shuffled(2), ReverseBlocks(), ReverseWarps(), ReverseUnits(),
        ShuffledUnits(3),
        *(LateBlock(block) for block in range(blocks)),
        *(StalledBlock(block, after) for block in range(blocks) for after in (1, 2, 3)),
        *(WarpAhead(warp) for warp in range(warps)),
    ]  # fmt: skip


# What a launch has brought about so far.


FIRST_UNIT = 1 << 32
"""Numbers of agents below are those of a launch's warps."""


@record(eq=True)
class Failure:
    """What a unit reports instead of results; `index` is the smallest element with an error, -1
    outside of kernels."""

    code: int
    site: int
    index: int = 0
    value: int = 0
    extent: int = 0


class Progress:
    """Memory of blocks, the failure reported, and how much has happened; in which order it is to
    happen, and who counts."""

    def __init__(self, schedule: Schedule, counts: Counter) -> None:
        self.schedule = schedule
        self.counts = counts
        self.shared: dict[tuple[int, Var], Buffer] = {}
        self.failure: Failure | None = None
        self.events = 0
        self._units = FIRST_UNIT
        self._locks: dict[tuple[int, int], int] = {}

    def numbers(self, count: int) -> Value:
        """Numbers of agents that no other has."""
        self._units += count
        return np.arange(self._units - count, self._units)

    def lock(self, locks: Buffer, stripe: int) -> int:
        """A number for the way of using memory that one lock protects."""
        return self._locks.setdefault((id(locks), stripe), ATOMICALLY + 1 + len(self._locks))

    def report(self, failure: Failure) -> None:
        """The smallest index wins, then the smallest site, then the smallest value."""
        first = (failure.index, failure.site, failure.value)
        old = self.failure
        if old is None or first < (old.index, old.site, old.value):
            self.failure = failure
