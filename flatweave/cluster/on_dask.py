"""Chunks as tasks of a Dask cluster: of a step, one for each chunk or for a few small ones, sent
all at once; and one for what the client asks.

Scheduling, transport, retries and spilling are Dask's. A result stays on the worker that computed
it; what a task needs of others' results Dask brings. What is sent is the program's text.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from distributed import Future

from flatweave.array_ir.syntax import Program
from flatweave.base.recording import sent
from flatweave.base.schedule import OF_CHUNKS
from flatweave.cluster import dask_tasks, dask_worker
from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.dask_tasks import EACH, Remote, Task, Tasks, grouped
from flatweave.cluster.executor import Chunk, Cut, Groups, Job, Rows
from flatweave.cluster.open import Block
from flatweave.frontend.call.compiled import Executable
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.values.chunked import Held, Piece, Values

TASK_BYTES = 1 << 21
"""Bytes that are brought as fast as one more task begins, which cuts off what is needed of them."""
REPLICATED = 1 << 28
"""Bytes of an array that each worker may have all of."""
ROOTS = 5
"""Tasks that take results of fewer others may be roots to Dask."""
SMALL = 1 << 16
"""Bytes that go with each task; larger values are sent to the workers once."""


class OnDask(Tasks):
    """The workers of a `dask.distributed` client."""

    def __init__(
        self, client: Any, threads: int | None = 1, *, progress: bool = False
    ) -> None:
        super().__init__(client, threads, progress)
        self._held = weakref.WeakKeyDictionary[Held, Any]()

    def share(self, value: Any) -> Any:
        """A value that every worker will have."""
        if isinstance(value, Rows):
            packed = _Packed(self)
            return self._asked(dask_worker.together, packed.argument(value), packed.results)
        return value if value.nbytes <= SMALL else self._sent(value)

    def replicates(self, size: int) -> bool:
        return size <= REPLICATED

    def begin(self, name: str, size: int) -> None:
        """Dask's own bar counts tasks."""

    def end(self) -> None:
        """Dask's bar ends without this."""

    def expect(self, args: Sequence[Any]) -> None:
        """Workers fetch what a task needs while they compute another one."""

    def run(
        self, step: LocalProgram, jobs: Iterable[Job]
    ) -> Iterator[tuple[Chunk, list[Any]]]:
        """A task for each chunk, or for a few small ones."""
        jobs = list(jobs)
        sent(step.program.name, len(jobs))
        groups: Sequence[Sequence[Job]] = [[job] for job in jobs]
        if len(jobs) >= 2 * EACH:
            groups = grouped(step.program, jobs, self._cluster())
        works, given, begun = [], [], []
        for group in groups:
            packed = _Packed(self)
            works.append([[packed.argument(each) for each in args] for _, args in group])
            given.append(packed.results)
            begun.append([_begun(step.program, *job) for job in group])
        made = self._tasks(dask_worker.run, step.program, begun, works, given)
        return zip((chunk for chunk, _ in jobs), chain.from_iterable(made), strict=True)

    def joined(
        self, program: Program, head: Sequence[Any], parts: Sequence[Sequence[Any]], chunk: Chunk
    ) -> list[Any]:
        """One task."""
        given = [part[0].future for part in parts]
        numbers = [[task.number for task in part] for part in parts]
        begun = [[dask_tasks.Begun(program, chunk, ())]]
        made = self._tasks(dask_worker.joined, program, begun, [[list(head)]], [given], [numbers])
        return made[0][0]

    def gathered(self, results: Sequence[Any]) -> list[Any]:
        """All that a task gave, where all is asked for; else one more task takes it out."""
        asked: dict[str, list[Task]] = {}
        for task in results:
            asked.setdefault(task.future.key, []).append(task)
        numbers = {key: sorted({task.number for task in tasks}) for key, tasks in asked.items()}
        futures = {key: tasks[0].future for key, tasks in asked.items()}
        some = [key for key, tasks in asked.items() if len(numbers[key]) < tasks[0].count]
        if some:
            taken = [futures[key] for key in some], [numbers[key] for key in some]
            futures.update(zip(some, self._submitted(dask_worker.some, *taken), strict=True))
        begun = [tasks[0].begun for tasks in asked.values()]
        found: dict[tuple[str, int], Any] = {}
        brought = self._awaited(begun, list(futures.values()))
        for key, values in zip(asked, brought, strict=True):
            found.update(((key, k), x) for k, x in zip(numbers[key], values, strict=True))
        return [found[task.future.key, task.number] for task in results]

    def extremes(self, rows: Sequence[Rows]) -> list[tuple[int, int]]:
        return self._of_rows(dask_worker.extremes_of, rows)

    def rows(self, parts: Sequence[tuple[Piece, int, int]]) -> list[Any]:
        far = [(p.task, begin, end) for p, begin, end in parts if isinstance(p, Remote)]
        begun = [task.begun for task, *_ in far]
        asked = [(task.future, task.number, *ends) for task, *ends in far]
        futures = self._submitted(dask_worker.part, *zip(*asked, strict=True)) if asked else []
        found = iter(self._awaited(begun, futures))
        return [
            next(found) if isinstance(piece, Remote) else piece.load(begin, end)
            for piece, begin, end in parts
        ]

    def picked(self, rows: Sequence[Rows], at: Sequence[Values]) -> list[Values]:
        return self._of_rows(dask_worker.picked_of, rows, list(at))

    def _of_rows(
        self, function: Callable[..., Any], rows: Sequence[Rows], *args: Sequence[Any]
    ) -> list[Any]:
        """What workers find out of each of some rows, with one of `args` each, brought at once."""
        begun = list(map(_left_by, rows))
        packed = [_Packed(self) for _ in rows]
        asked = [each.argument(xs) for each, xs in zip(packed, rows, strict=True)]
        futures = self._submitted(function, asked, [each.results for each in packed], *args)
        return self._awaited(begun, futures)

    def group(self, chunks: int, parts: int, size: int) -> int:
        return _group(chunks, parts, size, len(self._workers()))

    def each(self, function: Callable[..., Any], groups: Groups, *args: Any) -> list[Any]:
        begun = [results[0].begun for results in groups]
        many = len(groups)
        futures = self._submitted(
            dask_worker.of_results, [function] * many, [results[0].future for results in groups],
            [[task.number for task in results] for results in groups],
            *([each] * many for each in args),
        )  # fmt: skip
        return self._awaited(begun, futures)

    def done(
        self, function: Callable[..., None], tasks: Iterable[Job]
    ) -> None:
        jobs = list(tasks)
        packed = [_Packed(self) for _ in jobs]
        asked = [
            [mine.argument(each) for each in args]
            for mine, (_, args) in zip(packed, jobs, strict=True)
        ]
        given = [each.results for each in packed]
        futures = self._submitted(dask_worker.called, [function] * len(jobs), asked, given)
        try:
            self._awaited([dask_tasks.Begun(None, chunk, ()) for chunk, _ in jobs], futures)
        except BaseException:
            self.client.cancel(futures)  # whoever holds the error would have them run
            raise

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Wait until results are there, and raise what went wrong."""
        tasks = [piece.task for piece in pieces if isinstance(piece, Remote)]
        self._watched([task.future for task in tasks])
        for piece in pieces:
            if isinstance(piece, Remote):
                self._raise_if_failed(piece.task.begun, piece.task.future)

    def cut(
        self, groups: Groups, ends: Sequence[Sequence[int]], size: int, separate: bool
    ) -> list[Cut]:
        """One task for each part of the consumers, of which there are as many as workers;
        none for consumers without rows."""
        workers = self._workers()
        at = [_ends(cut, len(workers), size) for cut in ends]
        parts = [
            (results, begin, end)
            for results, mine in zip(groups, at, strict=True) if separate or len(mine) > 2
            for begin, end in pairwise(mine)
        ]  # fmt: skip
        found = iter(self._parts(parts, workers))
        return [
            [(end - begin, next(found)) for begin, end in pairwise(mine)]
            if separate or len(mine) > 2 else [(mine[-1], results)]
            for results, mine in zip(groups, at, strict=True)
        ]  # fmt: skip

    def _parts(
        self, parts: Sequence[tuple[Sequence[Task], int, int]], workers: Sequence[str]
    ) -> list[list[Task]]:
        """Some rows of the results of tasks, each by a separate task on their worker: Dask spreads
        many tasks that take results of few others over all workers, as it does roots, but for
        tasks that name workers."""
        if not parts:
            return []
        results, begins, ends = zip(*parts, strict=True)
        numbers = [[task.number for task in mine] for mine in results]
        first = [mine[0] for mine in results]
        futures = self._submitted(
            dask_worker.parts, [task.future for task in first], numbers, begins, ends,
            workers=workers if len({task.future.key for task in first}) < ROOTS else (),
        )  # fmt: skip
        return [
            [Task(self, task.begun, future, k, len(mine)) for k in range(len(mine))]
            for task, future, mine in zip(first, futures, numbers, strict=True)
        ]

    def piece(self, result: Any, rows: int) -> Piece:
        return Remote(result, rows)

    def compiled(self, program: Program) -> Executable:
        return compile_program(program, "cpu", True, OF_CHUNKS)

    def kept(self, values: Values) -> Piece:
        return Held(values)

    def source(self, piece: Piece) -> tuple[Any, int | None]:
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

    def cut_off(self, source: Any, number: int | None, begin: int, end: int) -> Any:
        """Some rows of a result, without the others."""
        return self._asked(dask_worker.part, source, number, begin, end)

    def _sent(self, value: Any) -> Any:
        """An array of this process as a task, which the scheduler gives to another worker when one
        is lost; what is scattered would be lost with it."""
        return self._asked(dask_worker.kept, value)


class _Packed:
    """Arguments as one task takes them, and the results of others that it needs for them."""

    def __init__(self, place: OnDask) -> None:
        self.results: list[Any] = []
        self._place = place
        self._numbers: dict[str, int] = {}

    def argument(self, value: Any) -> dask_worker.Argument:
        if isinstance(value, Rows):
            parts = [self._rows_of(value, *part) for part in value.parts]
            empty = None if parts else np.empty((0, *value.row), value.dtype)
            return (dask_worker.ROWS, parts, empty)
        if isinstance(value, Task):
            return (dask_worker.RESULT, self._number(value.future), value.number)
        if isinstance(value, Future):
            return (dask_worker.RESULT, self._number(value), None)
        return (dask_worker.VALUE, value)

    def _rows_of(self, rows: Rows, piece: Piece, begin: int, end: int) -> tuple[Any, ...]:
        """A part of `rows` as a task takes it: with all of the piece, if that goes where it is
        needed anyway, or is no more than a task costs."""
        source, number = self._place.source(piece)
        left = (piece.rows - (end - begin)) * math.prod(rows.row) * rows.dtype.itemsize
        if rows.separate and left > TASK_BYTES and isinstance(source, Future):
            source, number = self._place.cut_off(source, number, begin, end), None
            begin, end = 0, end - begin
        return self._number(source), number, begin, end

    def _number(self, source: Any) -> Any:
        """The index of a result among the arguments of the task; anything else is sent."""
        if not isinstance(source, Future):
            return source
        if source.key not in self._numbers:
            self._numbers[source.key] = len(self.results)
            self.results.append(source)
        return self._numbers[source.key]


def _begun(program: Program, chunk: Chunk, args: Sequence[Any]) -> dask_tasks.Begun:
    pairs = zip(program.fn.params, args, strict=True)
    takes = tuple((var.name, rows.nbytes) for var, rows in pairs if isinstance(rows, Rows))
    return dask_tasks.Begun(program, chunk, takes)


def _left_by(rows: Rows) -> dask_tasks.Begun | None:
    """The first task that left some of these rows on a worker."""
    return next((p.task.begun for p, *_ in rows.parts if isinstance(p, Remote)), None)


def _ends(cut: Sequence[int], workers: int, size: int) -> list[int]:
    """The cuts of an array between its consumers, for rows of `size` bytes: one part for each
    worker with rows; one part for all of them if that costs no more than a few tasks."""
    takers = len(cut) - 1
    parts = min(takers, workers)
    if int(cut[-1]) * size * (parts - 1) <= TASK_BYTES * parts:
        return sorted({0, int(cut[-1])})
    return sorted({int(cut[takers * k // parts]) for k in range(parts + 1)})


def _group(chunks: int, parts: int, size: int, workers: int) -> int:
    """By the cost of tasks and bytes (`TASK_BYTES`). In one stage each chunk is cut for each of the
    workers that take parts; in two, for the root of all parts, and all bytes move once more."""
    each = math.isqrt(max(parts - 1, 0)) + 1
    once = chunks * min(parts, workers) * TASK_BYTES
    twice = (chunks + parts) * (each + 2) * TASK_BYTES + size // workers
    return each if twice < once else 0
