"""How a sort divides its elements into the runs that move on their own."""

from __future__ import annotations

from flatweave.lower.machine.machine import Machine


def sorts_by_lane(machine: Machine) -> bool:
    """A run for each lane, where lanes are threads; else one for each block."""
    return machine.simt
