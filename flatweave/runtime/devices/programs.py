"""A program whose host steps run in Python and whose kernels run on a device.

    HostProgram(device, kernels, steps, plan).run([n, xs])      [ys], or the status of what failed

Buffers count their owners as on the CPU; memory goes back with the last one. A run puts its kernels
into the device's queue and comes back: its arrays stay there. It waits only where a host step reads
what a kernel has written.

A kernel that finds an error reports it, and every later one of the call finds a *gate* closed and
does nothing, since what it reads may be anything. So do those of calls that get its results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES, DType, as_dtype, bool_, f64, i64, stored
from flatweave.base.plan import OUT_OF_MEMORY, Plan, Status
from flatweave.base.recording import OPEN, watched
from flatweave.runtime.devices.arrays import (
    ALL_WORDS,
    GATES,
    PASSED_ON,
    STATUS_WORDS,
    WORD,
    Report,
    Resident,
    Stop,
    read_status,
)
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.launches import (
    IN_64_BITS,
    Kernels,
    Launchable,
    Turns,
    Work,
    kept,
    note,
    perform,
)
from flatweave.runtime.devices.memory import Memory

ZERO = np.uint8(0)
LARGE = 1 << 20  # bytes
_AS_IT_IS = {i64: int, f64: float, bool_: bool}
AT_ONCE = "same"  # the kind of check that the caller tries again after, in another way


class Buffer:
    """Memory that holds `count` elements, with its owners; `dtype` is what they are stored as."""

    __slots__ = ("count", "dtype", "memory", "owners")

    def __init__(self, memory: Memory, dtype: DType, count: int) -> None:
        self.memory = memory
        self.dtype = dtype
        self.count = count
        self.owners = 1


class Running:
    """One call in progress: the device, its status word, the memory in use."""

    __slots__ = (
        "_earlier", "_gate_is_old", "_may_have_failed", "_status", "_taken", "device",
        "is_wanted_now", "kernels", "plan", "_turns", "_works",
    )  # fmt: skip

    def __init__(
        self, device: Device, kernels: Kernels, plan: Plan, turns: Turns | None = None
    ) -> None:
        self.device = device
        self.kernels = kernels
        self.plan = plan
        self.is_wanted_now = device.waits_for_faults
        self._status: Memory | None = None
        self._may_have_failed = False
        self._gate_is_old = False
        self._earlier: list[Report] = []  # of calls that made arguments
        self._taken: list[Memory] = []
        self._turns = turns
        self._works: list[Work] | None = None  # of an iteration that is recorded

    # -- memory -----------------------------------------------------------------------------------

    def take(self, size: int) -> Memory:
        """Memory for this call."""
        try:
            memory = self.device.allocate(size)
        except MemoryError:
            if self._works is None:
                raise
            self._flush()  # what is idle can go back to the driver then
            memory = self.device.allocate(size)
        self._taken.append(memory)
        return memory

    def taken(self, memory: Memory) -> Memory:
        """Memory that is given back if this call fails."""
        self._taken.append(memory)
        return memory

    def give_up(self) -> None:
        """Release all memory, which the traceback of an error would keep."""
        for memory in self._taken:
            memory.release()

    def allocate(self, dtype: DType, count: int, site: int) -> Buffer:
        """A fresh buffer of what a dtype is stored as, or the end of the program."""
        try:
            if count >= 0:
                return Buffer(self.take(max(1, count) * dtype.bytes), dtype, count)
        except MemoryError:
            pass
        raise Stop(Status(OUT_OF_MEMORY, site, 0, count, DTYPES.index(dtype)))

    def load(self, buffer: Buffer, index: int) -> Any:
        """One element, when it is there."""
        self.check()
        value = np.empty(1, buffer.dtype.numpy)
        self.device.read(buffer.memory, value, index * buffer.dtype.bytes)
        return value[0].item()

    def keep(self, buffer: Buffer, index: int) -> Memory:
        """One element as a result that nobody waits for."""
        memory, size = self.take(buffer.dtype.bytes), buffer.dtype.bytes
        self._do(self.device.copy, memory, 0, buffer.memory, index * size, size)
        return memory

    def store(self, buffer: Buffer, index: int, value: Any) -> None:
        """Set one element."""
        stored_value = buffer.dtype.numpy.type(value)
        self._do(self.device.fill, buffer.memory, stored_value, index * buffer.dtype.bytes)

    # -- kernels ----------------------------------------------------------------------------------

    def launch(self, name: str, grid: int, args: Sequence[Any]) -> None:
        """Put a kernel into the queue; arguments are memory and NumPy scalars."""
        if grid <= 0:
            return
        if self._works is not None and name not in self.kernels:
            self._make(name)
        kernel = self.kernels[name]
        if kernel.fits is not None and not kernel.fits.holds(grid, args):
            return self.launch(name + IN_64_BITS, grid, args)
        given: list[Any] = [self._report_to(kernel)]
        if kernel.claims:
            given.append(self._zeros(np.uint32().nbytes))
        given += args
        call = watched() if OPEN else None
        made = kernel.module[kernel.name], grid, kernel.threads, given
        if call is not None:
            note(call, self.device, name, grid, self.device.launch_timed(*made))
        elif self._works is None:
            self.device.launch(*made)
        else:
            self._do(self.device.launch, *made)
        if kernel.reports:
            self._may_have_failed = self._gate_is_old = True
            sites = self.plan.sites
            if any(site in sites and sites[site].kind == AT_ONCE for site in kernel.reports):
                self.is_wanted_now = True

    def _report_to(self, kernel: Launchable) -> Memory:
        """The status for a kernel: the call's own from where something may go wrong. Calls that
        made arguments close the gate if they failed."""
        if self._status is None:
            if not kernel.reports and not self._earlier:
                return self.device.well or all_is_well(self.device)
            self._status = self._zeros(ALL_WORDS * WORD)
            has_gates = len(self._earlier) <= GATES
            for number, report in enumerate(self._earlier):
                if report.memory is None or not has_gates:
                    report.settle()
                    continue
                gate = (STATUS_WORDS + number) * WORD
                self._do(self.device.copy, self._status, gate, report.memory, 0, WORD)
                self._may_have_failed = True
        if self._gate_is_old:
            self._do(self.device.copy, self._status, STATUS_WORDS * WORD, self._status, 0, WORD)
            self._gate_is_old = False
        return self._status

    def _zeros(self, size: int) -> Memory:
        memory = self.take(size)
        self._do(self.device.fill, memory, ZERO, 0, size)
        return memory

    # -- loops ------------------------------------------------------------------------------------

    def turn(self, run: Callable[[Running, Any], None], frame: Any) -> None:
        """One iteration of a loop that reads nothing back. If the device can, works are recorded,
        and repeated iterations are replayed. Meanwhile no other thread gets memory that
        the iteration frees, or puts work before it. In a profiled call, each kernel is
        launched separately: a graph has no times of its parts."""
        if self._turns is None or watched() is not None:
            run(self, frame)
            return
        with self.device.alone():
            self._works = []
            self.device.pool.is_held = True
            try:
                run(self, frame)
            except BaseException:
                self._flush()
                raise
            self._flush(self._turns.do)

    def _make(self, name: str) -> None:
        """Compile a kernel while this iteration is recorded: in another thread, which needs the
        device."""
        self._flush()
        lock = self.device.alone()
        try:
            lock.release()
            assert self.kernels[name]
        finally:
            lock.acquire()

    def _flush(self, do: Callable[[list[Work]], None] = perform) -> None:
        """Put what was recorded into the queue."""
        works, self._works = self._works, None
        self.device.pool.is_held = False
        if works:
            do(works)

    def _do(self, work: Callable[..., None], *args: Any) -> None:
        """Put work into the queue, or keep it for the end of an iteration."""
        if self._works is None:
            work(*args)
        else:
            self._works.append((work, kept(args)))

    # -- what went wrong --------------------------------------------------------------------------

    def depends_on(self, report: Report) -> None:
        """An argument is made by kernels that may fail."""
        if report not in self._earlier:
            self._earlier.append(report)

    def check(self) -> None:
        """Wait; the end of the program where a kernel reported an error."""
        self.device.wait()
        for report in self._earlier:
            report.settle()
        if self._status is not None and self._may_have_failed:
            status = read_status(self.device, self._status)
            if not status.is_ok and status.code != PASSED_ON:
                raise Stop(status)
        self._earlier, self._may_have_failed = [], False

    def first(self, status: Status) -> Status:
        """What went wrong first: what a kernel reported, or what a host step found after it."""
        try:
            self.check()
        except Stop as stop:
            return stop.status
        return status

    def report(self) -> Report | None:
        """What results depend on, while nobody has looked."""
        if self._status is not None and self._may_have_failed:
            self._status.written = self.device.works
            return Report(self.device, self._status, self.plan, self._earlier)
        for report in self._earlier[1:]:
            report.settle()
        return self._earlier[0] if self._earlier else None


HostSteps = Callable[[Running, list[Any]], list[Any]]


class HostProgram:
    """A program whose host steps run in Python and whose kernels run on a device."""

    def __init__(self, device: Device, kernels: Kernels, steps: HostSteps, plan: Plan) -> None:
        self.plan = plan
        self.kernels = kernels
        self.device = device
        self._steps = steps
        self._has_arrays = any(result.extents is not None for result in plan.results)
        self._turns = Turns(device) if device.driver.graphs is not None else None
        # of an array, what it is stored as; of a number, the type of Python's that it may have as
        # it is, and NumPy's that others become
        self._takes = [
            (stored(param.dtype) if param.is_array else None, _AS_IT_IS.get(param.dtype),
             param.dtype.numpy.type)
            for param in plan.params
        ]  # fmt: skip

    def run(self, args: list[Any]) -> list[Any] | Status:
        """The results for flat arguments, arrays on the device; the status instead when the program
        failed so far."""
        running = Running(self.device, self.kernels, self.plan, self._turns)
        driver = self.device.driver
        try:
            driver.begin()
            given = [
                self._argument(running, dtype, arg) if dtype is not None else
                arg if type(arg) is kind else scalar(arg).item()
                for (dtype, kind, scalar), arg in zip(self._takes, args, strict=True)
            ]  # fmt: skip
            values = self._steps(running, given)
            if Resident.borrowed:
                self._hold(args)
            found = self._results(running, values)
            has_array = self._has_arrays or any(type(each) is Resident for each in found)
            if running.is_wanted_now or not has_array:
                running.check()
            else:
                self.device.mark()
            return found
        except Stop as stop:
            try:
                return running.first(stop.status)
            finally:
                running.give_up()
        except BaseException:
            running.give_up()
            raise
        finally:
            driver.end()

    def _hold(self, args: list[Any]) -> None:
        """Keep somebody else's memory until kernels have read it."""
        for arg in args:
            if type(arg) is Resident and arg.owner is not None:
                self.device.hold(arg.owner)

    def _argument(self, running: Running, dtype: DType, arg: Any) -> Buffer:
        """An array on the device; `dtype` is what its elements are stored as."""
        if type(arg) is Resident and arg.device is self.device:
            if arg.report is not None:
                running.depends_on(arg.report)
            buffer = Buffer(arg.memory, dtype, arg.size)
            buffer.owners += 1  # the array itself
            return buffer
        values = np.ascontiguousarray(arg)
        try:
            memory = running.taken(self.device.upload(values.reshape(-1).view(np.uint8)))
        except MemoryError as error:
            name = f"{as_dtype(values.dtype).name}[{', '.join(map(str, values.shape))}]"
            raise MemoryError(f"{name}, an argument, does not fit {error}") from None
        return Buffer(memory, dtype, values.size)

    def _results(self, running: Running, values: list[Any]) -> list[Any]:
        found: list[Any] = []
        rest, report = iter(values), running.report()
        for result in self.plan.results:
            value = next(rest)
            if result.extents is None:
                found.append(self._number(value, result.dtype.numpy, report))
                continue
            shape = tuple([next(rest) if extent is None else extent for extent in result.extents])
            found.append(self._kept(running, value, result.dtype.numpy, shape, report))
        return found

    def _number(self, value: Any, dtype: np.dtype[Any], report: Report | None) -> Any:
        if type(value) is not Memory:
            return dtype.type(value)
        value.written = self.device.works
        return Resident(self.device, value, dtype, (), report)

    def _kept(
        self, running: Running, buffer: Buffer, dtype: np.dtype[Any], shape: tuple[int, ...],
        report: Report | None,
    ) -> Resident:  # fmt: skip
        """A result; of large memory that it fills only a part of, it gets a copy."""
        memory = buffer.memory
        if memory.size > LARGE:
            size = math.prod(shape) * dtype.itemsize
            if memory.size > 2 * size:
                memory = running.take(max(1, size))
                self.device.copy(memory, 0, buffer.memory, 0, size)
        memory.written = self.device.works
        return Resident(self.device, memory, dtype, shape, report)


def all_is_well(device: Device) -> Memory:
    """A status that no kernel ever writes, with open gates."""
    size = ALL_WORDS * WORD
    well = device.allocate(size)
    device.fill(well, ZERO, 0, size)
    device.well = well  # once it is filled: other threads take it
    return well
