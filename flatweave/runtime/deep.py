"""Work that needs more stack than the caller may have, such as LLVM's, on a thread of its own.

    code = on_deep_stack(lambda: compile_object(text))        the caller waits

    one, two = beside(make_one), beside(make_two)             both at once
    codes = [one.result(), two.result()]

What a signal handler raises while a caller waits comes out of the call at once: nobody wants the
work then, nor what it has started itself, and all of it ends at the next `check_wanted`. Switches
are those of the caller. Inside of such work, `on_deep_stack` is a call.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from flatweave.base.locks import Lock

R = TypeVar("R")

STACK_SIZES = (256 * 2**20, 16 * 2**20)  # bytes of address space; the second where that is scarce
LOOK_SECONDS = 0.2  # between two looks whether the thread is still there


class NotWanted(BaseException):
    """Whoever asked for this work was interrupted."""


class Work(Generic[R]):
    """A function on its way: what it gives, or raises."""

    def __init__(self, fn: Callable[[], R]) -> None:
        self._fn = fn
        self._context = contextvars.copy_context()
        self._asker = _HERE.work
        self._is_dropped = False
        self._done = threading.Event()
        self._found: R | None = None
        self._error: BaseException | None = None
        self._process = os.getpid()
        self._is_started = self._start()

    @property
    def is_wanted(self) -> bool:
        """Whether nobody who waits for it was interrupted."""
        return not self._is_dropped and (self._asker is None or self._asker.is_wanted)

    def result(self) -> R:
        """What the function gives or raises; done here and now where there can be no thread."""
        work = self
        while work._is_started:
            if work._wait():
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
        try:
            self._found = self._context.run(self._fn)
        except BaseException as error:  # the caller raises it, if there still is one
            self._error = error if self.is_wanted else None
        self._done.set()

    def _start(self) -> bool:
        """Start a thread with a deep stack; False if there can be none, as at exit."""
        for size in STACK_SIZES:
            thread = threading.Thread(target=self._run, name="flatweave-compiler")
            try:
                start(thread, size)
            except (RuntimeError, ValueError):
                continue
            return True
        return False

    def _wait(self) -> bool:
        """Wait for the end; False in the child of a fork, where the thread is not."""
        try:
            while not self._done.wait(0 if os.getpid() != self._process else LOOK_SECONDS):
                if os.getpid() != self._process:
                    return False
        except BaseException:
            self._is_dropped = True
            raise
        return True


class _Here(threading.local):
    """The work that this thread is there for."""

    work: Work[Any] | None = None


def beside(fn: Callable[[], R]) -> Work[R]:
    """Start a function with a stack of 256 MiB; whoever asks for its result waits for it."""
    return Work(fn)


def on_deep_stack(fn: Callable[[], R]) -> R:
    """What `fn` gives or raises, run with a stack of 256 MiB."""
    return fn() if _HERE.work is not None else beside(fn).result()


def check_wanted() -> None:
    """End this work if its caller has been interrupted."""
    if _HERE.work is not None and not _HERE.work.is_wanted:
        raise NotWanted


def start(thread: threading.Thread, stack_size: int) -> None:
    """Start a thread with so many bytes of stack, whatever others get."""
    with _SIZING:
        before = threading.stack_size(stack_size)
        try:
            thread.start()
        finally:
            threading.stack_size(before)


_HERE = _Here()
_SIZING = Lock()
