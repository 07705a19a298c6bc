"""How a sort divides its elements: how many of them a thread takes where blocks look back.

A block keeps its elements in registers, and passes them through its shared memory, which also
holds its warps' counts. Digits have as many values as a block has threads: one publishes each.
Shared memory limits a block: elements that fit there take 36 registers of a thread, their ranks up
to 16. NVRTC 13.5 takes 128 at most in all, so that 16 warps run at once, with 512 bytes of
elements each.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.lower.machine.machine import Machine

MOST_EACH = 16
"""Elements of a thread: 2^26 u32 in passes of 720 us on an H200, of 849 us with 8 of them."""
SPARE = 1024
"""Bytes of shared memory for what warps tell each other."""


def sorts_by_lane(machine: Machine) -> bool:
    """Runs that are counted before they move: one for each lane, where lanes are threads; else one
    for each block."""
    return machine.simt


def digit_bits(machine: Machine) -> int:
    """Bits of a digit of which each thread of a block has one value."""
    return (machine.lanes([]) * machine.warps).bit_length() - 1


def elements_each(machine: Machine, dtypes: Sequence[DType]) -> int:
    """How many elements a thread keeps; 0 where blocks do not look back for a sort, or one element
    is too wide."""
    threads = machine.lanes([]) * machine.warps
    waits = machine.forward_progress and machine.warps_meet_alone
    if not waits or not machine.thread_registers or threads & (threads - 1):
        return 0
    tallies = threads * (4 * machine.warps + 8) + SPARE
    by_memory = (machine.shared_bytes - tallies) // (threads * sum(d.bytes for d in dtypes))
    return max(0, min(machine.most_each, MOST_EACH, by_memory))
