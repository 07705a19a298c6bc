"""Events for watchers: what programs do, and how far their compilation is."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from flatweave.base.config import config
from flatweave.base.locks import Lock, in_every_child
from flatweave.base.pretty import duration
from flatweave.base.source import Location

# -- recording ------------------------------------------------------------------------------------
#
# Events for watchers: calls of programs, launches of kernels, compilation.
#
#     if OPEN: ..                    the only cost of a call without watchers
#     run(name, program, args)       its results, in a Call that is reported to watchers
#     watched().launches             kernels of the call that this thread is in
#     with unseen(): ..              internal work, such as a measurement, which is not reported
#
# `fw.profile` watches. Times are nanoseconds of `time.perf_counter_ns`.


class Share(NamedTuple):
    """What one thread did of a launch: when, and how many blocks."""

    thread: int
    begin: int
    end: int
    blocks: int


class Launch(NamedTuple):
    """A kernel that ran: its blocks, the threads that could share them, and their shares.

    On a device `where` is its name, and there are no threads.
    """

    kernel: str
    begin: int
    end: int
    blocks: int
    threads: int
    shares: tuple[Share, ...]
    where: str = ""


class Launches(Protocol):
    """Launches of a call, to be read later: those of a device may still run."""

    def wait(self) -> None:
        """Wait for a device."""

    def read(self) -> Sequence[Launch]:
        """The launches; waits for a device. Those whose times were lost are left out."""


class Call:
    """A call of a program, for `with`: what runs it, its arguments, and what came of it so far.

    Arguments and results are those of the program; who watches keeps no array of them. `where`
    gives the line.
    """

    __slots__ = (
        "_before", "args", "begin", "end", "failed", "launches", "name", "peak_bytes", "program",
        "results", "thread", "watchers", "where",
    )  # fmt: skip

    def __init__(
        self, name: str, where: Callable[[], Any], program: Any, args: Sequence[Any]
    ) -> None:
        self.name, self.where, self.program, self.args = name, where, program, args
        self.results: Sequence[Any] = ()
        self.launches: list[Launches] = []
        self.failed = False
        self.peak_bytes = 0
        self.thread = threading.get_ident()
        self.watchers = () if _UNSEEN.get() else tuple(OPEN)
        self._before: Call | None = None

    def __enter__(self) -> Call:
        self._before, _HERE.call = _HERE.call, self if self.watchers else None
        self.begin = self.end = time.perf_counter_ns()
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.end = time.perf_counter_ns()
        _HERE.call = self._before
        self.failed = kind is not None
        for each in self.watchers:
            each.called(self)
        self.args = self.results = ()  # which may be large, and others may keep the call

    def report(self) -> None:
        """Tell of the launches so far, of which there are many."""
        for each in self.watchers:
            each.running(self)
        self.launches.clear()


class Watcher(Protocol):
    """A receiver of events. Any thread may call it."""

    def called(self, call: Call) -> None:
        """A call has ended."""

    def running(self, call: Call) -> None:
        """A call goes on, and its launches so far will be forgotten."""

    def compiled(self, name: str, stage: str, begin: int, end: int) -> None:
        """A stage of a program's compilation, or a part of one."""

    def sent(self, name: str, chunks: int) -> None:
        """A program runs on `chunks` chunks, on the workers of a cluster, which report nothing."""


class _Here(threading.local):
    """The call that this thread is in, where somebody watches it."""

    call: Call | None = None


def watched() -> Call | None:
    """The call that this thread is in, where somebody watches it."""
    return _HERE.call


class Runs(Protocol):
    """What runs a program."""

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments."""


def nowhere() -> None:
    """The line of a program that has none."""


def run(
    name: str, program: Runs, args: list[Any], where: Callable[[], Any] = nowhere
) -> list[Any]:
    """The results of a program, in a call that is reported to watchers."""
    if not OPEN:
        return program.run(args)
    with Call(name, where, program, args) as call:
        call.results = results = program.run(args)
    return results


def compiled(name: str, stage: str, begin: int) -> None:
    """A stage of a compilation that began then ends now."""
    end = time.perf_counter_ns()
    if not _UNSEEN.get():
        for each in tuple(OPEN):
            each.compiled(name, stage, begin, end)


def sent(name: str, chunks: int) -> None:
    """A program goes to the workers of a cluster, for `chunks` chunks."""
    if not _UNSEEN.get():
        for each in tuple(OPEN):
            each.sent(name, chunks)


@contextmanager
def unseen() -> Iterator[None]:
    """Work inside is not reported."""
    before, token = _HERE.call, _UNSEEN.set(True)
    _HERE.call = None
    try:
        yield
    finally:
        _HERE.call = before
        _UNSEEN.reset(token)


OPEN: list[Watcher] = []
"""Who watches now, in the order in which they began."""
_HERE = _Here()
_UNSEEN = ContextVar("flatweave_unseen", default=False)  # compilers' threads inherit it
# the child of a fork is watched by nobody: who watches is in the parent
in_every_child(OPEN.clear)


# -- phase timer ----------------------------------------------------------------------------------
#
# How far a compilation is, what a terminal says of it, and how long its stages took.


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
