"""The support code of this process: allocator, launches, worker threads, limits on memory."""

from __future__ import annotations

import atexit
import ctypes
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.locks import BUFFERS, Lock, in_every_child, wait_at_fork
from flatweave.base.records import record
from flatweave.runtime.cache import facts, is_current, name_on_disk, process_cache
from flatweave.runtime.image import MappedCode, Unfit, from_bytes, image_from, image_of, to_bytes
from flatweave.runtime.lazy_import import Work, llvm, on_deep_stack, started
from flatweave.runtime.systems import symbol_address, system

# The support code of this process: allocator, launches, workers; every other code calls it.
#
#     support().address("fw_run")
#     part(CALLS).address("fw_call")         what makes calls with no Python in between (calls.ll)
#
# There is one of each, since they hold the process's buffers, workers and types: mapped from the
# cache on disk if an earlier process left it there, else made by the compiler (`native.py`).


class Code(Protocol):
    """Machine code in memory, for as long as the object lives."""

    @property
    def stored_as(self) -> str:
        """The name of its object in the cache on disk, or ""."""

    def address(self, symbol: str) -> int:
        """The address of a function or global; CompilerBug if it is missing."""


SUPPORT, CALLS = "support", "calls"
# the slots for the compiler of the parts, imported lazily; native.py fills them
MAKERS: dict[str, Callable[[], Code]] = {}
SYMBOLS = ("fw_lock_idle", "fw_unlock_idle", "fw_reset_pool")


def support() -> Code:
    """support.ll, compiled and loaded."""
    return part(SUPPORT)


def part(name: str) -> Code:
    """A part of the support code, compiled and loaded."""
    return _PARTS[name] if name in _PARTS else on_deep_stack(lambda: _part(name))


def begin_support() -> None:
    """Have it made, unless there is one: LLVM works while the rest of the compiler is imported."""
    if SUPPORT not in _PARTS and not MAKERS:
        llvm()
        Work(support)  # who needs it waits for it, or makes it again where this failed


def _part(name: str) -> Code:
    with _ONCE:
        if name not in _PARTS:
            code = _recalled(name) or _made(name)
            keep_for_ever(code)
            if name == SUPPORT:
                calls = (ctypes.CFUNCTYPE(None)(code.address(symbol)) for symbol in SYMBOLS)
                wait_at_fork(BUFFERS, *calls)
            _PARTS[name] = code
        return _PARTS[name]


def _recalled(name: str) -> Code | None:
    """The part that an earlier process made, mapped, if there is one."""
    key = "" if config.no_cache or not facts() else name_on_disk(name)
    found = process_cache().get(key) if key else None
    if found is None:
        return None
    try:
        find = symbol_address if name == SUPPORT else address_beside
        return MappedCode(image_from(from_bytes(found)), find)
    except Unfit:
        process_cache().drop(key)
        return None


def _made(name: str) -> Code:
    """The part, made by the compiler and kept for the next process."""
    if not MAKERS:
        llvm()
    code = MAKERS[name]()
    with suppress(Unfit):
        if not config.no_cache and facts() and is_current():
            process_cache().put(name_on_disk(name), to_bytes(plain_image(code)))
    return code


def plain_image(code: Code) -> tuple[object, ...]:
    """The image of code that LLVM made; Unfit if its object is gone, or not understood."""
    found = process_cache().get(code.stored_as) if code.stored_as else None
    if found is None:
        raise Unfit("no object")
    return image_of(found).plain()


def address_beside(symbol: str) -> int:
    """The address of what an image wants: a function of the support code, or of a library."""
    return support().address(symbol) if symbol.startswith("fw_") else symbol_address(symbol)


