"""Chunks as tasks of a Dask cluster: one for each chunk and step, and one for what the client asks.

Scheduling, transport, retries and spilling are Dask's. A result stays on the worker that computed
it; what a task needs of others' results Dask brings. What is sent is the program's text.
"""

from __future__ import annotations

import functools
import re
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.array_ir.text import print_program
from flatweave.cluster import remote
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Chunk, ChunkFailed, Rows
from flatweave.frontend.values.chunked import Held, Piece, Values
from flatweave.terms.traverse import walk_lets

SMALL = 1 << 16
"""Bytes that go with each task; larger values are sent to the workers once."""


class Task:
    """Result `number` of a task on a worker."""

    __slots__ = ("chunk", "future", "number", "place", "step")

    def __init__(
        self, place: OnDask, step: LocalProgram, chunk: Chunk, future: Any, number: int
    ) -> None:
        self.chunk = chunk
        self.place = place
        self.step = step
        self.future = future
        self.number = number


class Remote:
    """Rows that a task left on a worker."""

    __slots__ = ("rows", "task")

    def __init__(self, task: Task, rows: int) -> None:
        self.task = task
        self.rows = rows

    def load(self, begin: int, end: int) -> Values:
        """Some of them, brought here."""
        task = self.task
        found = task.place.client.submit(
            remote.part, task.future, task.number, begin, end, pure=False
        )
        return np.asarray(task.place.awaited(task, found))


class OnDask:
    """The workers of a `dask.distributed` client."""

    def __init__(self, client: Any, threads: int | None = 1) -> None:
        self.client = client
        self._threads = threads
        self._texts = functools.lru_cache(maxsize=1024)(lambda step: print_program(step.program))
        self._held: dict[int, tuple[Any, Any]] = {}

    def share(self, value: Any) -> Any:
        """A value that every worker will have."""
        return (remote.VALUE, value if value.nbytes <= SMALL else self._sent(value))

    def expect(self, args: Sequence[Any]) -> None:
        """Workers fetch what a task needs while they compute another one."""

    def run(self, step: LocalProgram, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        """One task, and one more for the parts that the client will ask for."""
        name = f"{re.sub(r'[^a-zA-Z0-9_]', '', step.program.name)}-{uuid.uuid4().hex}"
        future = self.client.submit(
            remote.run, self._texts(step), [self._argument(each) for each in args], self._threads,
            key=name, pure=False,
        )  # fmt: skip
        count = len(step.program.fn.results)
        first = count - sum(step.parts)
        found: list[Any] = [Task(self, step, chunk, future, k) for k in range(first)]
        if first < count:
            small = self.client.submit(remote.parts, future, first, key=f"parts-{name}", pure=False)
            found += [Task(self, step, chunk, small, k) for k in range(count - first)]
        return found

    def fetched(self, result: Any) -> Any:
        return self.awaited(result, result.future)[result.number]

    def each(self, function: Callable[..., Any], results: Sequence[Any], *args: Any) -> list[Any]:
        submit = functools.partial(self.client.submit, remote.of_result, function, pure=False)
        tasks = [submit(task.future, task.number, *args) for task in results]
        return [self.awaited(task, found) for task, found in zip(results, tasks, strict=True)]

    def awaited(self, task: Task, future: Any) -> Any:
        """What is computed of a task's results, when it is done."""
        try:
            return future.result()
        except remote.Failed as failed:
            raise failed_in(task, failed) from None

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Wait until results are there, and raise what went wrong."""
        for piece in pieces:
            if isinstance(piece, Remote):
                task = piece.task
                exception = task.future.exception()
                if isinstance(exception, remote.Failed):
                    raise failed_in(task, exception) from None
                if exception is not None:
                    raise exception

    def piece(self, result: Any, rows: int) -> Piece:
        return Remote(result, rows)

    def _argument(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, Rows):
            parts = [(*self._source(piece), begin, end) for piece, begin, end in value.parts]
            empty = None if parts else np.empty((0, *value.row), value.dtype)
            return (remote.ROWS, parts, empty)
        if isinstance(value, Task):
            return (remote.RESULT, value.future, value.number)
        return value if isinstance(value, tuple) else (remote.VALUE, value)

    def _source(self, piece: Piece) -> tuple[Any, int | None]:
        """Where a worker finds a piece; an array of this process is sent once."""
        if isinstance(piece, Remote):
            return piece.task.future, piece.task.number
        if not isinstance(piece, Held):
            return piece, None
        if id(piece) not in self._held:
            self._held[id(piece)] = piece, self._sent(piece.values)
        return self._held[id(piece)][1], None

    def _sent(self, value: Any) -> Any:
        """An array of this process as a task, which the scheduler gives to another worker when one
        is lost; what is scattered would be lost with it."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(remote.kept, value, pure=False)


def failed_in(task: Task, failed: remote.Failed) -> ChunkFailed:
    """A worker's fault, at the line of the let with this number."""
    fault = Fault(*failed.facts)
    lines = [let.where for let in walk_lets(task.step.program.fn)]
    if 0 <= failed.line < len(lines):
        fault.where = lines[failed.line]
    return ChunkFailed(fault, task.chunk)
