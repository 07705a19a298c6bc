"""Arrays that stay on a device, and what the kernels that make them report.

    xs = Resident(device, memory, np.dtype("f4"), (1000,), report)
    xs.values()      waits, raises what was reported, copies to the host once
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.plan import Plan, Status
from flatweave.runtime.devices.device import Device, Values
from flatweave.runtime.devices.memory import Memory

STATUS_WORDS = 6  # code, site, index, value, extent, and the lock of those who write them
GATES = 2  # words after them: if one is not 0, the kernels of the call do nothing
ALL_WORDS = STATUS_WORDS + GATES + 1  # and one that says which element's report is kept
WORD = 8
PASSED_ON = -1  # the code of a call that did nothing since an argument's call had failed


class Stop(Exception):
    """The program ends here with an error."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Report:
    """What the kernels of one call report, in memory that they write: nobody has looked yet.

    `tell` makes the user's error of it; `earlier` are the reports of calls that made arguments.
    """

    def __init__(self, device: Device, memory: Memory, plan: Plan, earlier: list[Report]) -> None:
        self.device = device
        self.plan = plan
        self.tell: Callable[[Status, Plan], Exception] | None = None
        self._memory: Memory | None = memory
        self._earlier = earlier
        self._failed: Exception | None = None

    @property
    def memory(self) -> Memory | None:
        """Where the words are, as long as nobody has looked."""
        return self._memory

    def settle(self) -> None:
        """Wait, and raise what was reported; each time."""
        if self._memory is not None:
            self.device.wait(self._memory.written)
            self.look()
        if self._failed is not None:
            raise self._failed

    def look(self) -> None:
        """Read what was reported by kernels that have been waited for."""
        memory = self._memory
        if memory is None:
            return
        status = read_status(self.device, memory)
        if status.code == PASSED_ON:
            self._failed = self._first_of_earlier()
        elif not status.is_ok:
            self._failed = self.tell(status, self.plan) if self.tell else Stop(status)
        self._memory, self._earlier = None, []

    def _first_of_earlier(self) -> Exception | None:
        for report in self._earlier:
            report.look()
            if report._failed is not None:
                return report._failed
        return None


def read_status(device: Device, memory: Memory) -> Status:
    """What is in the words of a status, after a wait."""
    words = np.zeros(STATUS_WORDS, np.int64)
    device.read(memory, words)
    return Status(*(int(word) for word in words[:5]))


class Resident:
    """An array in a device's memory, C-contiguous from its start; nobody changes it.

    `owner` is another owner of the memory, which lives as long. `exported` says that others may
    know its address.
    """

    exist = False  # whether there has been any: programs of the CPU need not look for them then
    borrowed = False  # whether any was somebody else's memory
    __slots__ = (
        "__weakref__", "_values", "device", "dtype", "exported", "memory", "owner", "report",
        "shape",
    )  # fmt: skip

    def __init__(
        self, device: Device, memory: Memory, dtype: np.dtype[Any], shape: tuple[int, ...],
        report: Report | None = None, owner: Any = None,
    ) -> None:  # fmt: skip
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.shape = shape
        self.report = report
        self.owner = owner
        self.exported = False
        self._values: Values | None = None
        device.residents.add(self)
        Resident.exist = True
        if owner is not None:
            Resident.borrowed = True

    @classmethod
    def uploaded(cls, device: Device, values: Values) -> Resident:
        """An array of the host that is copied to a device now, and read there from then on; raises
        MemoryError."""
        memory = device.upload(values.reshape(-1).view(np.uint8))
        memory.written = device.works
        found = cls(device, memory, values.dtype, values.shape)
        found._values = values
        return found

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the elements in memory, in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def is_private(self) -> bool:
        """Whether no other library knows the memory."""
        return self.owner is None and not self.exported

    def forget_copy(self) -> None:
        """Leave what was copied to the host to others, who may still look at it."""
        self._values = None

    @property
    def copied(self) -> Values | None:
        """The elements on the host, where they have been copied there."""
        return self._values

    def settle(self) -> None:
        """Raise what went wrong."""
        if self.report is not None:
            self.report.settle()
            self.report = None

    def values(self) -> Values:
        """The elements on the host, copied there once; read-only."""
        if self._values is None:
            self.settle()
            flat = np.empty(self.size, self.dtype)
            if flat.size:
                self.device.download(self.memory, flat.view(np.uint8))
            found = flat.reshape(self.shape)
            found.setflags(write=False)
            self._values = found
        return self._values

    def part(self, begin: int, end: int) -> Values:
        """Some of the elements, in row-major order, copied to the host."""
        self.settle()
        found = np.empty(end - begin, self.dtype)
        if found.size:
            offset = begin * self.dtype.itemsize
            self.device.download(self.memory, found.view(np.uint8), offset)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        return np.asarray(self.values(), dtype)

    def reshape(self, *shape: int) -> Resident:
        """The same elements under another shape; one extent may be -1. Raises ValueError."""
        wanted = np.broadcast_to(np.empty(()), self.shape).reshape(shape).shape
        made = Resident(self.device, self.memory, self.dtype, wanted, self.report, self.owner)
        if self._values is not None:
            made._values = self._values.reshape(wanted)
        return made

    def __getitem__(self, key: Any) -> Any:
        return self.values()[key]


ARRAYS = (np.ndarray, Resident)
"""What a program may be given as an array."""
