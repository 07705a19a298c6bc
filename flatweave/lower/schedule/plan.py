"""The plan of a sweep: every choice about how it runs, made before anything is emitted.

    sweep n_7
        bind least=10912 most=15392
        level carry=look-back
            rfactor hows=counted
        version name=streaming
            guard elements=524288
            vectorize axis=space width=32
            cache at=scratch
            stream
        version name=plain
            vectorize axis=space width=32
            cache at=scratch

All versions of a sweep share its blocks, its scans and its memory. Each version is a guard and a
schedule: an ordered list of steps. A plan is data: `choose.py` makes it, `text.py` prints and
parses it, `verify.py` checks it. Emission obeys it and decides nothing.

How a sort divides its elements: how many of them a thread takes where blocks look back.

A block keeps its elements in registers, and passes them through its shared memory, which also
holds its warps' counts. Digits have as many values as a block has threads: one publishes each.
Shared memory limits a block: elements that fit there take 36 registers of a thread, their ranks up
to 16. NVRTC 13.5 takes 128 at most in all, so that 16 warps run at once, with 512 bytes of
elements each.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.lower.machine.machine import Machine
from flatweave.nest.schedule import Bind, RFactor, Version


class Carry(Enum):
    """How a block learns what comes before it."""

    LOOK_BACK = "look-back"
    """one pass: publish the aggregate, walk back to the nearest prefix (Merrill, Garland 2016)"""
    WORDS = "look-back-at-words"
    """the same, where what is published fits into words that are stored and loaded at once"""
    ONE_BLOCK = "one-block"
    """there is no other block: nothing comes before it"""
    TWO_PASS = "two-pass"
    """aggregates by a separate launch, for machines where a block must not wait"""


class When(Enum):
    """The condition of a variant of scattering, found by the host."""

    ALWAYS = "always"
    FITS = "fits"
    """it has room for so large a destination"""
    PAYS = "pays"
    """it has room, and the sizes are those that it is faster for"""


@record(eq=True)
class Level:
    """The scans of one level: how they combine a block, and how blocks pass them on.

    Of the scans numbered in `from_heads` only what comes after the last segment head of a block is
    combined: by the factors after the first one, one for each flag that says heads.
    """

    carry: Carry
    factors: tuple[RFactor, ...]
    from_heads: tuple[int, ...] = ()


@record(eq=True)
class ScatterChoice:
    """A variant of scattering (`scatter_variant.py`) by its name, and `when` it is taken."""

    name: str
    when: When


@record(eq=True)
class SweepPlan:
    """All decisions about one sweep.

    For a scatter, the first variant of `scatter` whose condition holds runs.
    """

    bind: Bind
    levels: tuple[Level, ...]
    versions: tuple[Version, ...]
    scatter: tuple[ScatterChoice, ...] = ()

    @property
    def plain(self) -> Version:
        """The version without a guard."""
        return self.versions[-1]


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
