"""A program whose host steps run in Python and whose kernels run on a device.

    HostProgram(device, kernels, steps, plan).run([n, xs])      [ys], or the status of what failed

Buffers count their owners as on the CPU; memory goes back with the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES, DType, bool_, u8
from flatweave.base.plan import OUT_OF_MEMORY, Plan, Status
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.kernels import Kernels
from flatweave.runtime.devices.memory import Memory

STATUS_WORDS = 6  # code, site, index, value, extent, and the lock of those who write them
ZERO = np.uint8(0)


class Stop(Exception):
    """The program ends here with an error."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Buffer:
    """Memory that holds `count` elements of a dtype, with its owners."""

    __slots__ = ("count", "dtype", "memory", "owners")

    def __init__(self, memory: Memory, dtype: DType, count: int) -> None:
        self.memory = memory
        self.dtype = stored(dtype)
        self.count = count
        self.owners = 1


class Running:
    """One call in progress: the device, its status word, the memory in use."""

    def __init__(self, device: Device, kernels: Kernels) -> None:
        self.device = device
        self.kernels = kernels
        self.status: Memory | None = None
        self._taken: list[Memory] = []

    def take(self, size: int) -> Memory:
        """Memory for this call."""
        memory = self.device.allocate(size)
        self._taken.append(memory)
        return memory

    def give_up(self) -> None:
        """Release all memory, which the traceback of an error would keep."""
        for memory in self._taken:
            memory.release()

    def allocate(self, dtype: DType, count: int, site: int) -> Buffer:
        """A fresh buffer, or the end of the program."""
        refused = Stop(Status(OUT_OF_MEMORY, site, 0, count, DTYPES.index(dtype)))
        if count < 0:
            raise refused
        try:
            memory = self.take(max(1, count) * stored(dtype).bytes)
        except MemoryError:
            raise refused from None
        return Buffer(memory, dtype, count)

    def free(self, buffer: Buffer) -> None:
        """One owner less."""
        buffer.owners -= 1
        if buffer.owners == 0:
            buffer.memory.release()

    def load(self, buffer: Buffer, index: int) -> Any:
        """One element."""
        value = np.empty(1, buffer.dtype.numpy)
        self.device.wait()
        self.device.read(buffer.memory, value, index * buffer.dtype.bytes)
        return value[0].item()

    def store(self, buffer: Buffer, index: int, value: Any) -> None:
        """Set one element."""
        stored_value = buffer.dtype.numpy.type(value)
        self.device.fill(buffer.memory, stored_value, index * buffer.dtype.bytes)

    def launch(self, name: str, grid: int, args: Sequence[Any]) -> None:
        """Run a kernel; the end of the program where it reports an error."""
        if grid <= 0:
            return
        kernel = self.kernels[name]
        given: list[Any] = [self._status()]
        if kernel.claims:
            given.append(self._zeros(np.uint32().nbytes))
        given += [arg.memory if isinstance(arg, Buffer) else arg for arg in args]
        self.device.launch(kernel.module[kernel.name], grid, kernel.threads, given)
        if kernel.reports:
            self._check()

    def _status(self) -> Memory:
        if self.status is None:
            self.status = self._zeros(STATUS_WORDS * np.int64().nbytes)
        return self.status

    def _zeros(self, size: int) -> Memory:
        memory = self.take(size)
        self.device.fill(memory, ZERO, 0, size)
        return memory

    def _check(self) -> None:
        words = np.zeros(STATUS_WORDS, np.int64)
        self.device.wait()
        self.device.read(self._status(), words)
        if words[0]:
            raise Stop(Status(*(int(word) for word in words[:5])))


HostSteps = Callable[[Running, list[Any]], list[Any]]


class HostProgram:
    """A program whose host steps run in Python and whose kernels run on a device."""

    def __init__(self, device: Device, kernels: Kernels, steps: HostSteps, plan: Plan) -> None:
        self.plan = plan
        self.kernels = kernels
        self._device = device
        self._steps = steps

    def run(self, args: list[Any]) -> list[Any] | Status:
        """The results for flat arguments; the status instead when the program failed."""
        running = Running(self._device, self.kernels)
        try:
            given = [self._argument(running, n, arg) for n, arg in enumerate(args)]
            return self._results(running, self._steps(running, given))
        except Stop as stop:
            running.give_up()
            return stop.status
        except BaseException:
            running.give_up()
            raise

    def _argument(self, running: Running, number: int, arg: Any) -> Any:
        param = self.plan.params[number]
        if not param.is_array:
            return param.dtype.numpy.type(arg).item()
        values = np.ascontiguousarray(arg)
        buffer = running.allocate(param.dtype, values.size, 0)
        if values.size:
            running.device.upload(buffer.memory, values.reshape(-1).view(buffer.dtype.numpy))
        return buffer

    def _results(self, running: Running, values: list[Any]) -> list[Any]:
        found: list[Any] = []
        rest = iter(values)
        for result in self.plan.results:
            value = next(rest)
            if result.extents is None:
                found.append(result.dtype.numpy.type(value))
                continue
            shape = tuple(next(rest) if extent is None else extent for extent in result.extents)
            array = np.empty(shape, stored(result.dtype).numpy)
            if array.size:
                running.device.download(value.memory, array)
            found.append(array.view(result.dtype.numpy))
        return found


def stored(dtype: DType) -> DType:
    """How a dtype lies in memory: a bool takes a byte."""
    return u8 if dtype is bool_ else dtype
