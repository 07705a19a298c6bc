"""What happened before what, in a launch.

Each warp has two *strands*: what it does itself, in the order of its program, and what the units
of its for_alls do, in no order. A warp counts the time of both, and knows up to which time it has
seen every strand (a vector clock):

    barrier of the block     its warps have seen all that any of them has done or seen
    release                  publishes what the warp has done, and all that it has seen
    acquire                  sees what the release has published that it reads from
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.terms.batch import Value

STRANDS = 2


class Clock:
    """The clock of a warp, of so many in a block. `seen` is never changed in place."""

    __slots__ = ("now", "own", "seen", "warps")

    def __init__(self, warp: int, warps: int, seen: Value) -> None:
        self.own = STRANDS * warp  # the strand of the warp itself; that of its units is the next
        self.warps = warps
        self.seen = seen
        self.now = 0

    def blocks(self, strands: Value) -> Value:
        """The blocks of strands."""
        return strands // (STRANDS * self.warps)

    def release(self) -> Value:
        """What the warp tells others. What units have done is told behind a barrier only."""
        told = self.seen.copy()
        told[self.own] = self.now
        self.now += 1
        return told

    def acquire(self, told: Value) -> None:
        """The warp is told something."""
        self.seen = np.maximum(self.seen, told)


def nothing_seen(warps: int) -> Value:
    """What a launch of so many warps begins with."""
    return np.full(STRANDS * warps, -1, np.int64)


def meet(clocks: Sequence[Clock]) -> None:
    """A barrier: all have seen what any of them has."""
    different = {id(clock.seen): clock.seen for clock in clocks}
    joined = np.maximum.reduce(list(different.values()))
    for clock in clocks:
        joined[clock.own : clock.own + STRANDS] = clock.now
    for clock in clocks:
        clock.seen = joined
        clock.now += 1
