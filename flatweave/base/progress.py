"""What a terminal says while a compilation takes long, in one line that is gone when it ends.

    flatweave: compiling search (app.py:12), 3 of 7 kernels, 4 s

    with shown(laps) as look:
        wait(.., look)          who waits for the compilation looks a few times a second

Nothing is written in the first seconds, nor where standard error is no terminal.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flatweave.base.laps import Laps
from flatweave.base.locks import Lock

PATIENCE = 2.0  # seconds of a compilation before anything is said
CLEAR = "\r\x1b[K"  # to the first column, and what is right of it erased


@contextmanager
def shown(laps: Laps) -> Iterator[Callable[[], None]]:
    """Inside, each call of what this gives brings the line up to date; at the end it is erased."""
    line = _Line(laps)
    try:
        yield line.look
    finally:
        line.erase()


class _Line:
    """The line of one compilation; a terminal shows one at a time."""

    def __init__(self, laps: Laps) -> None:
        self.laps = laps
        self.begin = time.perf_counter()
        self.text = ""

    def look(self) -> None:
        seconds = time.perf_counter() - self.begin
        if seconds < PATIENCE or not _is_terminal():
            return
        text = f"flatweave: compiling {self.laps.subject}{self._kernels()}, {int(seconds)} s"
        with _LOCK:
            if text != self.text and _SHOWN in ([], [self]):
                _SHOWN[:] = [self]
                self.text = text
                _write(CLEAR + text)

    def _kernels(self) -> str:
        done, wanted = self.laps.kernels
        return f", {done} of {wanted} kernels" if wanted else ""

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
