"""Where chunks are computed: what `in_process.py` and `on_dask.py` do alike."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.sources.files import one, read
from flatweave.frontend.call.compiled import Executable
from flatweave.frontend.values.chunked import Chunked, Piece, Values
from flatweave.terms.traverse import walk_lets

TITLE = 40
"""Letters of what a bar is called."""


class ChunkFailed(Exception):
    """A chunk's program went wrong: `fault` as the chunk sees it, and which rows it had."""

    def __init__(self, fault: Fault, chunk: Chunk) -> None:
        super().__init__(fault, chunk)
        self.fault = fault
        self.chunk = chunk


class Chunk(NamedTuple):
    """A chunk of a space: its number, its first row, and its end."""

    number: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"in chunk {self.number}, rows {self.begin} to {self.end - 1}"


@record
class Rows:
    """Rows of an array, as consecutive pieces."""

    parts: tuple[tuple[Piece, int, int], ...]
    dtype: Any
    row: tuple[int, ...]
    separate: bool = False
    """Whether others take the rest of the pieces: little is then brought of each."""

    @classmethod
    def of(cls, array: Chunked, *runs: tuple[int, int], separate: bool = False) -> Rows:
        """Runs of an array's rows, each from its first row to its end."""
        parts = tuple(part for run in runs for part in array.between(*run))
        return cls(parts, array.dtype, array.row, separate)

    @property
    def count(self) -> int:
        """How many they are."""
        return sum(end - begin for _, begin, end in self.parts)

    @property
    def nbytes(self) -> int:
        """The bytes of all of them."""
        return self.count * math.prod(self.row) * int(np.dtype(self.dtype).itemsize)

    def whole(self, parts: Sequence[Values]) -> Values:
        """All of them as one array, of what the pieces have."""
        return np.ascontiguousarray(one(parts)) if parts else np.empty((0, *self.row), self.dtype)


def loaded(rows: Sequence[Rows]) -> list[Values]:
    """Rows of several arrays, each as one array; what is in the same files is read at once."""
    found = iter(read(part for each in rows for part in each.parts))
    return [each.whole([next(found) for _ in each.parts]) for each in rows]


Groups = Sequence[Sequence[Any]]
"""Results that were computed together."""
Cut = Sequence[tuple[int, Sequence[Any]]]
"""Of such results neighbouring parts, each with its number of rows."""


class Job(NamedTuple):
    """A chunk, and what a program takes for it."""

    chunk: Chunk
    args: list[Any]


class Executor(Protocol):
    """Runs local programs, and has their results until somebody wants them."""

    def share(self, value: Any) -> Any:
        """An argument that many chunks take: an array, or `Rows` that are put together."""

    def replicates(self, size: int) -> bool:
        """Whether an array of `size` bytes may go to every chunk."""

    def begin(self, name: str, size: int) -> None:
        """A step begins, whose chunks take `size` bytes in all."""

    def end(self) -> None:
        """No call is left, whether it went well or not."""

    def expect(self, args: Sequence[Any]) -> None:
        """What the chunk after the next will be run with."""

    def run(self, step: LocalProgram, jobs: Iterable[Job]) -> Iterator[tuple[Chunk, list[Any]]]:
        """A program on chunks; what the results of each are known by. Arguments are numbers,
        arrays, what was shared, results, and `Rows`. Raises ChunkFailed, if not now, then who
        fetches."""

    def gathered(self, results: Sequence[Any]) -> list[Any]:
        """Results in this process, all brought at once; raises the first one's error."""

    def joined(
        self, program: Program, head: Sequence[Any], parts: Sequence[Sequence[Any]], chunk: Chunk
    ) -> list[Any]:
        """Parts of neighbours as one, by a program that takes `head` and two of them. Errors name
        a chunk: the rows from which the parts are."""

    def extremes(self, rows: Sequence[Rows]) -> list[tuple[int, int]]:
        """The least and the greatest of some integers each, of which none are empty."""

    def rows(self, parts: Sequence[tuple[Piece, int, int]]) -> list[Any]:
        """Rows of pieces in this process, all brought at once."""

    def picked(self, rows: Sequence[Rows], at: Sequence[Values]) -> list[Values]:
        """The rows of each at ascending indices, in this process."""

    def group(self, chunks: int, parts: int, size: int) -> int:
        """The number of parts in a group of the first of two stages, where `chunks` chunks send
        `size` bytes in all to `parts` parts; less than 2 if one stage is cheaper."""

    def each(self, function: Callable[..., Any], groups: Groups, *args: Any) -> list[Any]:
        """What a function of ours gives for each list of results, which are of one task, computed
        where they are."""

    def done(
        self, function: Callable[..., None], tasks: Iterable[Job]
    ) -> None:
        """Call a function of ours with the arguments of each chunk, as `run` takes them, and wait
        until all is done."""

    def cut(
        self, groups: Groups, ends: Sequence[Sequence[int]], size: int, separate: bool
    ) -> list[Cut]:
        """Arrays of one length in each group, of which the rows between two ends go to one task:
        cut for those who take them, or as they are. A row has `size` bytes in all arrays of a
        group; `separate` says that the tasks gave other results, which must not be sent along."""

    def piece(self, result: Any, rows: int) -> Piece:
        """A result that is an array, as rows of a Chunked."""

    def compiled(self, program: Program) -> Executable:
        """A step's program, as this process compiles it: workers do so for their own CPU."""

    def kept(self, values: Values) -> Piece:
        """An array of this process, which nobody writes to, as rows of a Chunked."""

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Wait until these have been computed."""


def in_turn(place: Executor, tasks: Iterable[Job]) -> Iterator[Job]:
    """Tasks in order; when one begins, the executor knows the arguments of the next one."""
    coming = iter(tasks)
    at_hand = next(coming, None)
    while at_hand is not None:
        task, at_hand = at_hand, next(coming, None)
        if at_hand is not None:
            place.expect(at_hand.args)
        yield task


def ran(
    place: Executor, program: LocalProgram, tasks: Iterable[Job], size: int
) -> Iterator[tuple[Chunk, list[Any]]]:
    """The results of a program for each task; their arguments have `size` bytes in all."""
    place.begin(_title(program.program), size)
    return place.run(program, tasks)


def line_of(program: Program) -> Location | None:
    """The user's line that a step ends with."""
    lines = [let.where for let in walk_lets(program.fn) if let.where and let.where.is_known]
    return lines[-1] if lines else None


def _title(program: Program) -> str:
    """What progress is shown of: the user's line that a step ends with, or the function's name."""
    where = line_of(program)
    if where is None:
        return program.name
    return f"{os.path.basename(where.file)}:{where.line} {where.text.strip()}"[:TITLE]
