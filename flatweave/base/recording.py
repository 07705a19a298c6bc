"""Events for watchers: calls of programs, launches of kernels, compilation.

    if OPEN: ..                    the only cost of a call without watchers
    run(name, program, args)       its results, in a Call that is reported to watchers
    watched().launches             kernels of the call that this thread is in
    with unseen(): ..              internal work, such as a measurement, which is not reported

`fw.profile` watches. Times are nanoseconds of `time.perf_counter_ns`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from flatweave.base.locks import in_every_child


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
