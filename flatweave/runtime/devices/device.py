"""A machine that runs kernels on separate memory: the common part of all kinds.

    Driver      what a kind supplies: a dozen calls (`opencl.py`, `cuda.py`)
    Device      one machine: memory for reuse, programs by their text, launches, waits

Calls put work into one queue and return; `wait` is where Python waits for it, and where errors
are raised. Large arrays are copied in separate queues, which overlap the kernels.
Threads may share a device, the child of a fork may not.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import DeviceError
from flatweave.base.locks import Lock, in_every_child
from flatweave.runtime.cache import process_cache
from flatweave.runtime.devices.memory import Memory, Pool, Source

Values = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")
Module = Mapping[str, Any]  # kernels by name
SOON = 50e-6  # seconds for which a wait looks again at once; then it sleeps between two looks
SHORTEST_PAUSE = 2e-6  # they grow with the time that was waited
LONGEST_PAUSE = 5e-3
PAUSE_GROWTH = 1.25
MOST_MARKS = 64  # calls from which on a device looks which are done, though nobody waits
NAMED = 3  # arrays that a message names
SMALL = 1 << 14  # bytes; up to this size arrays are copied in the kernels' queue, without waiting


class Refused(Exception):
    """A driver does not take a binary that is no longer its own."""


class Times(Protocol):
    """When a kernel ran."""

    def span(self) -> tuple[int, int]:
        """When it began and ended, by `time.perf_counter_ns`, once the device was waited for;
        raises DeviceError where that is lost."""


class Driver(Source, Protocol):
    """What a kind of device supplies. Work goes into its `queue` in the order of the calls, other
    than `upload_beside` and `download`, which begin at once."""

    kind: str
    name: str
    graphs: Any  # what records works and replays them (`cuda_driver.py`); None where nothing does
    products: Any  # a library of matrix products (`cuda_libraries.py`); None where there is none

    @property
    def compiler(self) -> str:
        """All that a binary depends on but its text."""

    def upload(self, memory: Any, values: Values) -> None:
        """Copy a small array to memory; when this returns, the array may change."""

    def upload_beside(self, memory: Any, values: Values) -> None:
        """The same for a large one: in a separate queue, for which later work of `queue`
        waits for."""

    def download(self, memory: Any, offset: int, into: Values) -> None:
        """Copy memory to an array in a separate queue, and wait for that."""

    def copy(self, to: Any, to_offset: int, source: Any, offset: int, size: int) -> None:
        """Copy memory to memory."""

    def fill(self, memory: Any, offset: int, value: np.generic, count: int) -> None:
        """Store a value `count` times."""

    def build(self, text: str) -> tuple[Module, bytes]:
        """The kernels of a program's text, and the binary that they can be had from again."""

    def open(self, binary: bytes) -> Module:
        """The kernels of a binary; raises Refused."""

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks; arguments are handles and NumPy scalars. A product of
        matrices is run by the library: the arguments are both factors and the result."""

    def launch_timed(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> Times:
        """The same, with what tells when it ran."""

    def mark(self) -> Any:
        """Where the queue ends now; what is before it has begun, or will without more calls."""

    def is_reached(self, mark: Any) -> bool:
        """Whether all before a mark is done; raises DeviceError if it failed."""

    def begin(self) -> None:
        """This thread calls until `end`, and no other library in between."""

    def end(self) -> None:
        """Other libraries may be called by this thread."""

    def leave(self) -> None:
        """From now on use new queues: the old ones may never come to their end."""


class Device:
    """One machine; `uploads` and `downloads` count the arrays that went there and came back."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.kind = driver.kind
        self.name = driver.name
        self.number = 0  # among those of its kind
        self.pool = Pool(driver)
        self.residents: WeakSet[Any] = WeakSet()  # the arrays that users hold
        self.well: Memory | None = None  # the status of calls in which nothing can go wrong
        self.uploads = 0
        self.downloads = 0
        self.waits_for_faults = False  # calls wait for their kernels, and raise what they report
        self._done = 0  # how many works have been waited for
        self._marks: deque[tuple[int, Any]] = deque()  # with the number of works before each
        self._left: list[tuple[Any, int]] = []  # queues that were left, and what was done then
        self._held: deque[tuple[int, Any]] = deque()
        self._modules: dict[str, Module] = {}
        self._lock = Lock()
        self._is_of_parent = False  # in the child of a fork
        _OPENED.add(self)

    @property
    def works(self) -> int:
        """How much was put into the queue so far."""
        return self.pool.works

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, size: int) -> Memory:
        """Memory of `size` bytes; raises MemoryError if freeing idle memory did not help."""
        if self._is_of_parent:
            self._check()
        try:
            with self._lock:
                return self.pool.take(size)
        except MemoryError:
            if self.pool.is_held:
                raise
            return self._taken(lambda: self.pool.take(size))

    def _taken(self, take: Callable[[], T]) -> T:
        """What the pool gives, once more without what is idle if it has to be."""
        self._check()
        with self._lock:
            try:
                return take()
            except MemoryError:
                pass
        self.wait()  # until then kernels may hold what is idle
        with self._lock:
            self.pool.trim()
        self.wait()
        with self._lock:
            return take()

    def upload(self, values: Values) -> Memory:
        """New memory with the bytes of an array: the copy of a large one overlaps kernels, which
        waits only where two like it are still being read. Raises MemoryError."""
        self._check()
        size = values.nbytes
        if size > SMALL:
            with self._lock:
                self._look()
            memory, last = self._taken(lambda: self.pool.take_for_copy(size, self._done))
            self.wait(last)
        else:
            memory = self.allocate(max(1, size))
        copy = self.driver.upload_beside if size > SMALL else self.driver.upload
        with self._lock:
            if size:
                self.uploads += 1
                self.pool.works += 1
                copy(self._handle(memory), values)
        return memory

    def download(self, memory: Memory, into: Values, offset: int = 0) -> None:
        """Copy memory, from byte `offset` on, to an array, when it has been written."""
        self.downloads += 1
        self.wait(memory.written)
        self.read(memory, into, offset)

    def read(self, memory: Memory, into: Values, offset: int = 0) -> None:
        """Copy a few bytes of what has been waited for."""
        with self._lock:
            self.driver.download(self._handle(memory), offset, into)

    def copy(self, to: Memory, to_offset: int, source: Memory, offset: int, size: int) -> None:
        """Copy memory to memory."""
        with self._lock:
            self.pool.works += 1
            self.driver.copy(self._handle(to), to_offset, self._handle(source), offset, size)

    def fill(self, memory: Memory, value: np.generic, offset: int = 0, count: int = 1) -> None:
        """Store a value `count` times, from byte `offset` on."""
        self._check()
        with self._lock:
            self.pool.works += 1
            self.driver.fill(self._handle(memory), offset, value, count)

    def held(self) -> str:
        """The arrays that users hold here, for the error that there is no memory."""
        arrays = sorted(self.residents, key=lambda each: -each.nbytes)
        if not arrays:
            return ""
        named = [f"{each.dtype.name}{list(each.shape)}" for each in arrays[:NAMED]]
        more = ", .." if len(arrays) > NAMED else ""
        total = pretty.size(sum(each.nbytes for each in arrays))
        return f"{self.name} holds {', '.join(named)}{more}: {total} that are still in use"

    def hold(self, owner: Any) -> None:
        """Keep somebody alive until all is done that was asked for so far."""
        self._held.append((self.works, owner))

    def _handle(self, memory: Memory) -> Any:
        """What the driver calls memory. Where its queue was left before what is in it was done,
        that is lost."""
        if memory.queue is not self.driver.queue and memory.queue is not None:
            done = next(done for queue, done in self._left if queue is memory.queue)
            if memory.written is None or memory.written > done:
                raise DeviceError(
                    f"what was computed on {self.name} is lost: a call was interrupted.",
                    remedy="Compute it again.",
                )
        return memory.handle

    # -- programs ---------------------------------------------------------------------------------

    def load(self, text: str) -> Module:
        """The module of a text: built once, and kept on disk."""
        self._check()
        with self._lock:
            if text not in self._modules:
                self._modules[text] = self._load(text) if "k_" in text else {}
            return self._modules[text]

    def _load(self, text: str) -> Module:
        said = "\0".join([self.kind, self.driver.compiler, text])
        key, cache = hashlib.sha256(said.encode()).hexdigest(), process_cache()
        binary = cache.get(key)
        if binary is not None:
            try:
                return self.driver.open(binary)
            except Refused:
                cache.drop(key)
        kernels, binary = self.driver.build(text)
        if binary:
            cache.put(key, binary)
        return kernels

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks; arguments are memory and NumPy scalars."""
        if self._is_of_parent:
            self._check()
        with self._lock:
            self.driver.launch(kernel, grid, threads, self._given(args))

    def launch_timed(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> Times:
        """The same, with what tells when it ran."""
        self._check()
        with self._lock:
            return self.driver.launch_timed(kernel, grid, threads, self._given(args))

    def _given(self, args: Sequence[Any]) -> list[Any]:
        """Arguments as the driver calls them, for one more work."""
        self.pool.works += 1
        queue = self.driver.queue
        return [
            arg if type(arg) is not Memory else
            arg.handle if arg.queue is queue else self._handle(arg)
            for arg in args
        ]  # fmt: skip

    def alone(self) -> Lock:
        """While it is held, no other thread takes memory here or puts work into the queue."""
        return self._lock

    # -- waiting ----------------------------------------------------------------------------------

    def mark(self) -> None:
        """Note where the queue ends now, so that whoever waits for that waits for no more."""
        with self._lock:
            if self._held or len(self._marks) >= MOST_MARKS:
                self._look()
            if not self._marks or self._marks[-1][0] < self.pool.works:
                self._marks.append((self.pool.works, self.driver.mark()))

    def wait(self, works: int | None = None) -> None:
        """Wait until all work so far is done, or the first `works` works: in Python, where
        signal handlers run.

        After an interrupt the queue is left to a kernel that may never end, with what it computes.
        """
        self._check()
        with self._lock:
            self._look()
            until = self.works if works is None else works
            if until <= self._done:
                return
            mark = self._mark(until)
        pause, soon = SHORTEST_PAUSE, time.perf_counter() + SOON
        try:
            while not self.driver.is_reached(mark):
                if time.perf_counter() > soon:
                    time.sleep(pause)
                    pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)
        except DeviceError:
            raise
        except BaseException:
            self._leave()
            raise
        with self._lock:
            self._look()

    def _mark(self, works: int) -> Any:
        """The first mark after `works` works that are not done yet; a new one if there is
        none."""
        if not self._marks or self._marks[-1][0] < works:
            self._marks.append((self.works, self.driver.mark()))
        return next(mark for behind, mark in self._marks if behind >= works)

    def _look(self) -> None:
        """See how far the queue is by now."""
        is_reached = self.driver.is_reached  # as are those before one that is
        for _ in range(bisect_left(self._marks, True, key=lambda mark: not is_reached(mark[1]))):
            self._done, _ = self._marks.popleft()
        while self._held and self._held[0][0] <= self._done:
            self._held.popleft()

    def _leave(self) -> None:
        """Go on with another queue."""
        with self._lock:
            self.pool.trim()
            self._left.append((self.driver.queue, self._done))
            self.driver.leave()
            self.well = None
            self._marks.clear()
            self._done = self.works

    def _check(self) -> None:
        """Refuse work in the child of a fork, where a driver has neither threads nor a device."""
        if self._is_of_parent:
            raise DeviceError(
                f"{self.name} was opened before this process was forked, and cannot be used here.",
                remedy="Start processes with multiprocessing's method spawn, or use devices in "
                "child processes alone.",
            )


def _forked() -> None:
    for device in _OPENED:
        device._is_of_parent = True


_OPENED: WeakSet[Device] = WeakSet()
in_every_child(_forked)
