"""Tasks on a Dask cluster: which chunks form one, how they are sent, and errors when one fails."""

from __future__ import annotations

import functools
import hashlib
import math
import re
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pickle import PicklingError
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from distributed import progress
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from flatweave.array_ir.syntax import Fault, Program, print_program
from flatweave.base import pretty
from flatweave.base.config import Overrides, config
from flatweave.base.errors import ArgumentError, DeviceError, UserError
from flatweave.base.plan import FILLS, FUNCTIONS
from flatweave.base.records import record
from flatweave.base.source import Location, user_location
from flatweave.cluster import dask_worker
from flatweave.cluster.executor import Chunk, ChunkFailed, Job, Rows
from flatweave.frontend.values.chunked import Held, Values
from flatweave.ops import Callback
from flatweave.terms.syntax import ArrayType, Atom, Const
from flatweave.terms.traverse import walk_lets

# Which chunks of a step are one task of a cluster: neighbours, where there are many small ones.
#
#     32 chunks of 64 MiB, 2 cores                8 tasks of 4 chunks
#     8 chunks, or chunks of 512 MiB              a task for each
#
# A task costs a cluster about as much as going through 16 MiB does, whatever it has to do. Chunks
# are computed separately, so results do not depend on which of them share a task. Those whose
# rows are results of one task stay together: others would have to be sent.


FAT = 1 << 29
"""Bytes that a task of several chunks goes through at most."""
EACH = 4
"""Tasks that every core has at least, so that all have about as much to do."""
SHARE = 8
"""What the chunks of a task take is this part of the memory that a core has, at most."""
MOVED = 1 << 20
"""Bytes of rows that may be anywhere."""


class Cluster(NamedTuple):
    """How many chunks it computes at once, and the bytes of memory for each of them."""

    cores: int
    memory: float

    @classmethod
    def of(cls, workers: Sequence[Any]) -> Cluster:
        """What Dask says of workers; they come and go."""
        memory = [(each["memory_limit"] or 0) / each["nthreads"] for each in workers]
        return cls(
            max(sum(each["nthreads"] for each in workers), 1),
            min(filter(None, memory), default=math.inf),
        )


def grouped(program: Program, jobs: Sequence[Job], cluster: Cluster) -> list[list[Job]]:
    """The chunks of a step, those of a task together."""
    most = min(FAT, cluster.memory / SHARE)
    count = len(jobs) // (EACH * cluster.cores)
    found: list[list[Job]] = []
    size, home = 0, None
    for job in jobs:
        mine, there = _size(program, job), _home(job)
        if found and there == home and len(found[-1]) < count and size + mine <= most:
            found[-1].append(job)
            size += mine
        else:
            found.append([job])
            size, home = mine, there
    return found


def _home(job: Job) -> Any:
    """What has most of the rows that a chunk takes: a task, or an array; None where all are in
    files, or few."""
    rows = [each for each in job.args if isinstance(each, Rows) and each.parts]
    largest = max(rows, key=lambda each: each.nbytes, default=None)
    if largest is None:
        return None
    piece = largest.parts[0][0]
    task = getattr(piece, "task", None)
    if task is not None:
        return task.future.key
    if isinstance(piece, Held):
        return id(piece) if largest.nbytes > MOVED else None
    return getattr(piece, "home", None)


def _size(program: Program, job: Job) -> int:
    """The bytes that a chunk takes or gives, whichever are more. An extent that only its program
    knows is taken for its number of rows."""
    takes = sum(each.nbytes for each in job.args if isinstance(each, Rows))
    values = dict(zip(program.fn.params, job.args, strict=True))
    count = job.chunk.end - job.chunk.begin

    def extent(atom: Atom) -> int:
        return int(atom.value if isinstance(atom, Const) else values.get(atom, count))

    gives = sum(
        math.prod(map(extent, each.type.shape)) * np.dtype(each.type.dtype.numpy).itemsize
        for each in program.fn.results if isinstance(each.type, ArrayType)
    )  # fmt: skip
    return max(takes, gives)


# What goes wrong on a cluster, as the user's errors: faults of chunks, and what was lost.


__all__ = [
    "LOST", "Begun", "KilledWorker", "failed_in", "with_others", "without_scheduler",
    "without_workers",
]  # fmt: skip
LOST = (CancelledError, CommClosedError)
"""What Dask says where a scheduler is lost, of tasks and of connections."""


class Begun(NamedTuple):
    """The work of a task: a program, or a function of ours, on a chunk with arguments of this many
    bytes."""

    program: Program | None
    chunk: Chunk
    takes: tuple[tuple[str, int], ...]


