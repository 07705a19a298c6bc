"""What a running program found wrong: the record that becomes the user's error."""

from __future__ import annotations

from typing import Protocol

from flatweave.base.dtypes import DTYPES, DType
from flatweave.base.plan import OUT_OF_MEMORY, Plan
from flatweave.base.records import record
from flatweave.base.source import Location

INDEX = "index"  # a read outside an array
NEGATIVE = "negative_extent"  # an array of fewer than no elements
NOT_ASSOCIATIVE = "not_associative"  # an operator that groups elements in more than one way
NOT_COMMUTATIVE = "not_commutative"  # one that combines elements in any order
NOT_NEUTRAL = "not_neutral"  # a neutral element that changes what it meets
OVERFLOW = "overflow"  # more elements than an i64 can count
SAME = "same"  # extents that differ: a call is tried again with those of 1 broadcast
MEMORY = "memory"  # an array that does not fit: its values are how many elements, and their dtype

PARTS = " | "  # between the parts of a check's message: what is wrong, origins, what to do


def sizes_overflow(who: str) -> str:
    """What a check of a running sum of sizes says; its value is the element where it fails."""
    return PARTS.join([
        f"the sizes of {who} add up to more than an i64 can count at element {{0}}.",
        "Check the sizes: one of them is far too large.",
    ])  # fmt: skip


@record(frozen=False)
class Fault(Exception):
    """A bad index (`code` is INDEX) or a failed check (`code` is its kind).

    `index` is the smallest element of the batch where it happened, -1 outside of element functions;
    `value` is the index as the user wrote it, `extent` what it had to stay below. A failed check
    brings its `values` and `message` instead.
    """

    code: str
    index: int = -1
    value: int = 0
    extent: int = 0
    axis: int = 0
    values: tuple[int | float | bool | str, ...] = ()
    message: str = ""
    where: Location | None = None

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        if self.code == INDEX:
            return f"index {self.value} is outside extent {self.extent}{place}"
        return f"{self.code}: {self.message or self.value} {self.values}{place}"


def memory_fault(count: int, dtype: DType, where: Location | None = None) -> Fault:
    """The fault of an array for which there is no memory."""
    return Fault(MEMORY, values=(count, dtype.name), where=where)


def index_fault(index: int, i: int, extent: int, axis: int) -> Fault:
    """The fault of a read at i; a negative index was wrapped before it came here: i + extent."""
    return Fault(INDEX, index, i if i >= 0 else i - extent, extent, axis)


class Status(Protocol):
    """What a run reports that failed, on a machine or in the simulator."""

    @property
    def code(self) -> int:
        """What went wrong (`base/plan.py`)."""

    @property
    def site(self) -> int:
        """Where in the program."""

    @property
    def index(self) -> int:
        """At which element."""

    @property
    def value(self) -> int:
        """With which value."""

    @property
    def extent(self) -> int:
        """What it had to stay below, or a second value."""


def fault_of(status: Status, plan: Plan) -> Fault:
    """The report of a failed run, with its location in the user's program."""
    site = plan.sites[status.site]
    if status.code == OUT_OF_MEMORY and status.value < 0:
        return Fault(NEGATIVE, value=status.value, where=site.where)
    if status.code == OUT_OF_MEMORY:
        return memory_fault(status.value, DTYPES[status.extent], site.where)
    if site.kind == INDEX:
        axis = site.axis or int(site.message or 0)
        fault = index_fault(status.index, status.value, status.extent, axis)
        fault.where = site.where
        return fault
    values = (status.value, status.extent)[: site.count]
    return Fault(site.kind, status.index, values=values, message=site.message, where=site.where)
