"""Chunks one after the other in this process: for data larger than memory.

While one chunk is computed, what the next one needs of files is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.base import pretty
from flatweave.base.errors import ArgumentError
from flatweave.base.recording import run
from flatweave.base.schedule import CHOSEN
from flatweave.base.source import user_location
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Chunk, ChunkFailed, Rows
from flatweave.cluster.spill import Store
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.values.chunked import Held, OnFile, Piece
from flatweave.runtime.systems.limits import memory_of_group

SHARE = 8
"""A chunk, the next one, what is computed of them, and results fit into memory with this part of it
for each."""


class Here:
    """This process; every core works on the chunk at hand. Results take half of `memory`, in bytes,
    by default of the machine's; the others are written to `folder`."""

    def __init__(
        self, target: str = "cpu", memory: int | None = None, folder: str | None = None
    ) -> None:
        self.memory = memory_of_group() if memory is None else memory
        self._target = target
        self._store = Store(self.memory // 2, folder)
        self._made: dict[LocalProgram, Any] = {}
        self._coming: dict[int, Future[Any]] = {}
        self._reader: ThreadPoolExecutor | None = None

    def share(self, value: Any) -> Any:
        return value

    def expect(self, args: Sequence[Any]) -> None:
        """Begin to read what a chunk will take of files."""
        for each in args:
            if isinstance(each, Rows) and any(isinstance(part[0], OnFile) for part in each.parts):
                if self._reader is None:
                    self._reader = ThreadPoolExecutor(1, "flatweave-reader")
                self._coming[id(each)] = self._reader.submit(each.loaded)

    def run(self, step: LocalProgram, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        made = self._made.get(step)
        if made is None:
            made = self._made[step] = compile_program(step.program, self._target, True, CHOSEN)
        given = [self._loaded(each) if isinstance(each, Rows) else each for each in args]
        try:
            results = run(step.program.name, made, given)
        except Fault as fault:
            raise ChunkFailed(fault, chunk) from None
        return [self._store.keep(each) if np.ndim(each) else each for each in results]

    def _loaded(self, rows: Rows) -> Any:
        count = sum(end - begin for _, begin, end in rows.parts)
        size = count * int(np.prod(rows.row)) * np.dtype(rows.dtype).itemsize
        if size * SHARE > self.memory:
            raise ArgumentError(
                f"a chunk has {pretty.size(size)}, of which {SHARE} do not fit into"
                f" {pretty.size(self.memory)} of memory.",
                where=user_location(),
                remedy="Cut the array into chunks of fewer rows: fw.Chunked.open(path, rows).",
            )
        coming = self._coming.pop(id(rows), None)
        return coming.result() if coming else rows.loaded()

    def fetched(self, result: Any) -> Any:
        return result.load(0, result.rows) if isinstance(result, Held | OnFile) else result

    def each(self, function: Callable[..., Any], results: Sequence[Any], *args: Any) -> list[Any]:
        return [function(self.fetched(result), *args) for result in results]

    def piece(self, result: Any, rows: int) -> Piece:
        return result  # type: ignore[no-any-return]

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Everything is there as soon as it has been asked for."""
        if self._reader is not None:
            self._reader.shutdown()
            self._reader = None