def keep_for_ever(thing: object) -> None:
    """Not even the end of the interpreter frees it: threads may still be inside its code."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_PARTS: dict[str, Code] = {}
_ONCE = Lock()


# The worker threads that compiled code shares its blocks with.
#
#     pool.thread_count()                  threads the next program uses, its caller included
#     pool.set_threads(4)                  from now on, in the whole process
#     with pool.threads(4): ..             for this Python thread and this body
#
# A worker is a Python thread that stays inside compiled code (`fw_worker` of support.ll) with the
# GIL released, so there is nothing to build per platform and nothing to know about pthreads. How
# jobs reach the workers is described in support.ll.


SPIN_NS = 20_000  # a worker looks for work this long, then parks
CROWDED_SPIN_NS = 1_000  # when there are more threads than cores, spinning takes a core away
START_SECONDS = 0.05  # how long to wait for new workers to reach compiled code
STACK_SIZE = 8 * 2**20  # bytes of a worker's stack, whatever threads of the user have
STOP_SECONDS = 0.5  # how long the end of the interpreter waits for workers


class WorkerPool:
    """The workers of this process, started when a program first wants them."""

    def __init__(self) -> None:
        self.default_word = ctypes.c_int64(system().cores())
        self.ready = 1  # threads that can take part in a launch, the caller included
        self.cores = system().cores()  # threads that run at once
        self._threads: list[threading.Thread] = []
        self._lock = Lock()
        self._is_registered = False
        self._is_closed = False

    @property
    def default(self) -> int:
        """Threads of a program where no switch says otherwise, its caller included."""
        return self.default_word.value

    def ensure(self, count: int) -> None:
        """Start workers until `count` threads, with the caller, can take part."""
        with self._lock:
            if count <= self.ready or self._is_closed:
                return
            if not self._is_registered:
                self._register()
            self._set("fw_spin_ns", CROWDED_SPIN_NS if count > self.cores else SPIN_NS)
            self._set("fw_cores", self.cores)
            worker = ctypes.CFUNCTYPE(None)(support().address("fw_worker"))
            for number in range(self.ready, count):
                thread = started(worker, f"flatweave-{number}", [STACK_SIZE], is_daemon=True)
                if thread is None:  # run with those there are
                    break
                self._threads.append(thread)
                self.ready = number + 1
            self.ready = count
            self._await_workers()

    def _await_workers(self) -> None:
        """Wait a little, so that the first launch already finds them."""
        alive = ctypes.c_int64.from_address(support().address("fw_workers"))
        end = time.monotonic() + START_SECONDS
        while alive.value < len(self._threads) and time.monotonic() < end:
            time.sleep(0.0001)

    def assume_cores(self, count: int) -> None:
        """Wake as many threads at once as for `count` cores, whatever the machine has."""
        with self._lock:
            self.cores = count
            self._set("fw_cores", count)

    def _set(self, name: str, value: int) -> None:
        ctypes.c_int64.from_address(support().address(name)).value = value

    def _register(self) -> None:
        """Stop with the interpreter and start anew in the child of a fork."""
        self._is_registered = True
        atexit.register(self.close)

        def in_child() -> None:
            self._threads = []
            self.ready = 1

        in_every_child(in_child)

    def close(self) -> None:
        """Let the workers return; launches after this run in their caller."""
        with self._lock:
            self._is_closed = True
            threads, self._threads = self._threads, []
        if threads:
            ctypes.CFUNCTYPE(None)(support().address("fw_stop_workers"))()
        end = time.monotonic() + STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))


POOL = WorkerPool()


def thread_count() -> int:
    """The number of threads the next program uses, its caller included."""
    return config.threads or POOL.default


def set_threads(count: int) -> None:
    """Use `count` threads from now on, where no scope says otherwise."""
    if count < 1:
        raise ArgumentError(
            f"{count} threads cannot run anything.", remedy="Give a number from 1 up."
        )
    POOL.default_word.value = count


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside a `with`, for this Python thread only."""
    with config.scoped(threads=count):
        yield


# How much memory compiled code may take, and what becomes of freed buffers.
#
# The allocator itself is in support.ll (see Note [Idle memory] there), because it must not wait
# for the GIL or meet a signal handler. Below 1 MiB it is the C library's; above, each buffer is a
# mapping (on Linux with huge pages) that is kept for reuse when freed.


MIB = 2**20
IDLE_FLOOR = 64 * MIB  # idle memory that is always allowed
IDLE_SHARE = 4  # at most this part of the memory may be idle at any time


@record(eq=True)
class BufferPool:
    """The settings and totals of the allocator, which live in compiled code."""

    _idle_bytes: ctypes.c_int64
    _idle_limit: ctypes.c_int64
    _idle_floor: ctypes.c_int64
    _memory_limit: ctypes.c_int64

    @property
    def idle_bytes(self) -> int:
        """Resident bytes of freed buffers kept for reuse."""
        return int(self._idle_bytes.value)

    @property
    def idle_limit(self) -> int:
        """The most bytes kept for reuse at any time."""
        return int(self._idle_limit.value)

    def limit(self, memory: int) -> None:
        """Refuse requests above `memory` bytes and keep a quarter of it at most."""
        self._memory_limit.value = memory
        self._idle_limit.value = max(IDLE_FLOOR, memory // IDLE_SHARE)
        self._idle_floor.value = IDLE_FLOOR

    def keep(self, idle: int) -> None:
        """Keep `idle` bytes for reuse at most, also when memory grows: for a process that
        visits chunks of one size and frees each before the next."""
        self._idle_limit.value = self._idle_floor.value = idle

    def release_idle(self, keep: int = 0) -> None:
        """Give idle memory back to the system until at most `keep` bytes are left."""
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(support().address("fw_shrink_idle"))(keep)


@functools.cache
def buffer_pool() -> BufferPool:
    """The allocator of this process, limited to the memory there is."""
    pool = BufferPool(
        *(
            ctypes.c_int64.from_address(support().address(name))
            for name in ("fw_idle_bytes", "fw_idle_limit", "fw_idle_floor", "fw_memory_limit")
        )
    )
    pool.limit(system().memory())
    return pool
