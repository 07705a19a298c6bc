"""Locks that do not outlive a fork in the hands of threads that are not there.

    self._lock = Lock()
    with self._lock: ..

In the child of a fork only the thread that forked goes on: a lock held by another is free there. A
thread may take a lock that it has, since a signal handler can run wherever it is. `with` takes and
gives back a lock without a step of Python in between, so what a signal handler raises never leaves
one taken that nobody will give back.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flatweave.base.forks import in_every_child

if TYPE_CHECKING:

    class _Reentrant:
        """What the interpreter's own reentrant lock has."""

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
        def release(self) -> None: ...
        def __enter__(self) -> bool: ...
        def __exit__(self, *error: Any) -> None: ...
        def _is_owned(self) -> bool: ...
        def _at_fork_reinit(self) -> None: ...
else:
    _Reentrant = type(threading.RLock())


class Lock(_Reentrant):
    """A reentrant lock for `with`."""

    def __init__(self) -> None:
        super().__init__()
        _LOCKS.add(self)

    @contextmanager
    def within(self, seconds: float) -> Iterator[bool]:
        """Hold it inside the `with`, or go on without it after so long: whether it is held."""
        had = self._is_owned()
        try:
            held = self.acquire(timeout=seconds)
        except BaseException:  # raised by a signal handler, perhaps once it was taken
            if self._is_owned() and not had:
                self.release()
            raise
        try:
            yield held
        finally:
            if held:
                self.release()

    def leave_behind(self) -> None:
        """In the child of a fork: free, unless the thread that forked has it."""
        if not self._is_owned():
            self._at_fork_reinit()


def _after_fork() -> None:
    for lock in list(_LOCKS):
        lock.leave_behind()


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()
in_every_child(_after_fork)
