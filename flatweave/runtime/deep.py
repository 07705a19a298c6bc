"""Work that needs more stack than the caller may have, such as LLVM's, on a thread of its own.

    code = on_deep_stack(lambda: compile_object(text))

The caller waits, and what a signal handler raises meanwhile comes out of the call at once: nobody
wants the work then, and it ends at its next `check_wanted`. Switches are those of the caller.
Inside of such work there is no second hop.
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


class _Work(Generic[R]):
    """A function on its way: what it gives, or raises."""

    def __init__(self, fn: Callable[[], R]) -> None:
        self.fn = fn
        self.context = contextvars.copy_context()
        self.is_wanted = True
        self.done = threading.Event()
        self.result: R | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """What the thread does."""
        _HERE.work = self
        try:
            self.result = self.context.run(self.fn)
        except BaseException as error:  # the caller raises it, if there still is one
            self.error = error if self.is_wanted else None
        self.done.set()

    def start(self) -> bool:
        """Start a thread with a deep stack; False if there can be none, as at exit."""
        for size in STACK_SIZES:
            thread = threading.Thread(target=self.run, name="flatweave-compiler")
            try:
                start(thread, size)
            except (RuntimeError, ValueError):
                continue
            return True
        return False

    def wait(self) -> bool:
        """Wait for the end; False in the child of a fork, where the thread is not."""
        process = os.getpid()
        try:
            while not self.done.wait(LOOK_SECONDS):
                if os.getpid() != process:
                    return False
        except BaseException:
            self.is_wanted = False
            raise
        return True


class _Here(threading.local):
    """The work that this thread is there for."""

    work: _Work[Any] | None = None


def on_deep_stack(fn: Callable[[], R]) -> R:
    """What `fn` gives or raises, run with a stack of 256 MiB."""
    if _HERE.work is not None:
        return fn()
    work = _Work(fn)
    try:
        while work.start():
            if work.wait():
                if work.error is not None:
                    raise work.error
                return work.result  # type: ignore[return-value]
            work = _Work(fn)
        return fn()
    finally:
        del work  # its error's traceback holds this frame


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
