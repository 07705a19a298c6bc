"""How the scans of a level share the words in which blocks publish."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.words import COUNT_BITS, Packing, packing_of
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.ops.rows import scalar_type


def packing_of_scans(records: Sequence[ScanRecord], machine: Machine) -> Packing | None:
    """How the values that scans pass from block to block are packed into the words that the
    machine loads and stores at once; None if they do not fit."""
    components = []
    for scan in records:
        for atom in scan.carried.neutral:
            dtype = scalar_type(atom)
            components.append((dtype, dtype.bits if scan.compact is None else COUNT_BITS))
    return packing_of(components, machine.whole_words)
