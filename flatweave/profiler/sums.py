"""The data of a profile: sums for each kernel, and a limited number of events.

Calls of a program with the same sizes are one group, so that however many there are, what is kept
stays small. No array of the user's is kept, only its shape.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.locks import Lock
from flatweave.base.recording import Call, Launch

MOST_EVENTS = 500_000  # of a trace: 100 MB of text
MOST_WAITING = 1000  # calls, before they are added up
MOST_SIZES = 256  # of one program; calls with more are one group, whose bytes are unknown
Sizes = tuple[Any, ...]


class Event(NamedTuple):
    """A box of a trace: on the track of a thread, or of a device by its name."""

    name: str
    kind: str
    track: int | str
    begin: int
    end: int
    said: dict[str, Any]


class KernelSum:
    """All launches of a kernel in one group of calls."""

    def __init__(self) -> None:
        self.launches = 0
        self.nanoseconds = 0
        self.blocks = 0
        self.threads = 0  # the most that could take part
        # nanoseconds of the thread that was busiest in each launch, of the second one, ..: several
        # launches may have the help of other workers each
        self.busy: list[int] = []
        self.where = ""  # the device; "" for the CPU

    def include(self, other: KernelSum) -> None:
        """All that another sum has."""
        self.launches += other.launches
        self.nanoseconds += other.nanoseconds
        self.blocks += other.blocks
        self.threads = max(self.threads, other.threads)
        self.where = other.where
        self._add_busy(other.busy)

    def add(self, launch: Launch) -> None:
        """One more."""
        self.launches += 1
        self.nanoseconds += launch.end - launch.begin
        self.blocks += launch.blocks
        self.threads = max(self.threads, launch.threads)
        self.where = launch.where
        self._add_busy(sorted((each.end - each.begin for each in launch.shares), reverse=True))

    def _add_busy(self, more: Sequence[int]) -> None:
        self.busy += [0] * (len(more) - len(self.busy))
        for rank, nanoseconds in enumerate(more):
            self.busy[rank] += nanoseconds


Kernels = dict[str, KernelSum]


class Group:
    """Calls of one program with the same sizes. `args` holds numbers, and what arrays are to be
    asked from: they may be gone."""

    def __init__(self, call: Call, sizes: Sizes) -> None:
        self.name, self.where, self.program = call.name, call.where(), call.program
        self.args = None if sizes == () else [_kept(arg) for arg in call.args]
        self.results = [tuple(getattr(each, "shape", ())) for each in call.results]
        self.moved_bytes = sum(
            each.nbytes for each in (*call.args, *call.results) if getattr(each, "shape", ())
        )
        self.calls = self.failed = self.nanoseconds = self.peak_bytes = 0
        self.kernels: Kernels = {}

    def add(self, call: Call) -> None:
        """One more."""
        self.calls += 1
        self.failed += call.failed
        self.nanoseconds += call.end - call.begin
        self.peak_bytes = max(self.peak_bytes, call.peak_bytes)


class Sums:
    """All events that a profile received so far. Any thread may add one: it is noted, and added up
    later, so that the caller loses little time."""

    def __init__(self) -> None:
        self.groups: dict[Any, Group] = {}
        self.stages: dict[tuple[str, str], int] = {}
        self.events: list[Event] = []
        self.left_out = 0  # events for which there was no room
        self.peak_bytes = 0
        self.sent: dict[str, int] = {}  # programs on workers of a cluster, and of how many chunks
        self._sizes: dict[int, int] = {}  # how many different ones each program had
        self._running: dict[Call, Kernels] = {}  # calls that had many launches so far
        self._waiting: deque[tuple[Group, Call]] = deque()
        self._lock = Lock()

    def called(self, call: Call) -> None:
        """A call has ended."""
        key = id(call.program), sizes_of(call.args, call.results)
        group = self.groups.get(key)
        if group is None:
            with self._lock:
                group = self._group(key, call)
        self._waiting.append((group, call))
        if len(self._waiting) >= MOST_WAITING:
            self.settle()

    def running(self, call: Call) -> None:
        """A call goes on, whose launches so far will be forgotten."""
        with self._lock:
            self._read(call, self._running.setdefault(call, {}))

    def compiled(self, name: str, stage: str, begin: int, end: int, thread: int) -> None:
        """A stage of a compilation."""
        with self._lock:
            self.stages[name, stage] = self.stages.get((name, stage), 0) + end - begin
            self._keep(Event(f"{stage} {name}", "compile", thread, begin, end, {}))

    def wait(self) -> None:
        """Wait for the devices that calls have used."""
        for _, call in list(self._waiting):
            for launches in call.launches:
                launches.wait()

    def settle(self) -> None:
        """Add up all events; waits for devices."""
        with self._lock:
            while self._waiting:
                self._add(*self._waiting.popleft())

    def _add(self, group: Group, call: Call) -> None:
        group.add(call)
        self.peak_bytes = max(self.peak_bytes, call.peak_bytes)
        self._keep(Event(call.name, "call", call.thread, call.begin, call.end, {}))
        self._read(call, group.kernels)
        for name, found in self._running.pop(call, {}).items():
            group.kernels.setdefault(name, KernelSum()).include(found)

    def _read(self, call: Call, kernels: Kernels) -> None:
        """Add up the launches of a call."""
        for launches in call.launches:
            for launch in launches.read():
                kernels.setdefault(launch.kernel, KernelSum()).add(launch)
                self._box(call.name, launch)

    def _group(self, key: tuple[int, Sizes], call: Call) -> Group:
        sizes = key[1]
        if key not in self.groups:
            number = self._sizes[key[0]] = self._sizes.get(key[0], 0) + 1
            if number > MOST_SIZES:
                sizes, key = (), (key[0], ())
        if key not in self.groups:
            self.groups[key] = Group(call, sizes)
        return self.groups[key]

    def _box(self, of: str, launch: Launch) -> None:
        name = launch.kernel
        for share in launch.shares:
            said = {"blocks": share.blocks, "of": of}
            self._keep(Event(name, "kernel", share.thread, share.begin, share.end, said))
        if launch.where:
            said = {"blocks": launch.blocks, "of": of}
            self._keep(Event(name, "kernel", launch.where, launch.begin, launch.end, said))

    def _keep(self, event: Event) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.left_out += 1


def sizes_of(args: Sequence[Any], results: Sequence[Any]) -> Sizes:
    """What the bytes of a call depend on: whole numbers, and the shapes of arrays."""
    given = tuple(arg if type(arg) is int else getattr(arg, "shape", None) for arg in args)
    return given, tuple(getattr(result, "shape", None) for result in results)


def _kept(arg: Any) -> Any:
    """An argument without its memory."""
    if isinstance(arg, np.ndarray) and arg.ndim:
        return weakref.ref(arg)
    return None if getattr(arg, "shape", ()) else arg
