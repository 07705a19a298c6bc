"""A machine that runs kernels on memory of its own: what all kinds of them share.

    Driver      what a kind supplies: a dozen calls (`opencl.py`, `cuda.py`)
    Device      one machine: memory for reuse, programs by their text, launches, waits

Calls put work into one queue and come back; `wait` is where Python waits for it, and where what
went wrong is told. Threads may share a device, the child of a fork may not.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from flatweave.base.errors import DeviceError
from flatweave.base.locks import Lock
from flatweave.runtime.cache import process_cache
from flatweave.runtime.devices.memory import Memory, Pool, Source

Values = np.ndarray[Any, np.dtype[Any]]
Module = Mapping[str, Any]  # kernels by name
SOON = 50e-6  # seconds for which a wait looks again at once; then it sleeps between two looks
SHORTEST_PAUSE = 2e-6  # they grow with the time that was waited
LONGEST_PAUSE = 5e-3
PAUSE_GROWTH = 1.25


class Refused(Exception):
    """A driver does not take a binary that is no longer its own."""


class Driver(Source, Protocol):
    """What a kind of device supplies. Work goes into its `queue` in the order of the calls."""

    kind: str
    name: str

    @property
    def compiler(self) -> str:
        """All that a binary depends on but its text."""

    def upload(self, memory: Any, offset: int, values: Values) -> None:
        """Copy an array to memory; when this returns, the array may change."""

    def download(self, memory: Any, offset: int, into: Values) -> None:
        """Copy memory to an array, and wait for that."""

    def copy(self, to: Any, to_offset: int, source: Any, offset: int, size: int) -> None:
        """Copy memory to memory."""

    def fill(self, memory: Any, offset: int, value: np.generic, count: int) -> None:
        """Store a value `count` times."""

    def build(self, text: str) -> tuple[Module, bytes]:
        """The kernels of a program's text, and the binary that they can be had from again."""

    def open(self, binary: bytes) -> Module:
        """The kernels of a binary; raises Refused."""

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks; arguments are handles and NumPy scalars."""

    def mark(self) -> Any:
        """Where the queue ends now."""

    def is_reached(self, mark: Any) -> bool:
        """Whether all before a mark is done; raises DeviceError if it failed."""

    def leave(self) -> None:
        """From now on use a new queue: the old one may never come to its end."""


class Device:
    """One machine; `uploads` and `downloads` count the arrays that went there and came back."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.kind = driver.kind
        self.name = driver.name
        self.pool = Pool(driver)
        self.uploads = 0
        self.downloads = 0
        self._modules: dict[str, Module] = {}
        self._lock = Lock()
        self._process = os.getpid()

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, size: int) -> Memory:
        """Memory of `size` bytes; raises MemoryError when there is none without what is idle."""
        self._check()
        with self._lock:
            try:
                return self.pool.take(size)
            except MemoryError:
                pass
        self.wait()  # until then kernels may hold what is idle
        with self._lock:
            self.pool.trim()
            return self.pool.take(size)

    def upload(self, memory: Memory, values: Values, offset: int = 0) -> None:
        """Copy an array to memory, from byte `offset` on."""
        self._check()
        with self._lock:
            self.uploads += 1
            self._driver.upload(self._handle(memory), offset, values)

    def download(self, memory: Memory, into: Values, offset: int = 0) -> None:
        """Copy memory, from byte `offset` on, to an array, when all is done that was asked for."""
        self.downloads += 1
        self.wait()
        self.read(memory, into, offset)

    def read(self, memory: Memory, into: Values, offset: int = 0) -> None:
        """Copy a few bytes of what has been waited for."""
        with self._lock:
            self._driver.download(self._handle(memory), offset, into)

    def copy(self, to: Memory, to_offset: int, source: Memory, offset: int, size: int) -> None:
        """Copy memory to memory."""
        with self._lock:
            self._driver.copy(self._handle(to), to_offset, self._handle(source), offset, size)

    def fill(self, memory: Memory, value: np.generic, offset: int = 0, count: int = 1) -> None:
        """Store a value `count` times, from byte `offset` on."""
        self._check()
        with self._lock:
            self._driver.fill(self._handle(memory), offset, value, count)

    def _handle(self, memory: Memory) -> Any:
        """What the driver calls memory; where its queue was left, what is in it came to no end."""
        if memory.queue is not self._driver.queue:
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
        said = "\0".join([self.kind, self._driver.compiler, text])
        key, cache = hashlib.sha256(said.encode()).hexdigest(), process_cache()
        binary = cache.get(key)
        if binary is not None:
            try:
                return self._driver.open(binary)
            except Refused:
                cache.drop(key)
        kernels, binary = self._driver.build(text)
        if binary:
            cache.put(key, binary)
        return kernels

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks; arguments are memory and NumPy scalars."""
        self._check()
        with self._lock:
            given = [self._handle(arg) if isinstance(arg, Memory) else arg for arg in args]
            self._driver.launch(kernel, grid, threads, given)

    # -- waiting ----------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wait until all is done that was asked for so far: in Python, where signal handlers run.

        After an interrupt the queue is left to a kernel that may never end, with all its memory.
        """
        self._check()
        with self._lock:
            mark = self._driver.mark()
        pause, soon = SHORTEST_PAUSE, time.perf_counter() + SOON
        try:
            while not self._driver.is_reached(mark):
                if time.perf_counter() > soon:
                    time.sleep(pause)
                    pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)
        except DeviceError:
            raise
        except BaseException:
            with self._lock:
                self.pool.trim()
                self._driver.leave()
            raise

    def _check(self) -> None:
        """Refuse work in the child of a fork, where a driver has neither threads nor a device."""
        if os.getpid() != self._process:
            raise DeviceError(
                f"{self.name} was opened before this process was forked, and cannot be used here.",
                remedy="Start processes with multiprocessing's method spawn, or use devices in "
                "child processes alone.",
            )
