"""What work costs, for all choices between ways to run.

One unit: an addition on lanes, some 0.1 ns on one core. `passes/cost.py` counts in it what element
functions compute, and has the costs that no machine changes: READ, STORING, STEP. Here is what else
an element costs, by where it goes:

    written anywhere       WRITE, and `Machine.misses` beyond each cache that lacks its destination
    looked at by owners    LOOK
    moved by a partition   MOVE, and MOVE_BYTE for each byte
    combined on devices    TURN for each lane that waits, or SORT and PASS

Working sets fill half of a memory (`room`), and blocks have as many elements as pay for them
(`Machine.block_work`). On devices the unit is an operation of a warp, or a cycle of one.
"""

from __future__ import annotations

from flatweave.base.dtypes import u32
from flatweave.lower.machine.machine import Machine
from flatweave.passes.cost import STEP

WRITE = 10
LOOK = 13
MOVE, MOVE_BYTE = 38, 4
"""Of scatters: measured in `lower/scatter/costs.py`."""
TURN, PASS, SORT = 7, 60, 350
"""The same on devices."""

AWAY = 2
"""A step of a search in the grid's memory, in steps in a block's own."""
SUNK = 10
"""Operations for what becomes of an element."""
LOOKED = 40
"""Of finding where as many rows begin and end as a warp has lanes, and the longest of them."""
ALONE = 80
"""Of finding where one row begins and ends, for which a whole warp waits."""
SECTOR = 32
"""Bytes that a device's memory hands out at once."""


def room(size: int) -> int:
    """What a working set may take of a memory: the rest is for what streams through it."""
    return size // 2


def searched(marks: int) -> int:
    """Operations of a binary search among `marks` entries in a block's memory."""
    return STEP * (marks - 1).bit_length()


def row_per_lane(machine: Machine) -> int:
    """The extra cost of a read or store if each lane of a warp is in a different row: each lane
    moves a sector instead of a word."""
    lanes = machine.lanes([])
    return lanes - lanes * u32.bytes // SECTOR

