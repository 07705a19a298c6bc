"""Who last used each element of a buffer, and whether something stands between that and a new use.
"""

from __future__ import annotations

import numpy as np

from flatweave.base.source import Location
from flatweave.simulator.agents import NOBODY, SEVERAL, Agent, named
from flatweave.terms.batch import Value
from flatweave.terms.syntax import Let


class Trace:
    """The last use of each element: by whom, in which strand, and when.

    Where SEVERAL warps of a block wrote one value (`agreed`), each of them may go on as if alone.
    Of readers in several blocks all are kept.
    """

    def __init__(self, count: int, agreed: bool) -> None:
        self.agreed = agreed
        self.agent, self.crew, self.strand, self.unit, self.unit_of_warps = (
            np.full(count, NOBODY, np.int64) for _ in range(5)
        )
        self.time, self.warp_epoch, self.let = (np.zeros(count, np.int64) for _ in range(3))
        self.lets: list[Let | None] = []
        self.numbers: dict[int, int] = {}
        self.crowded = np.zeros(count, np.bool_)
        self.crowd: dict[int, list[tuple[int, int]]] = {}

    def unordered(self, at: Value, by: Agent) -> Value:
        """Where the last use was by another agent, and nothing orders it before `by`."""
        agent, strand = self.agent[at], self.strand[at]
        another = agent != by.number
        if self.agreed and not by.alone:
            another &= ~((agent == SEVERAL) & (by.clock.blocks(strand) == by.block))
        seen = by.clock.seen[strand] >= self.time[at]
        same_warp = self.crew[at] == by.crew
        seen |= same_warp & (self.warp_epoch[at] < by.warp_times.epoch)
        found = (strand != NOBODY) & another & ~seen
        for k in np.flatnonzero(self.crowded[at]):
            found[k] |= any(
                by.clock.seen[s] < time
                for s, time in self.crowd[int(at[k])]
                if by.clock.blocks(np.asarray(s)) != by.block
            )
        return np.asarray(found)

    def note(self, at: Value, by: Agent, others: Value) -> None:
        """Agent `by` uses the elements, together with `others` where so marked."""
        twice = used_twice(at, by)
        mixed = others & (self.crew[at] != by.crew)
        if isinstance(by.crew, np.ndarray):
            mixed |= twice
        self._crowd(at, by, others)
        self.agent[at] = np.where(others | twice, SEVERAL, by.number)
        self.crew[at] = np.where(mixed, SEVERAL, by.crew)
        self.strand[at] = by.strand
        self.time[at] = by.clock.now
        self.warp_epoch[at] = by.warp_times.epoch
        self.unit[at] = NOBODY if by.units is None else by.units
        self.unit_of_warps[at] = by.unit_of_warps
        self.let[at] = self._number(by.let)

    def _crowd(self, at: Value, by: Agent, others: Value) -> None:
        """Keep those before `by` that are in other blocks, and have not been seen by it."""
        if self.agreed:
            return
        gone = at[~others & self.crowded[at]]
        if gone.size:
            self.crowded[gone] = False
        elsewhere = others & (by.clock.blocks(self.strand[at]) != by.block)
        for place in at[elsewhere].tolist():
            before = self.crowd[place] if self.crowded[place] else []
            use = int(self.strand[place]), int(self.time[place])
            self.crowd[place] = [*(u for u in before if u[0] != use[0]), use]
            self.crowded[place] = True

    def _number(self, let: Let | None) -> int:
        found = self.numbers.get(id(let))
        if found is None:
            found = self.numbers[id(let)] = len(self.lets)
            self.lets.append(let)
        return found

    def block(self, place: int, by: Agent) -> int:
        """The block that last used an element."""
        return int(by.clock.blocks(self.strand[place]))

    def who(self, place: int, by: Agent) -> str:
        """Who last used an element, in words."""
        return named(
            by.clock, int(self.strand[place]), int(self.unit_of_warps[place]),
            int(self.unit[place]),
        )  # fmt: skip

    def where(self, place: int) -> Location | None:
        """The line of that use."""
        let = self.lets[int(self.let[place])] if self.lets else None
        return None if let is None else let.where


def used_twice(at: Value, by: Agent) -> Value:
    """Where two threads use one element at once."""
    if by.units is None:
        return np.zeros(at.shape, np.bool_)
    _, inverse, count = np.unique(at, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse] > 1)
