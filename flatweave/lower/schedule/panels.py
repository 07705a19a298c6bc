"""Column tiles: a stencil visits some columns of all rows of a block before the next columns.

    rows of 4,096 f32, a panel of 1,024 columns:

        1 2 . .      what the rows above and below share with a row is still in the nearest cache
        1 2 . .      when that is visited; each step prefetches the row after those that it reads,
        1 2 . .      as no CPU's prefetcher follows from the end of a panel's row to the next
"""

from __future__ import annotations

from flatweave.base.records import replace
from flatweave.lower.machine.cost import room
from flatweave.lower.machine.machine import Machine
from flatweave.lower.machine.thresholds import NARROWEST_PANEL, TALLER
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.nest.legal import in_any_order
from flatweave.nest.schedule import Axis, Bind, Vectorize


def choose_panel(facts: SweepFacts, machine: Machine, lanes: Vectorize) -> int:
    """Columns of a panel; 0 where there are no neighbours, or the order of visits matters."""
    found = facts.neighbours
    if found is None or lanes.axis is not Axis.LAST or machine.one_block:
        return 0
    if facts.scans.depth or not in_any_order(facts.op):
        return 0
    most = max(NARROWEST_PANEL, room(machine.first_level) // found.column_bytes)
    return 1 << most.bit_length() - 1


def taller(bind: Bind) -> Bind:
    """Blocks that are visited in panels."""
    return replace(bind, most=bind.most * TALLER)
