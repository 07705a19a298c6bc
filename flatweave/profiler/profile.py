"""with fw.profile() as p: sums of what ran inside, kernel by kernel."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.locks import Lock
from flatweave.base.recording import OPEN, Call, Launch
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.scope import innermost
from flatweave.jit import jit
from flatweave.runtime.lazy_import import opened

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


# -- profile --------------------------------------------------------------------------------------

class Profile:
    """What programs did while it was open: `print` shows a table, `.rows()` a row for each kernel.

    Units: seconds, bytes, GB/s. Source: Flatweave.

    >>> with fw.profile() as p: total = fw.sum(np.arange(9))
    >>> [(row["function"], row["calls"]) for row in p.calls()]
    [('sum', 1)]
    """

    def __init__(self) -> None:
        self.sums = Sums()
        self.begin = self.end = 0
        self.threads: dict[int, str] = {}
        self._is_open = False

    def __enter__(self) -> Profile:
        if innermost() is not None:
            raise ArgumentError.here(
                "fw.profile inside of a function that is being traced: what it computes runs"
                " later, when nobody watches.",
                "Open the profile around the call of the function.",
            )
        if self.begin:
            raise ArgumentError.here(
                "this profile was opened before.", "Take another one: with fw.profile() as p."
            )
        self._is_open = True
        self.begin = time.perf_counter_ns()
        OPEN.append(self)
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        is_here = self in OPEN  # not in the child of a fork
        if is_here:
            OPEN.remove(self)
        self._is_open = False
        if is_here and kind is None:
            self.sums.wait()
        self.end = time.perf_counter_ns()
        for thread in threading.enumerate():  # while they are there
            if thread.ident is not None:
                self.threads[thread.ident] = thread.name

    @property
    def seconds(self) -> float:
        """How long it was open."""
        return ((self.end or time.perf_counter_ns()) - self.begin) * 1e-9 if self.begin else 0.0

    @property
    def peak_bytes(self) -> int:
        """The most memory that one call had at once for results and for what is in between."""
        self.sums.settle()
        return self.sums.peak_bytes

    # -- events -----------------------------------------------------------------------------------

    def called(self, call: Call) -> None:
        """A call has ended; calls that outlive the profile are left out."""
        if self._is_open:
            self.sums.called(call)

    def running(self, call: Call) -> None:
        """A call goes on, whose launches so far will be forgotten."""
        if self._is_open:
            self.sums.running(call)

    def compiled(self, name: str, stage: str, begin: int, end: int) -> None:
        """A stage of a program's compilation."""
        thread = threading.get_ident()
        self.threads.setdefault(thread, threading.current_thread().name)
        self.sums.compiled(name, stage, begin, end, thread)

    def sent(self, name: str, chunks: int) -> None:
        """A program that workers of a cluster run, on `chunks` chunks."""
        self.sums.sent[name] = self.sums.sent.get(name, 0) + chunks

    # -- what is shown ----------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """A row for each kernel that ran, the slowest first: times in seconds.

        `bytes` are those that the pass over data cannot do without, and `bandwidth` is of all
        kernels of the pass: both stand with the kernel that does most of its work. None says that
        something is not known.
        """
        found: list[dict[str, Any]] = opened("profiler").kernel_rows(self)
        return found

    def calls(self) -> list[dict[str, Any]]:
        """A row for each program that was called or compiled: its calls, the time in kernels, and
        that of each stage of its compilation, in seconds."""
        found: list[dict[str, Any]] = opened("profiler").call_rows(self)
        return found

    def table(self) -> str:
        """Both as text."""
        text: str = opened("profiler").table(self)
        return text

    def trace(self, path: str | Path) -> Path:
        """Write what ran when, thread by thread, for chrome://tracing or ui.perfetto.dev."""
        written: Path = opened("profiler").write_trace(self, path)
        return written

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed" if self.begin else "not opened yet"
        return f"<profile of {len(self.sums.groups)} programs, {state}>"

    def __str__(self) -> str:
        return self.table()


def profile() -> Profile:
    """Watch what runs inside a `with`: each kernel's time, bytes, bandwidth and threads, memory's
    peak, and what compilation took.

    All calls that begin and end inside are seen, those of other threads, too: of jitted functions,
    of `fw` functions at once, and of kernels of `fk`, on every target; of functions of arrays in
    chunks each step, though of those on a cluster only how many chunks they had. Profiles may be
    nested: both see what is inside both. The child of a fork is not watched. What was seen stays
    when an error leaves the `with`.

    Types: nothing `->` a `Profile`, for `with`, of times in seconds. Raises ArgumentError where a
    function is traced. Source: Flatweave.

        >>> with fw.profile() as p: ys = fw.map(lambda x: x + 1, np.arange(3))
        >>> p.calls()[0]["function"]
        'map'
    """
    return Profile()


# fw.explain: what one pass over memory is, what is stored and why, what would help, what ran.
#
# fw.explain(f, xs)
#
# f: 1 pass over memory. It moves 8.0 KiB, which takes 150 ns at 52.0 GiB/s; kernels took 1.2 us.
#
# Pass 1, total.py:3 and total.py:4: sweep: combine
#     reads xs_2 (8.0 KiB)
#     t_9 ran


class Explanation:
    """What became of a call, in words: `str` of it, and `.passes`, the paragraph of each pass.

    Source: Flatweave.

    >>> len(fw.explain(fw.jit(lambda x: fw.sum(x * x), target="cpu"), np.arange(9.0)).passes)
    1
    """

    def __init__(self, head: str, passes: tuple[str, ...], others: str) -> None:
        self.head, self.passes, self.others = head, passes, others

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.head, *self.passes, self.others) if part)

    __repr__ = __str__


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Say in words what becomes of a call: which lines are one pass over memory, what each pass
    reads and writes, what is stored and why, what would help, and which kernels ran and why.

    `f` is called once, for that. A function that is not jitted is jitted for it. `.stages` and
    their page have the same facts with the programs themselves.
    Raises ArgumentError for what is no function and inside a trace, and what the call raises.

    Types: a function and its arguments `->` an `Explanation`, which `print` shows.
    Source: Flatweave.

        >>> print(fw.explain(fw.jit(lambda x: x + 1, target="interp"), np.arange(3)))
        <lambda>: the interpreter runs the program as it was written, one operation at a time.
    """
    if not callable(f):
        raise ArgumentError.here(
            f"explain needs a function, got {kind_of(f)}.",
            "Give it with its arguments: fw.explain(f, xs).",
        )
    if innermost() is not None:
        raise ArgumentError.here(
            "fw.explain inside of a function that is being traced: nothing runs there.",
            "Explain the call of the function.",
        )
    known: Any = f if hasattr(f, "stages") else jit(f)
    stages = known.stages(*args, **kwargs)  # before the call, which may donate arguments
    with Profile() as profile:
        known(*args, **kwargs)
    made: Explanation = opened("profiler").explanation(stages, profile)
    return made
