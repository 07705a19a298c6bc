"""Tasks on the workers of a `dask.distributed` client: how they are sent, what they have run, and
what went wrong with them.
"""

from __future__ import annotations

import functools
import re
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import progress

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.base.config import Overrides, config
from flatweave.base.records import record
from flatweave.cluster.workers import lost, remote
from flatweave.cluster.workers.groups import Cluster
from flatweave.frontend.values.chunked import Values

SEEN = 5.0
"""Seconds for which is taken to be true what the scheduler said of its workers."""
REMEMBERED = 10_000
"""Tasks of which is known what they run, for errors."""


@record
class Task:
    """Result `number` of the `count` of a task on a worker."""

    place: Any
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
        (found,) = self.place.rows([(self, begin, end)])
        return np.asarray(found)

    @property
    def place(self) -> Any:
        """What brings them, and others beside them."""
        return self.task.place


class Tasks:
    """What a client sends to workers, and waits for."""

    def __init__(self, client: Any, threads: int | None, progress: bool) -> None:
        self.client = client
        self._progress = progress
        self._threads = threads
        self._texts = functools.lru_cache(maxsize=1024)(print_program)
        self._begun: dict[str, list[lost.Begun]] = {}
        self._seen: tuple[float, Cluster] | None = None

    def _tasks(
        self, function: Callable[..., Any], program: Program, begun: Sequence[list[lost.Begun]],
        chunks: Sequence[Any], *columns: Sequence[Any],
    ) -> list[list[list[Any]]]:  # fmt: skip
        """The results of tasks that run a program; those of each of their chunks."""
        name = f"{re.sub(r'[^a-zA-Z0-9_]', '', program.name)}-{uuid.uuid4().hex}"
        keys = [f"{name}-{k}" for k in range(len(begun))]
        self._begun.update(zip(keys, begun, strict=True))
        while len(self._begun) > max(REMEMBERED, len(begun)):
            del self._begun[next(iter(self._begun))]
        text = self._texts(program)
        switches: Overrides = {"threads": self._threads, "debug": config.debug}
        works = [
            remote.Work(text, each, key, switches, remote.VERSIONS)
            for key, each in zip(keys, chunks, strict=True)
        ]
        futures = self._submitted(function, works, *columns, keys=keys)
        count = len(program.fn.results)
        return [
            [self._results(future, mine, chunk, count) for chunk in range(len(mine))]
            for future, mine in zip(futures, begun, strict=True)
        ]

    def _results(
        self, future: Any, begun: Sequence[lost.Begun], chunk: int, count: int
    ) -> list[Any]:
        """The results of one of the chunks of a task, so many for each."""
        numbers = range(chunk * count, (chunk + 1) * count)
        return [Task(self, begun[chunk], future, k, count * len(begun)) for k in numbers]

    def _submitted(
        self, function: Callable[..., Any], *columns: Sequence[Any], keys: Sequence[str] = (),
        workers: Sequence[str] = (),
    ) -> list[Any]:  # fmt: skip
        """Tasks, for each the arguments that have the same place in the columns; all are sent in
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
            raise lost.without_scheduler()

    def _asked(self, function: Callable[..., Any], *args: Any) -> Any:
        """One task."""
        return self._submitted(function, *([each] for each in args))[0]

    def _watched(self, futures: Sequence[Any]) -> None:
        """Show how many tasks have been done of those that something needs."""
        if self._progress and futures:
            show: Any = progress  # which says nothing of types
            show(list(futures), notebook=False)

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
                known = self._begun.get(error.key)
                begun = known[error.chunk] if known else begun
                raise (lost.failed_in(begun, error) if begun else error) from None
            case lost.KilledWorker():
                known = self._begun.get(str(error.task)) or ([begun] if begun else [])
                raise lost.without_workers(known, error.allowed_failures + 1) from None
            case remote.OtherVersions():
                raise lost.with_others(error.versions) from None
        raise lost.without_scheduler() if isinstance(error, lost.LOST) else error

    def _workers(self) -> list[str]:
        """The names of all workers."""
        self._check()
        try:
            return list(self.client.nthreads())
        except lost.LOST:
            raise lost.without_scheduler() from None

    def _cluster(self) -> Cluster:
        """What the cluster was some seconds ago, or is."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] > SEEN:
            self._check()
            workers = self.client.scheduler_info(n_workers=-1).get("workers", {})
            self._seen = now, Cluster.of(list(workers.values()))
        return self._seen[1]
