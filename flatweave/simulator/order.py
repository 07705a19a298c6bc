"""Who uses memory in a launch, and what happened before what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.records import record, replace
from flatweave.base.source import Location
from flatweave.terms.batch import Value
from flatweave.terms.syntax import Let

# What happened before what, in a launch.
#
# Each warp has two *strands*: what it does itself, in the order of its program, and what the
# units of its for_alls do, in no order. A warp counts the time of both, and knows up to which
# time it has seen every strand (a vector clock):
#
#     barrier of the block     its warps have seen everything that any of them has done or seen
#     release                  publishes everything that the warp has done and seen
#     acquire                  sees what the release has published that it reads from


STRANDS = 2


class Clock:
    """The clock of one of the warps of a block. `seen` is never changed in place."""

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
        """The clock that a release publishes: the work of units only after a barrier."""
        published = self.seen.copy()
        published[self.own] = self.now
        self.now += 1
        return published

    def acquire(self, published: Value) -> None:
        """The warp receives a published clock."""
        self.seen = np.maximum(self.seen, published)


def nothing_seen(warps: int) -> Value:
    """The clock at the start of a launch with `warps` warps."""
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


# Who uses memory: a warp of a block, or inside a `for_all` one of its units.
#
# Lanes of a warp run in lock step: what one writes the others may read in the next step, but two
# lanes may not write different values to one element in one step. Units of a `for_all` are in no
# order at all: a barrier must stand between what one writes and another uses.


NOBODY, SEVERAL = -1, -2


@record(frozen=False)
class WarpTimes:
    """The clock of a single warp's threads: `epoch` counts its barriers."""

    epoch: int = 0


@record(frozen=False)
class Agent:
    """A warp, a unit of a `for_all`, or all its threads that run in lock step.

    `number` is different for all agents of a launch, and `crew` for all warps; threads have one
    each, in the order of the elements that they use. `units` are their numbers in the `for_all`;
    `warps` is how many warps run this code, and `let` is what is being done.
    """

    block: int
    warps: int
    clock: Clock
    strand: int
    warp_times: WarpTimes
    number: int | Value
    crew: int | Value
    alone: bool = False  # nobody else may write what it writes, not even the same
    units: Value | None = None
    unit_of_warps: int = NOBODY
    let: Let | None = None

    def unit(self, number: int, unit: int) -> Agent:
        """One warp of a `for_all`."""
        return Agent(
            self.block, 1, self.clock, self.clock.own + 1, WarpTimes(), number, number, alone=True,
            unit_of_warps=unit,
        )  # fmt: skip

    def threads(self, numbers: Value, units: Value, of_warp: bool) -> Agent:
        """The threads of a `for_all`, of a single warp or of the block."""
        crew = self.crew if of_warp else numbers
        return replace(
            self, number=numbers, crew=crew, alone=True, units=units, strand=self.clock.own + 1
        )

    def some(self, chosen: Value) -> Agent:
        """Those threads alone."""
        assert isinstance(self.number, np.ndarray) and self.units is not None
        crew = self.crew[chosen] if isinstance(self.crew, np.ndarray) else self.crew
        return replace(self, number=self.number[chosen], crew=crew, units=self.units[chosen])

    def who(self, element: int) -> str:
        """The agent that uses the element, in words."""
        unit = NOBODY if self.units is None else int(self.units[element])
        return named(self.clock, self.strand, self.unit_of_warps, unit)


def named(clock: Clock, strand: int, unit_of_warps: int, unit: int) -> str:
    """An agent in words: its block, its warp if there are several, its thread if it is one."""
    block, warp = divmod(strand // STRANDS, clock.warps)
    words = [f"block {block}"]
    if unit_of_warps != NOBODY:
        words.append(f"warp {unit_of_warps}")
    elif clock.warps > 1 and unit == NOBODY:
        words.append(f"warp {warp}")
    if unit != NOBODY:
        words.append(f"thread {unit}")
    return ", ".join(words)


# Who last used each element of a buffer, and whether something stands between that and a new use.


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
