"""Locks that do not outlive a fork in the hands of threads that are not there.

    self._lock = Lock()
    with self._lock: ..

In the child of a fork only the thread that forked goes on: a lock held by another is free there. A
thread may take a lock that it has, since a signal handler can run wherever it is.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from flatweave.base.forks import in_every_child


class Lock:
    """A reentrant lock for `with`."""

    __slots__ = ("__weakref__", "_depth", "_lock", "_owner")

    def __init__(self) -> None:
        self._renew()
        _LOCKS.add(self)

    def _renew(self) -> None:
        self._lock = threading.RLock()
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._taken()

    def _taken(self) -> None:
        self._owner = threading.get_ident()
        self._depth += 1

    @contextmanager
    def within(self, seconds: float) -> Iterator[bool]:
        """Hold it inside the `with`, or go on without it after so long: whether it is held."""
        held = self._lock.acquire(timeout=seconds)
        if held:
            self._taken()
        try:
            yield held
        finally:
            if held:
                self.__exit__(None, None, None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self._depth -= 1
        if self._depth == 0:
            self._owner = 0
        self._lock.release()

    def leave_behind(self) -> None:
        """In the child of a fork: free, unless the thread that forked has it."""
        if self._owner != threading.get_ident():
            self._renew()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock.leave_behind()


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()
in_every_child(_after_fork)
