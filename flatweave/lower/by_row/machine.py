"""The machine that one row has: a single thread, which runs blocks one after the other."""

from __future__ import annotations

from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.lower.machine.machine import Machine

ALL = 1 << 40
"""Bytes and operations of a block that no row fills: every launch is one block."""
ALONE = Schedule(permute="owner")
"""Writes to computed places are done as they come: there is nobody to divide them among."""


def machine_of_a_row(machine: Machine) -> Machine:
    """A core of the machine by itself, whose arrays stay in its caches."""
    return replace(machine, block_bytes=ALL, block_work=ALL, one_block=True, streaming_from=None)