def _as_sent(
    program: Program, is_here: bool
) -> tuple[str, tuple[int, ...], tuple[dask_worker.Called, ...]]:
    """The text of a program, the numbers of its lets whose operators are not tried, and the
    functions that it calls; workers that are in this process (`is_here`) have these."""
    text, lets = print_program(program), list(enumerate(walk_lets(program.fn)))
    trusted = [k for k, let in lets if let.where is not None and let.where.is_trusted]
    called = list[dask_worker.Called]()
    for number, let in lets:
        if not isinstance(let.op, Callback):
            continue
        name, pickled = let.op.fn, b""
        if not is_here and name not in FILLS:  # these are there from the start
            pickled = _pickled(let.op, let.where)
            name = f"{let.op.called}_{hashlib.sha256(pickled).hexdigest()[:12]}"
            text = text.replace(let.op.fn, name)
        called.append(dask_worker.Called(number, name, pickled, let.where))
    return text, tuple(trusted), tuple(called)


def _pickled(call: Callback, where: Location | None) -> bytes:
    """The function of a call, for another process; raises ArgumentError where that cannot be."""
    try:
        return bytes(cloudpickle.dumps(FUNCTIONS[call.fn]))
    except (TypeError, AttributeError, PicklingError) as failure:
        raise ArgumentError(
            f"{call.called} cannot be sent to the workers of a cluster: {failure}.", where=where,
            remedy="Create what cannot be pickled, such as locks and open files, in the function.",
        ) from None  # fmt: skip


def failed_in(begun: Begun, failed: dask_worker.Failed) -> ChunkFailed:
    """A worker's fault, at the line of the let with this number."""
    fault = Fault(*failed.facts)
    lines = [let.where for let in walk_lets(begun.program.fn)] if begun.program else []
    if 0 <= failed.line < len(lines):
        fault.where = lines[failed.line]
    return ChunkFailed(fault, begun.chunk)


def without_workers(begun: Sequence[Begun], count: int) -> DeviceError:
    """Every worker that began a task, of these chunks, was lost with it; of one that asks something
    of files no chunk is known."""
    takes = pretty.listed(
        [
            f"{name.rsplit('_', 1)[0]}, {pretty.size(size)}"
            for each in begun[:1] for name, size in each.takes
        ]
    )  # fmt: skip
    lost = f"{count} workers were lost in succession while they"
    return DeviceError(
        f"{'a worker was lost while it' if count == 1 else lost} computed one"
        f" chunk{f' of {takes}' if takes else ''}.",
        where=user_location(), origins=[str(each.chunk) for each in begun],
        remedy="If it was memory: cut the array into chunks of fewer rows, or give workers more"
        " (memory_limit). The logs of the workers say what it was.",
    )  # fmt: skip


def without_scheduler() -> DeviceError:
    """Nobody knows of the tasks any more."""
    return DeviceError.here(
        "the connection to the cluster's scheduler is lost, and with it what was computed there.",
        "Connect anew, client = Client(address), and call the function again.",
    )


def with_others(versions: tuple[str, int]) -> DeviceError:
    """A worker has another Flatweave than this process."""
    (theirs, form), (mine, own) = versions, dask_worker.VERSIONS
    return DeviceError.here(
        f"a worker has flatweave {theirs}, with programs of form {form}; this process has"
        f" {mine}, with form {own}.",
        "Install the same version for the workers and here.",
    )


# Tasks on the workers of a `dask.distributed` client: how they are sent, what they have run, and
# what went wrong with them.


SEEN = 5.0
"""Seconds for which is taken to be true what the scheduler said of its workers."""
REMEMBERED = 10_000
"""Tasks of which is known what they run, for errors."""


@record
class Task:
    """Result `number` of the `count` of a task on a worker."""

    place: Any
    begun: Begun
    future: Any
    number: int
    count: int


class Remote:
    """Rows that a task left on a worker."""

    __slots__ = ("rows", "task")

    def __init__(self, task: Task, rows: int) -> None:
        self.task = task
        self.rows = rows

    def load(self, begin: int, end: int) -> Values:
        """Some of them, brought here."""
        (found,) = self.place.rows([(self, begin, end)])
        return np.asarray(found)

    def delayed(self, delayed: Any) -> Any:
        """All of them, as Dask computes them later."""
        return delayed(dask_worker.part)(self.task.future, self.task.number, 0, self.rows)

    @property
    def place(self) -> Any:
        """The source of these and other results."""
        return self.task.place


