"""Where chunks are computed, and how their partial results are joined."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from flatweave.array_ir.syntax import Fault, Program
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.files import one, read
from flatweave.cluster.rules import rule_of
from flatweave.cluster.steps import Joining, Local, Part, Parts, Rule
from flatweave.frontend.call.compiled import Executable
from flatweave.frontend.values.chunked import Chunked, Piece, Values
from flatweave.terms.syntax import Let
from flatweave.terms.traverse import walk_lets

# -- executor -------------------------------------------------------------------------------------
#
# Where chunks are computed: what `in_process.py` and `on_dask.py` do alike.


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


# -- partial results ------------------------------------------------------------------------------
#
# Partial results of chunks: what a step gives for its folds, joined where it is large.


# Parts joined with their neighbours, by eight, as they come: the same groups wherever this is.


WIDTH = 8
"""Parts that are joined at once."""
T = TypeVar("T")


class Tree(Generic[T]):
    """What is there of a sequence of parts: on each level fewer than eight, the last ones below."""

    def __init__(self, join: Callable[[list[T]], T]) -> None:
        self._join = join
        self._levels: list[list[T]] = []

    def add(self, part: T, level: int = 0) -> None:
        """Append a part after all others."""
        if level == len(self._levels):
            self._levels.append([])
        group = self._levels[level]
        group.append(part)
        if len(group) == WIDTH:
            self._levels[level] = []
            self.add(self._join(group), level + 1)

    def whole(self) -> T | None:
        """All of them as one; None where there are none."""
        last: list[T] = []
        for level in self._levels:  # parts on a higher level came first
            group = [*level, *last]
            last = [self._join(group)] if len(group) > 1 else group
        return last[0] if last else None


# What the chunks of a step give for its folds, on its way to the client.
#
# Parts that are large, such as private copies of a histogram, are joined where they are, as they
# come; everything that the client needs is fetched at once.


AT_CLIENT = 1 << 20
"""Bytes of all parts up to which the client joins them."""


class Client(Parts, Protocol):
    """The client, as folds see it."""

    place: Executor


class Folding:
    """The folds of one step while its chunks are run."""

    def __init__(self, client: Client, step: Local, made: LocalProgram, chunks: int) -> None:
        self._start = len(step.stores)
        self._folds = [
            _Fold(client, let, count, joining, chunks)
            for let, count, joining in zip(step.folds, made.parts, made.joins, strict=True)
        ]
        self._place = client.place

    def add(self, chunk: Chunk, results: Sequence[Any]) -> None:
        """A chunk's results; none where it has no rows."""
        at = self._start
        for fold in self._folds:
            fold.add(chunk, results[at : at + fold.count] if results else ())
            at += fold.count

    def parts(self) -> list[list[Part]]:
        """For each fold its parts: values, then what stays where it is; all as one if joined."""
        asked = [result for fold in self._folds for result in fold.asked()]
        values = iter(self._place.gathered(asked) if asked else ())
        return [fold.given([next(values) for _ in fold.asked()]) for fold in self._folds]


class _Fold:
    """One fold: its parts so far."""

    def __init__(
        self, client: Client, let: Let, count: int, joining: Joining | None, chunks: int
    ) -> None:
        rule = rule_of(let.op)
        assert rule is not None
        self.rule: Rule = rule
        self.let = let
        self.count = count
        self._client = client
        self._joining = joining
        self._found: list[Part] = []
        self._tree: Tree[tuple[Chunk, Part]] | None = None
        if joining and rule.size(client, let) * chunks > AT_CLIENT:
            self._tree = Tree(self._joined_there)

    def add(self, chunk: Chunk, part: Part) -> None:
        if self._tree is None:
            self._found.append(part)
        elif part:
            self._tree.add((chunk, part))

    def asked(self) -> list[Any]:
        """The results of which the client wants the values."""
        if self._tree is not None:
            joined = self._tree.whole()
            self._tree, self._found = None, [joined[1]] if joined else []
        known = self.rule.asked(self.let, self.count)
        return [result for part in self._found for result in part[:known]]

    def given(self, values: Sequence[Any]) -> list[Part]:
        """The parts with these values."""
        left, known = iter(values), self.rule.asked(self.let, self.count)
        parts = [[*(next(left) for _ in part[:known]), *part[known:]] for part in self._found]
        if self._joining is None:
            return list(parts)
        tree: Tree[Part] = Tree(self._joined_here)
        for part in parts:
            if part:
                tree.add(part)
        whole = tree.whole()
        return [] if whole is None else [whole]

    def _head(self) -> list[Any]:
        assert self._joining is not None
        return [self._client.value(atom) for atom in self._joining.head]

    def _joined_here(self, parts: Sequence[Part]) -> Part:
        assert self._joining is not None
        head, (whole, *others) = self._head(), parts
        for part in others:
            whole = self._client.call("joined", self._joining.program.fn, [*head, *whole, *part])
        return whole

    def _joined_there(self, parts: Sequence[tuple[Chunk, Part]]) -> tuple[Chunk, Part]:
        assert self._joining is not None
        first, last = parts[0][0], parts[-1][0]
        chunk = Chunk(first.number, first.begin, last.end)
        groups = [part for _, part in parts]
        joined = self._client.place.joined(self._joining.program, self._head(), groups, chunk)
        return chunk, joined
