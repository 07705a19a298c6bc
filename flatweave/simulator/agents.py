"""Who uses memory: a warp of a block, or inside a `for_all` one of its units.

Lanes of a warp run in lock step: what one writes the others may read in the next step, but two
lanes may not write different values to one element in one step. Units of a `for_all` are in no
order at all: a barrier must stand between what one writes and another uses.
"""

from __future__ import annotations

import numpy as np

from flatweave.base.records import record, replace
from flatweave.simulator.clocks import STRANDS, Clock
from flatweave.terms.batch import Value
from flatweave.terms.syntax import Let

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