class Tasks:
    """What a client sends to workers, and waits for."""

    def __init__(self, client: Any, threads: int | None, progress: bool) -> None:
        self.client = client
        self._progress = progress
        self._threads = threads
        self._texts = functools.lru_cache(maxsize=1024)(_as_sent)
        self._begun: dict[str, list[Begun]] = {}
        self._seen: tuple[float, Cluster] | None = None

    def _tasks(
        self, function: Callable[..., Any], program: Program, begun: Sequence[list[Begun]],
        chunks: Sequence[Any], *columns: Sequence[Any],
    ) -> list[list[list[Any]]]:  # fmt: skip
        """The results of tasks that run a program; those of each of their chunks."""
        name = f"{re.sub(r'[^a-zA-Z0-9_]', '', program.name)}-{uuid.uuid4().hex}"
        keys = [f"{name}-{k}" for k in range(len(begun))]
        self._begun.update(zip(keys, begun, strict=True))
        while len(self._begun) > max(REMEMBERED, len(begun)):
            del self._begun[next(iter(self._begun))]
        self._check()
        is_here = self.client.scheduler.address.startswith("inproc:")
        text, trusted, called = self._texts(program, is_here)
        switches: Overrides = {"threads": self._threads, "debug": config.debug}
        works = [
            dask_worker.Work(text, trusted, called, each, key, switches, dask_worker.VERSIONS)
            for key, each in zip(keys, chunks, strict=True)
        ]
        futures = self._submitted(function, works, *columns, keys=keys)
        count = len(program.fn.results)
        return [
            [self._results(future, mine, chunk, count) for chunk in range(len(mine))]
            for future, mine in zip(futures, begun, strict=True)
        ]

    def _results(
        self, future: Any, begun: Sequence[Begun], chunk: int, count: int
    ) -> list[Any]:
        """The results of one chunk of a task, `count` for each chunk."""
        numbers = range(chunk * count, (chunk + 1) * count)
        return [Task(self, begun[chunk], future, k, count * len(begun)) for k in numbers]

    def _submitted(
        self, function: Callable[..., Any], *columns: Sequence[Any], keys: Sequence[str] = (),
        workers: Sequence[str] = (),
    ) -> list[Any]:  # fmt: skip
        """Tasks, each with the arguments at one index of the columns; all are sent in
        one message, to any of those `workers` if some are named."""
        self._check()
        named = list(keys) or function.__name__
        where = {"workers": list(workers), "allow_other_workers": True} if workers else {}
        with warnings.catch_warnings():  # arrays of this process are sent with what takes them
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.map(function, *columns, key=named, pure=False, **where)  # type: ignore[no-any-return]

    def _check(self) -> None:
        """Raise the user's error where the scheduler is lost."""
        if self.client.status != "running":
            raise without_scheduler()

    def _asked(self, function: Callable[..., Any], *args: Any) -> Any:
        """One task."""
        return self._submitted(function, *([each] for each in args))[0]

    def _watched(self, futures: Sequence[Any]) -> None:
        """Show how many tasks have been done of those that something needs."""
        if self._progress and futures:
            show: Any = progress  # which says nothing of types
            show(list(futures), notebook=False)

    def _awaited(
        self, begun: Sequence[Begun | None], futures: Sequence[Any]
    ) -> list[Any]:
        """What was computed of results of tasks, brought at once; raises the first one's error."""
        self._watched(futures)
        try:
            return list(self.client.gather(list(futures)))
        except LOST:
            raise without_scheduler() from None
        except Exception:
            for each, future in zip(begun, futures, strict=True):
                self._raise_if_failed(each, future)
            raise

    def _raise_if_failed(self, begun: Begun | None, future: Any) -> None:
        """Wait for a task, or what is computed of one, which ran what was `begun`; raise what went
        wrong, be it with another task."""
        if future.status == "finished":
            return
        error = future.exception()
        match error:
            case None:
                return
            case dask_worker.Failed():
                known = self._begun.get(error.key)
                begun = known[error.chunk] if known else begun
                raise (failed_in(begun, error) if begun else error) from None
            case KilledWorker():
                known = self._begun.get(str(error.task)) or ([begun] if begun else [])
                raise without_workers(known, error.allowed_failures + 1) from None
            case dask_worker.OtherVersions():
                raise with_others(error.versions) from None
        if isinstance(error, UserError):
            error.where = error.where or user_location()
        raise without_scheduler() if isinstance(error, LOST) else error

    def _workers(self) -> list[str]:
        """The names of all workers."""
        self._check()
        try:
            return list(self.client.nthreads())
        except LOST:
            raise without_scheduler() from None

    def _cluster(self) -> Cluster:
        """What the cluster was some seconds ago, or is."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] > SEEN:
            self._check()
            workers = self.client.scheduler_info(n_workers=-1).get("workers", {})
            self._seen = now, Cluster.of(list(workers.values()))
        return self._seen[1]
