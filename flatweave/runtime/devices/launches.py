"""Launches on a device: kernels that are built when needed, launches timed, loops batched."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import DeviceError
from flatweave.base.locks import Lock
from flatweave.base.recording import Call, Launch
from flatweave.base.records import record
from flatweave.runtime.devices.device import Device, Times
from flatweave.runtime.devices.memory import Memory

# The kernels of one program on a device, made group by group when one of them is first launched.
#
# kernels["scale"]      what a launch must know of it; made now, with its group, if it is not yet


# A kernel whose indices are computed in 32 bits says for which launches that holds; for others
# there is kernels["scale in 64 bits"], which is compiled when one comes.


IN_64_BITS = " in 64 bits"
LIMIT = 1 << 31
GRID_ITSELF = -1
Numbers = Sequence[int]
Power = tuple[int, int]
Products = Sequence[tuple[float, Sequence[Power]]]


class Fits:
    """What must hold of a launch, whose grid has the number -1 and whose arguments the others:
    the products of powers, each times its factor, add up to less than 2**31; `scalars` are no less
    than 0; and the arguments in `memory` have no more bytes than it says."""

    __slots__ = ("_last", "memory", "products", "scalars")

    def __init__(self, products: Products, scalars: Numbers, memory: Sequence[Power]) -> None:
        self.products = products
        self.scalars = scalars
        self.memory = memory
        self._last: list[Any] = []  # the numbers of a launch that fitted

    @property
    def parts(self) -> tuple[Products, Numbers, Sequence[Power]]:
        """What another process makes it of."""
        return self.products, self.scalars, self.memory

    def holds(self, grid: int, args: Sequence[Any]) -> bool:
        """Whether it does."""
        for number, size in self.memory:
            if args[number].size > size:
                return False
        numbers = [grid, *[args[number] for number in self.scalars]]
        if numbers != self._last:
            if min(numbers) < 0 or self._total(grid, args) >= LIMIT:
                return False
            self._last = numbers
        return True

    def _total(self, grid: int, args: Sequence[Any]) -> float:
        total = 1.0  # for what rounding loses
        for times, powers in self.products:
            for number, power in powers:
                value = grid if number == GRID_ITSELF else int(args[number])
                times *= value**power if power > 0 else max(1, value) ** power
            total += times
        return total


@record(eq=True)
class Launchable:
    """A kernel in a module of the device, which has a text, and what a launch must know of it."""

    text: str
    module: Any
    name: str
    threads: int
    claims: bool
    reports: tuple[int, ...]  # the sites where it may
    fits: Fits | None = None


Keep = Callable[[Sequence[str], Mapping[str, "Launchable"]], None]
Make = Callable[[Sequence[str]], Mapping[str, Launchable]]


class Kernels(dict[str, Launchable]):
    """Kernels by their names; `make` compiles a group of them, and `keep` receives it."""

    def __init__(self, groups: Iterable[Sequence[str]], make: Make) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        self.keep: Keep | None = None
        self._groups = {name: group for group in self.groups for name in group}
        self._make = make
        self._lock = Lock()

    @property
    def made(self) -> frozenset[str]:
        """The names of the kernels that a run has needed."""
        return frozenset(self)

    def __missing__(self, name: str) -> Launchable:
        with self._lock:
            if name not in self:
                group = self._groups.get(name, (name,))
                made = self._make(group)
                self.update(made)
                if self.keep is not None:
                    self.keep(group, made)
            return self[name]


# Launches on a device in a call that is watched: when they ran, the device knows afterwards.


MOST = 4096  # launches of a call, until their times are asked for


class Timed:
    """One launch."""

    __slots__ = ("_blocks", "_device", "_name", "_times")

    def __init__(self, device: Device, name: str, blocks: int, times: Times) -> None:
        self._device, self._name, self._blocks, self._times = device, name, blocks, times

    def wait(self) -> None:
        """Wait until the device has done it."""
        with contextlib.suppress(DeviceError):
            self._device.wait()

    def read(self) -> list[Launch]:
        """The launch, when the device has done it; nothing where its times are lost."""
        self.wait()
        try:
            begin, end = self._times.span()
        except DeviceError:
            return []
        where = f"{self._device.kind}:{self._device.number}"
        return [Launch(self._name, begin, end, self._blocks, 0, (), where)]


def note(call: Call, device: Device, name: str, blocks: int, times: Times) -> None:
    """A kernel of a call was put into the queue."""
    call.launches.append(Timed(device, name, blocks, times))
    call.peak_bytes = max(call.peak_bytes, device.pool.used_bytes)
    if len(call.launches) >= MOST:
        call.report()


# Iterations of loops on the host: works that several of them enqueue alike become one call.
#
#     turns.do([(launch, (..)), (copy, (..))])     the first time done one by one, the second time
#                                                  recorded as a graph by the driver, and from then
#                                                  on replayed
#
# Turns are alike when kernels, sizes and numbers are the same, and memory lies at the same
# addresses: arrays allocated in each iteration alternate between a few addresses, since memory
# that is given back is lent again.


FEWEST = 2  # works of an iteration from which on one call is cheaper
KEPT = 32  # iterations of a program; the oldest is dropped first
Work = tuple[Callable[..., None], tuple[Any, ...]]
"""A method of the device, and its arguments."""


class Turns:
    """The iterations of one program's loops that a device has seen, with their graphs."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._driver = device.driver
        self._graphs: dict[Hashable, Any] = {}

    def do(self, works: Sequence[Work]) -> None:
        """Put the works of a turn into the queue, to which this thread is alone."""
        if len(works) < FEWEST:
            return perform(works)
        key = tuple((work.__name__, *map(_identity, args)) for work, args in works)
        if key not in self._graphs:
            self._make_room()
            self._graphs[key] = None
            return perform(works)
        graph = self._graphs[key]
        if graph is None:
            record = self._driver.graphs.captured
            graph = self._graphs[key] = record(self._driver.queue, lambda: perform(works))
        self._device.pool.works += 1
        self._driver.graphs.replay(graph, self._driver.queue)
        return None

    def _make_room(self) -> None:
        if len(self._graphs) >= KEPT:
            graph = self._graphs.pop(next(iter(self._graphs)))
            if graph is not None:
                self._driver.graphs.forget(graph)


def kept(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments as they are now: memory keeps its address even when the iteration frees it."""
    return tuple(_kept(arg) for arg in args)


def _kept(arg: Any) -> Any:
    if type(arg) is Memory:
        same = Memory(None, arg.handle, arg.size, arg.queue)
        same.written = arg.written
        return same
    return kept(arg) if type(arg) is list else arg


def perform(works: Sequence[Work]) -> None:
    """Put works into the queue one by one."""
    for work, args in works:
        work(*args)


def _identity(arg: Any) -> Hashable:
    """What is equal for arguments that are alike: where memory lies, the bits of numbers."""
    match arg:
        case Memory():
            return "at", arg.handle
        case np.generic():
            return arg.dtype.char, arg.tobytes()
        case tuple():
            return tuple(map(_identity, arg))
    return arg  # type: ignore[no-any-return]
