"""What a terminal says while something takes long, in one line that is gone when it ends.

    flatweave: compiling search (app.py:12), 3 of 7 kernels, 4 s

    with shown(laps) as look:
        wait(.., look)          who waits for the compilation looks a few times a second
    with shown(tuning) as look: ..

Nothing is written in the first seconds, nor where standard error is no terminal.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from flatweave.base.locks import Lock

PATIENCE = 2.0  # seconds before anything is said
CLEAR = "\r\x1b[K"  # to the first column, and what is right of it erased


class Work(Protocol):
    """What takes long."""

    def said(self) -> str:
        """What is being done: what it is, and how far."""


@contextmanager
def shown(work: Work) -> Iterator[Callable[[], None]]:
    """Inside, each call of what this gives brings the line up to date; at the end it is erased."""
    line = _Line(work)
    try:
        yield line.look
    finally:
        line.erase()


class _Line:
    """The line of one piece of work; a terminal shows one at a time."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.begin = time.perf_counter()
        self.text = ""

    def look(self) -> None:
        seconds = time.perf_counter() - self.begin
        if seconds < PATIENCE or not _is_terminal():
            return
        text = f"flatweave: {self.work.said()}, {int(seconds)} s"
        with _LOCK:
            if text != self.text and _SHOWN in ([], [self]):
                _SHOWN[:] = [self]
                self.text = text
                _write(CLEAR + text)

    def erase(self) -> None:
        if self.text:
            with _LOCK:
                _SHOWN.clear()
                _write(CLEAR)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it has been closed
        return False


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the terminal has gone: there is nobody to tell
        sys.stderr.write(text)
        sys.stderr.flush()


_SHOWN: list[_Line] = []
_LOCK = Lock()
