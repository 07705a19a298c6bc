"""Work that needs more stack than the caller may have, such as LLVM's, on a separate thread.

    code = on_deep_stack(lambda: compile_object(text))        the caller waits

    one, two = Work(make_one), Work(make_two)                 both at once
    codes = [one.result(), two.result()]

What a signal handler raises while a caller waits comes out of the call at once: nobody wants the
work then, nor what it has started itself, and all of it ends at the next `check_wanted`. Switches
are those of the caller. Inside of such work, `on_deep_stack` is a call. While work is under way,
Python's garbage collector runs seldom: modules and programs, which it would visit again and again,
live on.
"""

from __future__ import annotations

import contextvars
import gc
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from flatweave.base.locks import Lock, in_every_child

R = TypeVar("R")

STACK_SIZES = (256 * 2**20, 16 * 2**20)  # bytes of address space; the second where that is scarce
PATIENCE_SECONDS = 1.0  # for another thread to start
LOOK_SECONDS = 0.2  # between two looks whether the thread is still there
SELDOM = 100_000  # new objects between two runs of the garbage collector


class NotWanted(BaseException):
    """Whoever asked for this work was interrupted."""


class Work(Generic[R]):
    """A function on its way, with a stack of 256 MiB: what it gives, or raises."""

    def __init__(self, fn: Callable[[], R]) -> None:
        self._fn = fn
        self._context = contextvars.copy_context()
        self._asker = _HERE.work
        self._is_dropped = False
        self._done = threading.Event()
        self._found: R | None = None
        self._error: BaseException | None = None
        self._process = os.getpid()
        try:
            self._is_started = bool(started(self._run, "flatweave-compiler", STACK_SIZES))
        except BaseException:
            self._is_dropped = True  # the thread may run already
            raise

    @property
    def is_wanted(self) -> bool:
        """Whether nobody who waits for it was interrupted."""
        return not self._is_dropped and (self._asker is None or self._asker.is_wanted)

    def result(self, look: Callable[[], None] | None = None) -> R:
        """What the function gives or raises; done here and now where there can be no thread.

        Whoever waits calls `look` now and then.
        """
        work = self
        while work._is_started:
            if work._wait(look):
                return work._answer()
            work = Work(self._fn)
        return self._fn()

    def _answer(self) -> R:
        if self._error is None and not self.is_wanted:
            raise NotWanted
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this frame
        return self._found  # type: ignore[return-value]

    def _run(self) -> None:
        """What the thread does."""
        _HERE.work = self
        _COLLECTOR.begin()
        try:
            self._found = self._context.run(self._fn)
        except BaseException as error:  # the caller raises it, if there still is one
            self._error = error if self.is_wanted else None
        finally:
            _COLLECTOR.end()
        self._done.set()

    def _wait(self, look: Callable[[], None] | None) -> bool:
        """Wait for the end; False in the child of a fork, where the thread is not."""
        try:
            while not self._done.wait(0 if os.getpid() != self._process else LOOK_SECONDS):
                if os.getpid() != self._process:
                    return False
                if look is not None:
                    look()
        except BaseException:
            self._is_dropped = True
            raise
        return True


class _Collector:
    """Python's garbage collector, which runs seldom while any work is under way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._before = gc.get_threshold()
        in_every_child(self._forget)

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._before = least, *others = gc.get_threshold()
                if least:  # 0: it never runs
                    gc.set_threshold(max(SELDOM, least), *others)
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                gc.set_threshold(*self._before)

    def _forget(self) -> None:
        """In the child of a fork no other thread is at work."""
        if self._count and _HERE.work is None:
            self._count = 0
            gc.set_threshold(*self._before)


class _DeepThread(threading.local):
    """The work that this thread is there for."""

    work: Work[Any] | None = None


def on_deep_stack(fn: Callable[[], R], look: Callable[[], None] | None = None) -> R:
    """What `fn` gives or raises, run with a stack of 256 MiB; whoever waits for it looks."""
    return fn() if _HERE.work is not None else Work(fn).result(look)


def check_wanted() -> None:
    """End this work if its caller has been interrupted."""
    if _HERE.work is not None and not _HERE.work.is_wanted:
        raise NotWanted


def started(
    run: Callable[[], object], name: str, stack_sizes: Sequence[int], *, is_daemon: bool = False
) -> threading.Thread | None:
    """A thread with the first of these sizes of stack, in bytes, that there is room for, whatever
    others get; None if there can be none, as at exit."""
    for size in stack_sizes:
        thread = threading.Thread(target=run, name=name, daemon=is_daemon)
        # its holder may wait, in a signal handler, for work that also starts a thread
        with _SIZING.within(PATIENCE_SECONDS):
            try:
                before = threading.stack_size(size)
            except ValueError:  # not a size that this system gives
                continue
            try:
                thread.start()
            except RuntimeError:
                continue
            finally:
                threading.stack_size(before)
        return thread
    return None


_HERE = _DeepThread()
_SIZING = Lock()
_COLLECTOR = _Collector()
