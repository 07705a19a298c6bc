"""The worker threads that compiled code shares its blocks with.

    pool.thread_count()                  threads the next program uses, its caller included
    pool.set_threads(4)                  from now on, in the whole process
    with pool.threads(4): ..             for this Python thread and this body

A worker is a Python thread that stays inside compiled code (`fw_worker` of support.ll) with the GIL
released, so there is nothing to build per platform and nothing to know about pthreads. How jobs
reach the workers is told in support.ll.
"""

import atexit
import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.forks import in_every_child
from flatweave.base.locks import Lock
from flatweave.runtime.deep import started
from flatweave.runtime.support import support
from flatweave.runtime.systems.table import system

SPIN_NS = 20_000  # a worker looks for work this long, then parks
CROWDED_SPIN_NS = 1_000  # when there are more threads than cores, spinning takes a core away
START_SECONDS = 0.05  # how long to wait for new workers to reach compiled code
STACK_SIZE = 8 * 2**20  # bytes of a worker's stack, whatever threads of the user have
STOP_SECONDS = 0.5  # how long the end of the interpreter waits for workers


class WorkerPool:
    """The workers of this process, started when a program first wants them."""

    def __init__(self) -> None:
        self.default = system().cores()
        self.ready = 1  # threads that can take part in a launch, the caller included
        self._threads: list[threading.Thread] = []
        self._lock = Lock()
        self._is_registered = False
        self._is_closed = False

    def ensure(self, count: int) -> None:
        """Start workers until `count` threads, with the caller, can take part."""
        with self._lock:
            if count <= self.ready or self._is_closed:
                return
            if not self._is_registered:
                self._register()
            self._spin(CROWDED_SPIN_NS if count > system().cores() else SPIN_NS)
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

    def _spin(self, nanoseconds: int) -> None:
        ctypes.c_int64.from_address(support().address("fw_spin_ns")).value = nanoseconds

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
    POOL.default = count


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside a `with`, for this Python thread only."""
    with config.scoped(threads=count):
        yield
