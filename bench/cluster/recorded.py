"""What a program asks of a cluster: a client that computes every task at once, in this process.

    recorder = Recorder(workers=8)
    with fw.on(recorder): program(chunks)
    recorder.tasks        what each task is called, which tasks it takes results of, how many bytes
                          it gave, how long it took
    recorder.events       what the client did, in order: submitted a task, waited for some

So a plan is what the client makes of it, at whatever number of chunks, and needs no cluster.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from distributed import Future


class Task(NamedTuple):
    """One task; `needs` are the numbers of others."""

    kind: str
    needs: tuple[int, ...]
    size: int
    seconds: float


class Event(NamedTuple):
    """The client worked for some seconds, then submitted a task; or it waited for
    tasks, whose results come to it if it `brings` them."""

    gap: float
    tasks: tuple[int, ...]
    waits: bool = False
    brings: bool = False


class Recorded(Future):
    """The result of a task, which is there; of a task on a cluster the client does not know that
    before it asks."""

    status = "pending"

    def __init__(self, recorder: Recorder, number: int, key: str, value: Any) -> None:
        self.recorder = recorder
        self.number = number
        self.key = key
        self.value = value

    def result(self, timeout: Any = None) -> Any:
        return self.recorder.gather([self])[0]

    def exception(self, timeout: Any = None) -> None:
        self.recorder.waited([self], brings=False)

    def __del__(self) -> None:
        """Nothing to report."""


class Recorder:
    """A stand-in for a client of `dask.distributed` with `workers` workers."""

    status = "running"
    scheduler = SimpleNamespace(address="inproc://recorded")

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.tasks: list[Task] = []
        self.events: list[Event] = []
        self.marked = 0
        self._last = time.thread_time()

    def mark(self) -> None:
        """What is measured begins with the next event."""
        self.marked = len(self.events)
        self._last = time.thread_time()

    def map(
        self, function: Callable[..., Any], *columns: Sequence[Any], key: Any, **how: Any
    ) -> list[Recorded]:
        """Tasks, done when this returns; the client's work is shared among them."""
        rows = list(zip(*columns, strict=True))
        keys = key if isinstance(key, list) else [None] * len(rows)
        gap = (time.thread_time() - self._last) / max(len(rows), 1)
        made = [self._done(gap, function, *each) for each in zip(rows, keys, strict=True)]
        self._last = time.thread_time()
        return made

    def _done(
        self, gap: float, function: Callable[..., Any], args: Sequence[Any], key: str | None
    ) -> Recorded:
        needs: dict[int, None] = {}
        given = [_value(each, needs) for each in args]
        start = time.perf_counter()
        value = function(*given)
        seconds = time.perf_counter() - start
        number, kind = len(self.tasks), _kind(function, args, key)
        self.tasks.append(Task(kind, tuple(needs), _size(value), seconds))
        self.events.append(Event(gap, (number,)))
        return Recorded(self, number, key or f"{kind}-{number}", value)

    def gather(self, futures: Sequence[Recorded]) -> list[Any]:
        """Results, here."""
        self.waited(futures, brings=True)
        return [each.value for each in futures]

    def nthreads(self) -> dict[str, int]:
        """Of every worker, how many threads it has."""
        return dict.fromkeys(map(str, range(self.workers)), 1)

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        """Of every worker, how many threads it has; memory has no bound."""
        each = {"nthreads": 1, "memory_limit": 0}
        return {"workers": dict.fromkeys(map(str, range(self.workers)), each)}

    def scatter(self, *args: Any) -> Any:
        """Nothing is scattered: lost with a worker, it would be lost for good."""
        raise NotImplementedError

    def waited(self, futures: Sequence[Recorded], *, brings: bool) -> None:
        """The client went on when these were done."""
        numbers = tuple(each.number for each in futures)
        self.events.append(Event(time.thread_time() - self._last, numbers, True, brings))
        self._last = time.thread_time()


def _kind(function: Callable[..., Any], args: Sequence[Any], key: str | None) -> str:
    """What a task does: a program, known by its text, or a function of ours."""
    if key is not None:
        return f"{key.split('-', 1)[0]} {zlib.crc32(args[0].text.encode()):08x}"
    return str(getattr(args[0] if callable(args[0]) else function, "__name__", "task"))


def _value(arg: Any, needs: dict[int, None]) -> Any:
    """An argument with results instead of futures."""
    if isinstance(arg, Recorded):
        needs[arg.number] = None
        return arg.value
    if type(arg) in (list, tuple):
        return type(arg)(_value(each, needs) for each in arg)
    return arg


def _size(value: Any) -> int:
    """The bytes of a result."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return 32
