"""Elements brought to where their keys belong: what sorts and writes at computed places share.

Every chunk sorts its rows by key, and is cut into *runs*; run k of all chunks, one after the other
in the order of the chunks, is what task k takes. So elements of equal keys keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.cluster.local import Is, LocalProgram, Param
from flatweave.cluster.place import Chunk, Groups, Job, Place, Rows, ran
from flatweave.frontend.values.chunked import Chunked, Piece
from flatweave.ops import Map, Sort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
Kind = tuple[Any, tuple[int, ...]]
"""The dtype of an array, and the shape of its rows."""


@record
class Sorting:
    """A program that sorts rows, and which of its results are the keys."""

    program: LocalProgram
    keys: tuple[int, ...]


@record
class Runs:
    """Arrays whose chunks are in order, and for each task the rows that it takes of them."""

    arrays: tuple[Chunked, ...]
    runs: tuple[tuple[tuple[int, int], ...], ...]

    def count(self, number: int) -> int:
        """How many elements a task takes."""
        return sum(end - begin for begin, end in self.runs[number])

    def taken(self, number: int) -> list[Rows]:
        """What a task takes, of each array."""
        return [Rows.of(xs, *self.runs[number]) for xs in self.arrays]


def chunks_of(bounds: Sequence[int]) -> list[Chunk]:
    """The chunks that have rows."""
    found = [Chunk(k, *ends) for k, ends in enumerate(zip(bounds, bounds[1:], strict=False))]
    return [chunk for chunk in found if chunk.begin < chunk.end]


def shuffled(
    place: Place, arrays: Sequence[Chunked], sorting: Sorting,
    splitters: Callable[[Groups], Any],
) -> Runs:  # fmt: skip
    """The runs of arrays of one length; `splitters` gives keys between them, from the results that
    hold all keys."""
    chunks = chunks_of(arrays[0].bounds)
    size = sum(xs.nbytes for xs in arrays)
    tasks = (Job(each, rows_of(arrays, each.begin, each.end)) for each in chunks)
    found = [results for _, results in ran(place, sorting.program, tasks, size)]
    keys = [[each[k] for k in sorting.keys] for each in found]
    cuts = place.each(cut_at, keys, splitters(keys))
    rows = [each[: len(arrays)] for each in found]
    return exchanged(place, rows, cuts, [(xs.dtype, xs.row) for xs in arrays])


def exchanged(
    place: Place, found: Groups, cuts: Sequence[Sequence[int]], kinds: Sequence[Kind]
) -> Runs:
    """The runs into which tasks' results are cut, each at its own rows from 0 to their number; all
    results of a task have as many rows, of these kinds."""
    size = sum(math.prod(row) * np.dtype(dtype).itemsize for dtype, row in kinds)
    parts = place.cut(found, cuts, size)
    arrays = [
        Chunked.of([place.piece(results[k], rows) for rows, results in parts], *kind)
        for k, kind in enumerate(kinds)
    ]
    starts = [0, *accumulate(int(cut[-1]) for cut in cuts)]
    columns = [[start + int(at) for at in cut] for start, cut in zip(starts, cuts, strict=False)]
    runs = zip(*(zip(column, column[1:], strict=False) for column in columns), strict=True)
    return Runs(tuple(arrays), tuple(runs))


def rows_of(arrays: Sequence[Chunked], begin: int, end: int) -> list[Any]:
    """The arguments of a program that takes some rows of each array."""
    return [end - begin, *(Rows.of(xs, (begin, end)) for xs in arrays)]


def computed(
    place: Place, program: LocalProgram, tasks: Iterable[Job],
    variables: Sequence[Var],
) -> dict[Var, Chunked]:  # fmt: skip
    """What a program gives for the arguments of each chunk: arrays whose chunks these are."""
    pieces: list[list[Piece]] = [[] for _ in variables]
    tasks = list(tasks)
    size = sum(each.nbytes for job in tasks for each in job.args if isinstance(each, Rows))
    for chunk, results in ran(place, program, tasks, size):
        for mine, result in zip(pieces, results, strict=True):
            mine.append(place.piece(result, chunk.end - chunk.begin))
    return {
        var: Chunked.of(mine, array_type(var).dtype.numpy)
        for var, mine in zip(variables, pieces, strict=True)
    }


def sorting(xs: Sequence[Atom], key: Lambda) -> Sorting:
    """A program that sorts some rows, and gives the keys, unless they are arrays that it sorts."""
    b = Builder()
    n = b.param("count", i64)
    arrays = [b.param("x", ArrayType(array_type(x).dtype, (n,))) for x in xs]
    found = list(b.emit(Sort(b.copy(key), tuple(arrays))))
    if all(each in key.params for each in key.results):
        at = tuple(key.params.index(each) for each in key.results)
    else:
        at = tuple(range(len(found), len(found) + len(key.results)))
        found += b.emit(Map(b.copy(key), tuple(found)))
    program = Program("sorted_keys", b.close([n, *arrays], found))
    return Sorting(taking_rows(program, [x for x in xs if isinstance(x, Var)]), at)


def merging(xs: Sequence[Atom], key: Lambda) -> LocalProgram:
    """A program that sorts some rows."""
    b = Builder()
    n = b.param("count", i64)
    names = [x.name if isinstance(x, Var) else "x" for x in xs]
    types = [ArrayType(array_type(x).dtype, (n,)) for x in xs]
    arrays = [b.param(*each) for each in zip(names, types, strict=True)]
    found = b.emit(Sort(b.copy(key), tuple(arrays)))
    program = Program("merged", b.close([n, *arrays], found))
    return taking_rows(program, [x for x in xs if isinstance(x, Var)])


def taking_rows(program: Program, arrays: Sequence[Var]) -> LocalProgram:
    """A program that takes a number of rows, and these of some arrays."""
    params = (Param(Is.COUNT), *(Param(Is.ROWS, x) for x in arrays))
    return LocalProgram(program, params, (), (), ())


def cut_at(keys: Sequence[Any], splitters: Sequence[Any]) -> Any:
    """The ends of runs of sorted keys: in each the keys from one splitter up to the next. Both have
    several columns, the first one counting most."""
    if len(keys) == 1:
        return np.concatenate([[0], np.searchsorted(keys[0], splitters[0]), [len(keys[0])]])
    found = [0]
    for splitter in zip(*splitters, strict=True):
        low, high = 0, len(keys[0])
        for column, key in zip(keys, splitter, strict=True):  # the rows that are equal up to here
            equal = column[low:high]
            low, high = (low + int(np.searchsorted(equal, key, side)) for side in SIDES)
        found.append(low)
    return np.array([*found, len(keys[0])])
