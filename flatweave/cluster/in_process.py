"""Chunks computed in order in this process: for data larger than memory.

Results within a bound on memory: those beyond it are files. A terminal shows the progress.
"""

from __future__ import annotations

import functools
import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import numpy as np

from flatweave.array_ir.syntax import Fault, Program
from flatweave.base import pretty
from flatweave.base.errors import ArgumentError
from flatweave.base.recording import run
from flatweave.base.schedule import OF_CHUNKS
from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.executor import (
    Chunk,
    ChunkFailed,
    Cut,
    Groups,
    Job,
    Rows,
    in_turn,
    line_of,
    loaded,
)
from flatweave.cluster.file_sinks import told_if_full
from flatweave.cluster.file_sinks import written as put
from flatweave.cluster.files import Region, Stored, extremes, missing, picked
from flatweave.cluster.formats import Npy
from flatweave.frontend.call.compiled import Executable
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.values.chunked import Held, Piece, Values
from flatweave.runtime.support import buffer_pool
from flatweave.runtime.systems import memory_of_group

T = TypeVar("T")

# How far a call has come, in a terminal: a bar for each step, with bytes and the time left.


class Bars:
    """Bars for the steps of one call after the other."""

    def __init__(self) -> None:
        try:
            from rich import progress  # optional dependency
        except ImportError as failure:
            raise missing("a progress bar", "rich", failure) from None
        self._columns = (
            progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
            progress.DownloadColumn(binary_units=True), progress.TimeRemainingColumn(),
        )  # fmt: skip
        self._new = progress.Progress
        self._shown: Any = None
        self._step: Any = None

    def begin(self, name: str, size: int) -> None:
        """A step begins that takes `size` bytes."""
        if self._shown is None:
            self._shown = self._new(*self._columns)
            self._shown.start()
        self._step = self._shown.add_task(name, total=size)

    def advance(self, size: int) -> None:
        """So many bytes more have been taken, and what is computed of them is there."""
        if self._shown is not None:
            self._shown.advance(self._step, size)

    def end(self) -> None:
        """No step is left; nothing happens where none was."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


# Results within a bound on memory: those beyond it go to files, which go when nobody has them.


SMALL = 1 << 8
"""Bytes that are never worth a file."""
REMEDY = (
    "Say where there is more, fw.on(folder=..), or let more stay in memory, fw.on(memory=..)."
    " Results that nobody has any more take no room."
)


class Spilled(Stored):
    """Rows in a file of our own, which is removed with the last one who knows of them."""

    def __init__(self, path: str, values: Values, written: Future[None], home: Any) -> None:
        file = Npy(path, values.dtype, values.shape[1:], 0)
        super().__init__([Region(file, 0, len(values))])
        self._written = written
        self._home = home  # the folder, which is there as long as somebody has it
        self._shape = values.shape
        weakref.finalize(self, _remove, path, written)

    def within(self, begin: int, end: int) -> list[Region]:
        """The regions of some of them, which have been written then."""
        self._written.result()
        return super().within(begin, end)

    def mapped(self) -> Values:
        """All of them, of which only those come into memory that are looked at."""
        (region,) = self.within(0, self.rows)
        file: Any = region.file
        if not math.prod(self._shape):
            return np.empty(self._shape, file.dtype)
        return np.memmap(file.path, file.dtype, "r", shape=self._shape)

    def __reduce__(self) -> tuple[Any, ...]:
        self._written.result()
        return Stored, (self.regions, self.column)


class Store:
    """Keeps results: up to `most` bytes in memory, others in a folder. Results of up to `behind`
    bytes may still be written while later ones are computed."""

    def __init__(self, most: int, folder: str | None = None, behind: int = 0) -> None:
        self.most = most
        self.held = 0
        self._behind = behind
        self._folder = folder
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._last: Future[None] | None = None

    def keep(self, values: Values) -> Piece:
        """A result as a piece."""
        if self.held + values.nbytes <= self.most or values.nbytes <= SMALL:
            piece = Held(values)
            self.held += values.nbytes
            weakref.finalize(piece, self._freed, values.nbytes)
            return piece
        path = os.path.join(self._place(), str(self._count))
        self._count += 1
        self.settle()
        written = self._last = _writing(path, values)
        if values.nbytes > self._behind:
            self.settle()
        return Spilled(path, values, written, self._own)

    def settle(self) -> None:
        """Wait for what is being written; raises what went wrong."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def _freed(self, count: int) -> None:
        self.held -= count

    def _place(self) -> str:
        """The folder for results; pieces in it may outlive this store."""
        if self._own is None:
            self._own = tempfile.TemporaryDirectory(
                prefix="flatweave-", dir=self._folder, ignore_cleanup_errors=True
            )
        return self._own.name


