"""What a launch has brought about so far."""

from __future__ import annotations

import numpy as np

from flatweave.base.records import record
from flatweave.simulator.counts import Counter
from flatweave.simulator.memory import ATOMICALLY, Buffer
from flatweave.simulator.schedules import Schedule
from flatweave.terms.batch import Value
from flatweave.terms.syntax import Var

FIRST_UNIT = 1 << 32
"""Numbers of agents below are those of a launch's warps."""


@record(eq=True)
class Failure:
    """What a unit reports instead of results; `index` is the smallest element with an error, -1
    outside of kernels."""

    code: int
    site: int
    index: int = 0
    value: int = 0
    extent: int = 0


class Progress:
    """Memory of blocks, the failure reported, and how much has happened; in which order it is to
    happen, and who counts."""

    def __init__(self, schedule: Schedule, counts: Counter) -> None:
        self.schedule = schedule
        self.counts = counts
        self.shared: dict[tuple[int, Var], Buffer] = {}
        self.failure: Failure | None = None
        self.events = 0
        self._units = FIRST_UNIT
        self._locks: dict[tuple[int, int], int] = {}

    def numbers(self, count: int) -> Value:
        """Numbers of agents that no other has."""
        self._units += count
        return np.arange(self._units - count, self._units)

    def lock(self, locks: Buffer, stripe: int) -> int:
        """A number for the way of using memory that one lock protects."""
        return self._locks.setdefault((id(locks), stripe), ATOMICALLY + 1 + len(self._locks))

    def report(self, failure: Failure) -> None:
        """The smallest index wins, then the smallest site, then the smallest value."""
        first = (failure.index, failure.site, failure.value)
        old = self.failure
        if old is None or first < (old.index, old.site, old.value):
            self.failure = failure
