"""Chunks as tasks of a Dask cluster: one for each chunk and step, and one for what the client asks.

Scheduling, transport, retries and spilling are Dask's. A result stays on the worker that computed
it; what a task needs of others' results Dask brings. What is sent is the program's text.
"""

from __future__ import annotations

import functools
import math
import re
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Future, progress

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.base.records import record
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Chunk, Groups, Job, Rows
from flatweave.cluster.sources.blocks import Block
from flatweave.cluster.workers import lost, remote
from flatweave.frontend.values.chunked import Held, Piece, Values

APART = 1 << 21
"""Bytes that are brought as fast as one more task begins, which cuts off what is needed of them."""
REPLICATED = 1 << 28
"""Bytes of an array that each worker may have all of."""
REMEMBERED = 10_000
"""Tasks of which is known what they run, for errors."""
SMALL = 1 << 16
"""Bytes that go with each task; larger values are sent to the workers once."""


@record
class Task:
    """Result `number` of the `count` of a task on a worker."""

    place: OnDask
    begun: lost.Begun
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
        (found,) = self.task.place.rows([(self, begin, end)])
        return np.asarray(found)


class OnDask:
    """The workers of a `dask.distributed` client."""

    def __init__(
        self, client: Any, threads: int | None = 1, *, progress: bool = False
    ) -> None:
        self.client = client
        self._progress = progress
        self._threads = threads
        self._texts = functools.lru_cache(maxsize=1024)(print_program)
        self._begun: dict[str, lost.Begun] = {}
        self._held = weakref.WeakKeyDictionary[Held, Any]()

    def share(self, value: Any) -> Any:
        """A value that every worker will have."""
        if isinstance(value, Rows):
            return (remote.VALUE, self._submitted(remote.together, self._argument(value)))
        return (remote.VALUE, value if value.nbytes <= SMALL else self._sent(value))

    def replicates(self, size: int) -> bool:
        return size <= REPLICATED

    def begin(self, name: str, size: int) -> None:
        """Dask's own bar counts tasks."""

    def end(self) -> None:
        """Dask's own bar ends by itself."""

    def _watched(self, futures: Sequence[Any]) -> None:
        """Show how many tasks have been done of those that something needs."""
        if self._progress and futures:
            show: Any = progress  # which says nothing of types
            show(list(futures), notebook=False)

    def expect(self, args: Sequence[Any]) -> None:
        """Workers fetch what a task needs while they compute another one."""

    def run(self, step: LocalProgram, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        """One task."""
        given = [self._argument(each) for each in args]
        pairs = zip(step.program.fn.params, args, strict=True)
        takes = tuple((var.name, rows.nbytes) for var, rows in pairs if isinstance(rows, Rows))
        return self._tasks(remote.run, step.program, lost.Begun(step.program, chunk, takes), given)

    def joined(
        self, program: Program, head: Sequence[Any], parts: Sequence[Sequence[Any]], chunk: Chunk
    ) -> list[Any]:
        """One task."""
        groups = [(part[0].future, [task.number for task in part]) for part in parts]
        begun = lost.Begun(program, chunk, ())
        return self._tasks(remote.joined, program, begun, list(head), groups)

    def _tasks(
        self, function: Callable[..., Any], program: Program, begun: lost.Begun, *args: Any
    ) -> list[Any]:
        """The results of a task that runs a program."""
        key = f"{re.sub(r'[^a-zA-Z0-9_]', '', program.name)}-{uuid.uuid4().hex}"
        self._begun[key] = begun
        if len(self._begun) > REMEMBERED:
            del self._begun[next(iter(self._begun))]
        asked = remote.Asked(key, self._threads, remote.VERSIONS)
        future = self._submitted(function, self._texts(program), *args, asked, key=key)
        count = len(program.fn.results)
        return [Task(self, begun, future, k, count) for k in range(count)]

    def _submitted(self, function: Callable[..., Any], *args: Any, key: str | None = None) -> Any:
        if self.client.status != "running":
            raise lost.without_scheduler()
        return self.client.submit(function, *args, key=key, pure=False)

    def gathered(self, results: Sequence[Any]) -> list[Any]:
        """All that a task gave, where all is asked for; else one more task takes it out."""
        asked: dict[str, list[Task]] = {}
        for task in results:
            asked.setdefault(task.future.key, []).append(task)
        futures = []
        for tasks in asked.values():
            numbers, first = sorted({task.number for task in tasks}), tasks[0]
            futures.append(
                first.future if len(numbers) == first.count
                else self._submitted(remote.some, first.future, numbers)
            )  # fmt: skip
        begun = [tasks[0].begun for tasks in asked.values()]
        found: dict[tuple[str, int], Any] = {}
        for tasks, values in zip(asked.values(), self._awaited(begun, futures), strict=True):
            numbers = sorted({task.number for task in tasks})
            found.update(
                ((tasks[0].future.key, k), x) for k, x in zip(numbers, values, strict=True)
            )
        return [found[task.future.key, task.number] for task in results]

    def extremes(self, rows: Sequence[Rows]) -> list[tuple[int, int]]:
        begun = [
            next((p.task.begun for p, *_ in each.parts if isinstance(p, Remote)), None)
            for each in rows
        ]
        futures = [self._submitted(remote.extremes_of, self._argument(each)) for each in rows]
        return self._awaited(begun, futures)

    def rows(self, parts: Sequence[tuple[Piece, int, int]]) -> list[Any]:
        far = [(p.task, begin, end) for p, begin, end in parts if isinstance(p, Remote)]
        begun = [task.begun for task, *_ in far]
        futures = [
            self._submitted(remote.part, task.future, task.number, begin, end)
            for task, begin, end in far
        ]
        found = iter(self._awaited(begun, futures))
        return [
            next(found) if isinstance(piece, Remote) else piece.load(begin, end)
            for piece, begin, end in parts
        ]

    def each(self, function: Callable[..., Any], groups: Groups, *args: Any) -> list[Any]:
        begun = [results[0].begun for results in groups]
        futures = [
            self._submitted(
                remote.of_results, function, results[0].future,
                [task.number for task in results], *args,
            ) for results in groups
        ]  # fmt: skip
        return self._awaited(begun, futures)

    def done(
        self, function: Callable[..., None], tasks: Iterable[Job]
    ) -> None:
        jobs = list(tasks)
        futures = [
            self._submitted(remote.called, function, [self._argument(each) for each in args])
            for _, args in jobs
        ]
        self._awaited([lost.Begun(None, chunk, ()) for chunk, _ in jobs], futures)

    def _awaited(
        self, begun: Sequence[lost.Begun | None], futures: Sequence[Any]
    ) -> list[Any]:
        """What was computed of results of tasks, brought at once; raises the first one's error."""
        self._watched(futures)
        try:
            return list(self.client.gather(list(futures)))
        except lost.LOST:
            raise lost.without_scheduler() from None
        except Exception:
            for each, future in zip(begun, futures, strict=True):
                self._raise_if_failed(each, future)
            raise

    def _raise_if_failed(self, begun: lost.Begun | None, future: Any) -> None:
        """Wait for a task, or what is computed of one, which ran what was `begun`; raise what went
        wrong, be it with another task."""
        if future.status == "finished":
            return
        error = future.exception()
        match error:
            case None:
                return
            case remote.Failed():
                begun = self._begun.get(error.key, begun)
                raise (lost.failed_in(begun, error) if begun else error) from None
            case lost.KilledWorker():
                begun = self._begun.get(str(error.task), begun)
                raise lost.without_workers(begun, error.allowed_failures + 1) from None
            case remote.OtherVersions():
                raise lost.with_others(error.versions) from None
        raise lost.without_scheduler() if isinstance(error, lost.LOST) else error

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Wait until results are there, and raise what went wrong."""
        tasks = [piece.task for piece in pieces if isinstance(piece, Remote)]
        self._watched([task.future for task in tasks])
        for piece in pieces:
            if isinstance(piece, Remote):
                self._raise_if_failed(piece.task.begun, piece.task.future)

    def cut(
        self, groups: Groups, ends: Sequence[Sequence[int]], size: int
    ) -> list[tuple[int, Sequence[Any]]]:
        """One task for each part of those who take them, of which there are as many as workers."""
        workers, found = self._workers(), []
        for results, cut in zip(groups, ends, strict=True):
            takers = len(cut) - 1
            parts = min(takers, workers)
            if int(cut[-1]) * size * (parts - 1) <= APART * parts:
                found.append((int(cut[-1]), results))
                continue
            at = [int(cut[takers * k // parts]) for k in range(parts + 1)]
            found += [(end - begin, self._part(results, begin, end)) for begin, end in pairwise(at)]
        return found

    def _workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except lost.LOST:
            raise lost.without_scheduler() from None

    def _part(self, results: Sequence[Task], begin: int, end: int) -> list[Task]:
        first, numbers = results[0], [task.number for task in results]
        future = self._submitted(remote.parts, first.future, numbers, begin, end)
        count = len(numbers)
        return [Task(self, first.begun, future, k, count) for k in range(count)]

    def piece(self, result: Any, rows: int) -> Piece:
        return Remote(result, rows)

    def _argument(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, Rows):
            parts = [self._rows_of(value, *part) for part in value.parts]
            empty = None if parts else np.empty((0, *value.row), value.dtype)
            return (remote.ROWS, parts, empty)
        if isinstance(value, Task):
            return (remote.RESULT, value.future, value.number)
        return value if isinstance(value, tuple) else (remote.VALUE, value)

    def _rows_of(self, rows: Rows, piece: Piece, begin: int, end: int) -> tuple[Any, ...]:
        """A part of `rows` as a task takes it: with all of the piece, if that goes where it is
        needed anyway, or is no more than a task costs."""
        source, number = self._source(piece)
        left = (piece.rows - (end - begin)) * math.prod(rows.row) * rows.dtype.itemsize
        if rows.apart and left > APART and isinstance(source, Future):
            return self._submitted(remote.part, source, number, begin, end), None, 0, end - begin
        return source, number, begin, end

    def _source(self, piece: Piece) -> tuple[Any, int | None]:
        """Where a worker finds a piece; an array of this process is sent once."""
        if isinstance(piece, Remote):
            return piece.task.future, piece.task.number
        if isinstance(piece, Block):
            return piece.blocks.futures(self.client)[piece.number], None
        if not isinstance(piece, Held):
            return piece, None
        if piece not in self._held:
            self._held[piece] = self._sent(piece.values)
        return self._held[piece], None

    def _sent(self, value: Any) -> Any:
        """An array of this process as a task, which the scheduler gives to another worker when one
        is lost; what is scattered would be lost with it."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._submitted(remote.kept, value)
