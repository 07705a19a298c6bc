"""What a fork waits for, and locks that do not outlive it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

# What a fork waits for, in one order: locks that cannot be made anew in the child.
#
#     wait_at_fork(LLVM, lock, unlock)    taken before a fork, given back after it, here and there
#
# The child of a fork has one thread. What another one was doing stays half done there for ever: a
# module half imported, a lock of LLVM held by nobody. So a fork waits until it is done. It takes
# the locks in the order that everybody else takes them in: imports before LLVM, which modules may
# call when they are imported; the allocator last, since it is held for moments only.


IMPORTS, LLVM, BUFFERS = range(3)


class _Wait(NamedTuple):
    """A lock's position in the order, how it is acquired and released, and a child's extra work."""

    place: int
    take: Callable[[], object]
    give_back: Callable[[], object]
    in_child: Callable[[], object]


def wait_at_fork(
    place: int, take: Callable[[], object], give_back: Callable[[], object],
    in_child: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """From now on a fork acquires this lock in order, and does extra work in the child."""
    more = [*_WAITS, _Wait(place, take, give_back, in_child)]
    _WAITS[:] = sorted(more, key=lambda wait: wait.place)


class _Forks(threading.local):
    """What this thread has taken, for each fork that it is in: a signal handler may fork, too."""

    def __init__(self) -> None:
        self.taken: list[list[_Wait]] = []


def _before() -> None:
    taken: list[_Wait] = []
    _HERE.taken.append(taken)
    for wait in _WAITS:  # it grows while this waits for an import
        wait.take()
        taken.append(wait)


def _after() -> None:
    for wait in reversed(_HERE.taken.pop()):
        wait.give_back()


def _in_child() -> None:
    taken = list(_HERE.taken[-1])
    _after()
    for wait in taken:
        wait.in_child()


def in_every_child(do: Callable[[], object]) -> None:
    """From now on the child of a fork does this; Windows has no forks."""
    if HAS_FORKS:
        os.register_at_fork(after_in_child=do)


HAS_FORKS = hasattr(os, "register_at_fork")
_WAITS: list[_Wait] = []
_HERE = _Forks()
if HAS_FORKS:
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)


# Locks that do not outlive a fork in the hands of threads that are not there.
#
#     self._lock = Lock()
#     with self._lock: ..
#
# In the child of a fork only the thread that forked goes on: a lock held by another is free
# there. A thread may take a lock that it has, since a signal handler can run wherever it is.
# `with` takes and gives back a lock without a step of Python in between, so what a signal handler
# raises never leaves one taken that nobody will give back.


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
