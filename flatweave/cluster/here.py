"""Chunks one after the other in this process: for data larger than memory.

While one chunk is computed, what the next one needs of files is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.array_ir.syntax import Program
from flatweave.base import pretty
from flatweave.base.errors import ArgumentError
from flatweave.base.recording import run
from flatweave.base.schedule import OF_CHUNKS
from flatweave.base.source import user_location
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import (
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
from flatweave.cluster.progress import Bars
from flatweave.cluster.sources.stored import Stored, extremes, picked
from flatweave.cluster.spill import Spilled, Store
from flatweave.frontend.call.compiled import Executable
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.values.chunked import Held, Piece, Values
from flatweave.runtime.buffers import buffer_pool
from flatweave.runtime.systems.limits import memory_of_group

SHARE = 6
"""What a chunk takes, what the next one takes, and what is computed of them, have this part of
memory each; results that are kept have a quarter of it."""

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


class Here:
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
            coming = _reading(rows)
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
        """Raise the user's error for what takes so many bytes, if they are too many."""
        if size * SHARE > self.memory:
            raise ArgumentError(
                f"{what}, of which {SHARE} do not fit into {pretty.size(self.memory)} of memory.",
                where=user_location(), remedy=remedy,
            )  # fmt: skip

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
        self, groups: Groups, ends: Sequence[Sequence[int]], size: int, apart: bool
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
def here() -> Here:
    """This process, for who has not said where."""
    return Here()


def _reading(rows: Sequence[Rows]) -> Future[list[Values]]:
    """Rows that a thread of its own reads: one for all calls would have to outlive forks."""
    coming = Future[list[Values]]()

    def read() -> None:
        try:
            coming.set_result(loaded(rows))
        except BaseException as failure:
            coming.set_exception(failure)

    Thread(target=read, name="flatweave-reader", daemon=True).start()
    return coming


def _is_far(rows: Rows) -> bool:
    return any(not isinstance(piece, Held) for piece, _, _ in rows.parts)


def _seen(result: Any) -> Any:
    """A result of which a few elements are looked at."""
    return result.mapped() if isinstance(result, Spilled) else _value(result)


def _value(result: Any) -> Any:
    """A result as a value, from wherever it is kept."""
    return result.load(0, result.rows) if isinstance(result, Held | Stored) else result