def _writing(path: str, values: Values) -> Future[None]:
    """A file that a separate thread writes."""

    def write() -> None:
        with told_if_full(path, values.nbytes, REMEDY), open(path, "wb") as file:
            put(file, values)

    return _in_thread("flatweave-writer", write)


def _in_thread(name: str, work: Callable[[], T], *, daemon: bool = False) -> Future[T]:
    """The result of `work` in a new thread: a shared thread would have to survive forks."""
    coming = Future[T]()

    def run() -> None:
        try:
            coming.set_result(work())
        except BaseException as failure:
            coming.set_exception(failure)

    Thread(target=run, name=name, daemon=daemon).start()
    return coming


def _remove(path: str, written: Future[None]) -> None:
    written.exception()  # waits for whoever writes it
    if os.path.exists(path):
        os.unlink(path)


# Chunks computed in order in this process: for data larger than memory.
#
# While one chunk is computed, what the next one needs of files is read.


SHARE = 6
"""The arguments of a chunk, those of the next one, and the results of a chunk have this part of
memory each; stored results have a quarter of it."""

FEWER = "Cut the array into chunks of fewer rows: xs.rechunk(rows), or fw.Chunked.open(path, rows)."
ONE_ROW = (
    "A row stays whole. Of a Ragged's rows take the values, which are cut anywhere, and where rows"
    " begin: fw.segmented_reduce(f, e, rows.flags, rows.values)."
)
EVERYWHERE = (
    "Rows of a large array are asked for where each element of a map reads its own, xs[ids], not in"
    " an operation inside of it; or let fw.on(memory=..) have more."
)
IDLE = 16
"""Of memory that was bounded, buffers that nobody has keep this part, to be used again."""


