"""How far a compilation is, what a terminal says of it, and how long its stages took."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from flatweave.base.config import config
from flatweave.base.locks import Lock
from flatweave.base.pretty import duration
from flatweave.base.recording import OPEN, compiled
from flatweave.base.source import Location

# What a terminal says while something takes long, in one line that is gone when it ends.
#
#     flatweave: compiling search (app.py:12), 3 of 7 kernels, 4 s
#
#     with shown(timer) as look:
#         wait(.., look)          who waits for the compilation looks a few times a second
#     with shown(tuning) as look: ..
#
# Nothing is written in the first seconds, nor where standard error is no terminal.


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
    except (AttributeError, ValueError):  # standard error is missing or closed
        return False


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the terminal has gone: there is nobody to tell
        sys.stderr.write(text)
        sys.stderr.flush()


_SHOWN: list[_Line] = []
_LOCK = Lock()


# How far a compilation is, and how long its stages took, in seconds.
#
#     with timer.stage("emit"): ..              timer.seconds["emit"]
#     timer.expect(7); timer.finish(3)           timer.kernels == (3, 7)
#
# A stage that is entered again takes the sum: kernels are made while the program runs, too.


class PhaseTimer:
    """The seconds of each stage of one program's compilation, and its kernels: made, and of all."""

    def __init__(self, name: str, where: Location | None = None) -> None:
        self.name = name
        self.where = where
        self.kernels = (0, 0)
        self.seconds: dict[str, float] = {}
        self._reported: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What runs inside belongs to `name`."""
        begin = time.perf_counter_ns()
        yield
        passed = (time.perf_counter_ns() - begin) * 1e-9
        self.seconds[name] = self.seconds.get(name, 0.0) + passed
        if OPEN:
            compiled(self.name, name, begin)

    @property
    def subject(self) -> str:
        """What is compiled, in the user's terms: a function, and the line where it begins."""
        where = self.where
        return f"{self.name} ({where.file}:{where.line})" if where else self.name

    def said(self) -> str:
        """What is being done, for a terminal."""
        done, wanted = self.kernels
        return f"compiling {self.subject}" + (f", {done} of {wanted} kernels" if wanted else "")

    def expect(self, count: int) -> None:
        """So many more kernels are to be made."""
        done, wanted = self.kernels
        self.kernels = (done, wanted + count)

    def finish(self, count: int) -> None:
        """So many of them are made."""
        done, wanted = self.kernels
        self.kernels = (done + count, wanted)

    def report(self) -> None:
        """Print what each stage took since this was last asked, where that is asked for."""
        before, self._reported = self._reported, dict(self.seconds)
        for name, seconds in self._reported.items():
            passed = seconds - before.get(name, 0.0)
            if config.time and passed:
                sys.stderr.write(f"{self.name}: {name} {duration(passed)}\n")
