"""The six verbs of a device with memory of its own, and the programs that use them.

    allocate free upload download load launch      what a target's driver supplies
    HostProgram                                    runs a program's host steps with them

Buffers count their owners as on the CPU; memory goes back with the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from flatweave.base.dtypes import DTYPES, DType, bool_, u8
from flatweave.base.plan import OUT_OF_MEMORY, Plan, Status
from flatweave.runtime.devices.kernels import Kernels

Values = np.ndarray[Any, np.dtype[Any]]
STATUS_WORDS = 6  # code, site, index, value, extent, and the lock of those who write them


class Device(Protocol):
    """A machine that runs kernels on memory of its own."""

    def allocate(self, size: int) -> Any:
        """Memory of `size` bytes, at least one; raises MemoryError."""

    def free(self, memory: Any) -> None:
        """Give memory back."""

    def upload(self, memory: Any, values: Values, offset: int = 0) -> None:
        """Copy an array to memory, from byte `offset` on."""

    def download(self, memory: Any, into: Values, offset: int = 0) -> None:
        """Copy memory, from byte `offset` on, to an array."""

    def load(self, text: str) -> Any:
        """The module that a program text becomes."""

    def launch(
        self, module: Any, kernel: str, grid: int, threads: int, args: Sequence[Any]
    ) -> None:
        """Run a kernel on `grid` blocks; arguments are memory and NumPy scalars."""


class Stop(Exception):
    """The program ends here with an error."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Buffer:
    """Memory that holds `count` elements of a dtype, with its owners."""

    __slots__ = ("count", "dtype", "memory", "owners")

    def __init__(self, memory: Any, dtype: DType, count: int) -> None:
        self.memory = memory
        self.dtype = stored(dtype)
        self.count = count
        self.owners = 1


class Running:
    """One call in progress: the device, its status word, the memory in use."""

    def __init__(self, device: Device, kernels: Kernels) -> None:
        self.device = device
        self.kernels = kernels
        self.buffers: set[Buffer] = set()
        self.status: Any = None

    def allocate(self, dtype: DType, count: int, site: int) -> Buffer:
        """A fresh buffer, or the end of the program."""
        refused = Stop(Status(OUT_OF_MEMORY, site, 0, count, DTYPES.index(dtype)))
        if count < 0:
            raise refused
        try:
            memory = self.device.allocate(max(1, count) * stored(dtype).bytes)
        except MemoryError:
            raise refused from None
        buffer = Buffer(memory, dtype, count)
        self.buffers.add(buffer)
        return buffer

    def free(self, buffer: Buffer) -> None:
        """One owner less."""
        buffer.owners -= 1
        if buffer.owners == 0:
            self.buffers.discard(buffer)
            self.device.free(buffer.memory)

    def load(self, buffer: Buffer, index: int) -> Any:
        """One element."""
        value = np.empty(1, buffer.dtype.numpy)
        self.device.download(buffer.memory, value, index * buffer.dtype.bytes)
        return value[0].item()

    def store(self, buffer: Buffer, index: int, value: Any) -> None:
        """Set one element."""
        values = np.asarray([value], buffer.dtype.numpy)
        self.device.upload(buffer.memory, values, index * buffer.dtype.bytes)

    def launch(self, name: str, grid: int, args: Sequence[Any]) -> None:
        """Run a kernel; the end of the program where it reports an error."""
        if grid <= 0:
            return
        kernel = self.kernels[name]
        given: list[Any] = [self._status()]
        claim: Any = None
        if kernel.claims:
            claim = self._words(np.zeros(1, np.uint32))
            given.append(claim)
        given += [arg.memory if isinstance(arg, Buffer) else arg for arg in args]
        self.device.launch(kernel.module, kernel.name, grid, kernel.threads, given)
        if claim is not None:
            self.device.free(claim)
        if kernel.reports:
            self._check()

    def _status(self) -> Any:
        if self.status is None:
            self.status = self._words(np.zeros(STATUS_WORDS, np.int64))
        return self.status

    def _words(self, values: Values) -> Any:
        memory = self.device.allocate(values.nbytes)
        self.device.upload(memory, values)
        return memory

    def _check(self) -> None:
        words = np.zeros(STATUS_WORDS, np.int64)
        self.device.download(self.status, words)
        if words[0]:
            raise Stop(Status(*(int(word) for word in words[:5])))

    def end(self) -> None:
        """Give all memory back."""
        for buffer in self.buffers:
            self.device.free(buffer.memory)
        self.buffers.clear()
        if self.status is not None:
            self.device.free(self.status)


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
            return stop.status
        finally:
            running.end()

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