class InProcess:
    """This process; every core works on the chunk at hand. Results take half of `memory`, in bytes,
    by default of the machine's; the others are written to `folder`."""

    def __init__(
        self, target: str = "cpu", memory: int | None = None, folder: str | None = None,
        progress: bool = False,
    ) -> None:  # fmt: skip
        self._bars = Bars() if progress else None
        self.memory = memory_of_group() if memory is None else memory
        self._idle = None if memory is None else memory // IDLE
        self._target = target
        self._store = Store(self.memory // 4, folder, self.memory // SHARE)
        self._made: dict[Program, Executable] = {}
        self._coming: dict[int, tuple[Rows, Future[list[Values]], int]] = {}

    def share(self, value: Any) -> Any:
        size = value.nbytes if isinstance(value, Rows) else 0
        self._check(size, f"every chunk reads all of an array of {pretty.size(size)}", EVERYWHERE)
        return loaded([value])[0] if isinstance(value, Rows) else value

    def replicates(self, size: int) -> bool:
        return size * SHARE <= self.memory

    def begin(self, name: str, size: int) -> None:
        if self._bars is not None:
            self._bars.begin(name, size)

    def end(self) -> None:
        if self._bars is not None:
            self._bars.end()

    def expect(self, args: Sequence[Any]) -> None:
        """Begin to read what a chunk will take of files."""
        rows = [each for each in args if isinstance(each, Rows) and _is_far(each)]
        if rows:
            coming = _in_thread("flatweave-reader", lambda: loaded(rows), daemon=True)
            self._coming.update({id(each): (each, coming, k) for k, each in enumerate(rows)})

    def run(self, step: LocalProgram, jobs: Iterable[Job]) -> Iterator[tuple[Chunk, list[Any]]]:
        for chunk, args in in_turn(self, jobs):
            yield chunk, self._run(step, args, chunk)

    def _run(self, step: LocalProgram, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        results = self._computed(step.program, self._given(args, chunk), chunk)
        found = [self._store.keep(each) if np.ndim(each) else each for each in results]
        if self._bars is not None:
            self._bars.advance(sum(each.nbytes for each in args if isinstance(each, Rows)))
        if self._idle is not None:
            buffer_pool().release_idle(self._idle)
        return found

    def compiled(self, program: Program) -> Executable:
        made = self._made.get(program)
        if made is None:
            made = self._made[program] = compile_program(program, self._target, True, OF_CHUNKS)
        return made

    def _computed(self, program: Program, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        made, where = self.compiled(program), functools.partial(line_of, program)
        try:
            return run(program.name, made, list(map(_value, args)), where)
        except Fault as fault:
            raise ChunkFailed(fault, chunk) from None

    def _given(self, args: Sequence[Any], chunk: Chunk | None = None) -> list[Any]:
        """Arguments with their rows in memory: those that were expected, and those that were not,
        which are read now."""
        rows = [each for each in args if isinstance(each, Rows)]
        size = sum(each.nbytes for each in rows)
        is_row = chunk is not None and chunk.end - chunk.begin == 1
        self._check(size, f"a chunk has {pretty.size(size)}", ONE_ROW if is_row else FEWER)
        read = {id(each): self._coming.pop(id(each)) for each in rows if id(each) in self._coming}
        others = [each for each in rows if id(each) not in read]
        found = {id(each): values for each, values in zip(others, loaded(others), strict=True)}
        found.update({key: coming.result()[k] for key, (_, coming, k) in read.items()})
        return [found[id(each)] if isinstance(each, Rows) else each for each in args]

    def _check(self, size: int, what: str, remedy: str) -> None:
        """Raise the user's error if `size` bytes are too many."""
        if size * SHARE > self.memory:
            raise ArgumentError.here(
                f"{what}, of which {SHARE} do not fit into {pretty.size(self.memory)} of memory.",
                remedy,
            )

    def gathered(self, results: Sequence[Any]) -> list[Any]:
        return list(map(_value, results))

    def joined(
        self, program: Program, head: Sequence[Any], parts: Sequence[Sequence[Any]], chunk: Chunk
    ) -> list[Any]:
        whole, *others = parts
        for part in others:
            whole = self._computed(program, [*head, *whole, *part], chunk)
        return [self._store.keep(each) for each in whole]

    def extremes(self, rows: Sequence[Rows]) -> list[tuple[int, int]]:
        return [extremes(*loaded([each])) for each in rows]

    def rows(self, parts: Sequence[tuple[Piece, int, int]]) -> list[Any]:
        return [piece.load(begin, end) for piece, begin, end in parts]

    def picked(self, rows: Sequence[Rows], at: Sequence[Values]) -> list[Values]:
        return [picked(each.parts, places) for each, places in zip(rows, at, strict=True)]

    def group(self, chunks: int, parts: int, size: int) -> int:
        """Parts that are read of files are no tasks."""
        return 0

    def each(self, function: Callable[..., Any], groups: Groups, *args: Any) -> list[Any]:
        return [function(list(map(_seen, results)), *args) for results in groups]

    def done(
        self, function: Callable[..., None], tasks: Iterable[Job]
    ) -> None:
        for task in in_turn(self, tasks):
            function(*self._given(task.args))

    def cut(
        self, groups: Groups, ends: Sequence[Sequence[int]], size: int, separate: bool
    ) -> list[Cut]:
        return [[(int(cut[-1]), results)] for results, cut in zip(groups, ends, strict=True)]

    def piece(self, result: Any, rows: int) -> Piece:
        return result  # type: ignore[no-any-return]

    def kept(self, values: Values) -> Piece:
        return self._store.keep(values)

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Everything has been computed as soon as it was asked for; it may still be written."""
        self.end()
        self._store.settle()


@functools.cache
def in_process() -> InProcess:
    """This process, for who has not said where."""
    return InProcess()


def _is_far(rows: Rows) -> bool:
    return any(not isinstance(piece, Held) for piece, _, _ in rows.parts)


def _seen(result: Any) -> Any:
    """A result of which a few elements are looked at."""
    return result.mapped() if isinstance(result, Spilled) else _value(result)


def _value(result: Any) -> Any:
    """A result as a value, from wherever it is kept."""
    return result.load(0, result.rows) if isinstance(result, Held | Stored) else result
