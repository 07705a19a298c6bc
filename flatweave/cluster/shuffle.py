"""Elements are sent to the chunk that their keys belong to: what sorts and scatters share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, i64, u8, u16, u32
from flatweave.base.records import record
from flatweave.cluster.chunk_program import LocalProgram, Param, ParamKind
from flatweave.cluster.executor import Chunk, Cut, Executor, Groups, Job, Rows, ran
from flatweave.frontend.values.chunked import Chunked, Piece
from flatweave.ops import Index, Map, Permute, Sort
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, array_type, constant
from flatweave.terms.traverse import free_vars

# A program that brings a chunk's elements in order of the parts in which they belong.
#
#     splitters 30 70     x: 41 90 12 75 30     ==>     12 | 41 30 | 90 75     counts: 1 2 2
#
# Within a part they stay in their order. The number of a part has few bits, so it takes one pass
# of a sort: less than half of the time of sorting by the key itself, if that is long.


COMPARED = 5
"""Up to 2 to the power of this, less one, splitters are all compared with a key, several keys at
a time; with more, bisection finds a key's part, with a read in each step."""
Columns = Sequence[Any]
"""Keys in order, the first column counting most."""


class Parting:
    """Programs that part elements by unsigned keys, one for each power of two of parts."""

    def __init__(self, xs: Sequence[Atom], key: Lambda) -> None:
        self.key = key
        self.xs = tuple(xs)
        used = free_vars(Lambda((), key.lets, key.results))
        self.reads = [k for k, param in enumerate(key.params) if param in used] or [0]
        self._made: dict[int, LocalProgram] = {}

    def keys(self) -> Lambda:
        """The keys of `n` elements, from the arrays in `reads`."""
        b = Builder()
        count = b.param("count", i64)
        types = [array_type(self.xs[k]).dtype for k in self.reads]
        xs = [b.param("x", ArrayType(dtype, (count,))) for dtype in types]
        params = tuple(self.key.params[k] for k in self.reads)
        keys = b.emit(Map(b.copy(Lambda(params, self.key.lets, self.key.results)), tuple(xs)))
        return b.close([count, *xs], keys)

    def program(self, parts: int) -> LocalProgram:
        """A program for up to `parts` parts."""
        depth = _depth(parts)
        if depth not in self._made:
            self._made[depth] = self._program(depth)
        return self._made[depth]

    def given(self, splitters: Columns, parts: int) -> list[Any]:
        """What it takes between the number of rows and these: how many parts there are, a table of
        splitters, and a zero for each part."""
        own, size = len(splitters[0]) + 1, (1 << _depth(parts)) - 1
        tables = [_padded(column, size) for column in splitters]
        return [own, *tables, np.zeros(own, np.int64)]

    def _program(self, depth: int) -> LocalProgram:
        b = Builder()
        rows, parts = b.param("rows", i64), b.param("parts", i64)
        count = (1 << depth) - 1
        keys = [dtype for dtype in self.key.result_types() if isinstance(dtype, DType)]
        tables = [b.param("splitters", ArrayType(dtype, (index(count),))) for dtype in keys]
        none = b.param("none", ArrayType(i64, (parts,)))
        types = [array_type(x).dtype for x in self.xs]
        xs = [b.param("x", ArrayType(dtype, (rows,))) for dtype in types]
        number = u8 if depth <= 8 else u16 if depth <= 16 else u32
        last = b.cast(b.sub(parts, index(1)), u32)
        few = [_read(b, tables, index(k)) for k in range(count)] if depth <= COMPARED else []

        def part(inside: Builder, *elements: Var) -> tuple[Atom, ...]:
            key = inside.inline(self.key, elements)
            at = _counted(inside, few, key) if few else _reached(inside, tables, key, depth)
            return (inside.cast(inside.apply("minimum", at, last), number),)

        numbers = b.emit(Map(b.function(types, part), tuple(xs)))[0]
        order = b.function([number, *types], lambda inside, part, *_: (part,))
        _, *found = b.emit(Sort(order, (numbers, *xs)))
        places = b.function([number], lambda inside, part: (inside.cast(part, i64), index(1)))
        indices, ones = b.emit(Map(places, (numbers,)))
        add = lambda_of("add", i64)
        counts = b.emit(Permute(add, (index(0),), (none,), indices, (ones,)))
        fn = b.close([rows, parts, *tables, none, *xs], [*found, *counts])
        return LocalProgram(Program("parted", fn), (Param(ParamKind.COUNT),), (), (), ())


def _depth(parts: int) -> int:
    return max((parts - 1).bit_length(), 1)


def _padded(column: Any, size: int) -> Any:
    """A table of a size, filled up with what no key is greater than."""
    padding = np.full(size - len(column), np.iinfo(column.dtype).max, column.dtype)
    return np.concatenate([column, padding])


def _read(b: Builder, tables: Sequence[Var], at: Atom) -> list[Atom]:
    return [b.emit(Index(table, (at,), checked=False))[0] for table in tables]


def _counted(b: Builder, splitters: Sequence[Sequence[Atom]], key: Sequence[Atom]) -> Atom:
    """How many splitters are no greater than a key, each compared."""
    at: Atom = constant(0, u32)
    for splitter in splitters:
        at = b.add(at, b.cast(_is_reached(b, key, splitter), u32))
    return at


def _reached(b: Builder, tables: Sequence[Var], key: Sequence[Atom], depth: int) -> Atom:
    """The same by bisection."""
    at: Atom = index(0)
    for k in reversed(range(depth)):
        splitter = _read(b, tables, b.add(at, index((1 << k) - 1)))
        at = b.apply("select", _is_reached(b, key, splitter), b.add(at, index(1 << k)), at)
    return b.cast(at, u32)


def _is_reached(b: Builder, key: Sequence[Atom], splitter: Sequence[Atom]) -> Atom:
    """Whether a key is no less than a splitter."""
    *first, last = zip(key, splitter, strict=True)
    found = b.apply("ge", *last)
    for mine, other in reversed(first):
        found = b.apply("and", b.apply("eq", mine, other), found)
        found = b.apply("or", b.apply("gt", mine, other), found)
    return found


# Elements moved to the chunks of their keys: shared by sorts and by writes at computed indices.
#
# Every chunk is brought in order of *parts*, between splitters, and cut into runs, one of
# each part; the runs k of all chunks, concatenated in the order of the chunks, are what
# task k takes. So elements of equal keys keep their order.
#
# Where chunks and parts are many, this is done in two stages. First, parts are grouped with their
# neighbours. Then the runs of each group are parted again, several chunks at once, so each task
# has as much as a chunk. For n chunks and n parts there are not n n runs, but twice n times
# the root of n.


SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
Kind = tuple[Any, tuple[int, ...]]
"""The dtype of an array, and the shape of its rows."""


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

    def blocks(self, number: int, count: int) -> list[list[Rows]]:
        """The same in `count` blocks of about equally many runs."""
        runs = self.runs[number]
        ends = blocks_of(len(runs), count)
        return [[Rows.of(xs, *runs[a:b]) for xs in self.arrays] for a, b in ends]


@record
class Staged:
    """The same for groups of tasks."""

    each: int
    groups: tuple[Runs, ...]

    def count(self, number: int) -> int:
        """How many elements a task takes."""
        return self.groups[number // self.each].count(number % self.each)

    def taken(self, number: int) -> list[Rows]:
        """What a task takes, of each array."""
        return self.groups[number // self.each].taken(number % self.each)


Taken = Runs | Staged


def chunks_of(bounds: Sequence[int]) -> list[Chunk]:
    """The chunks that have rows."""
    found = [Chunk(k, *ends) for k, ends in enumerate(zip(bounds, bounds[1:], strict=False))]
    return [chunk for chunk in found if chunk.begin < chunk.end]


def blocks_of(tasks: int, count: int) -> list[tuple[int, int]]:
    """The first task and the end of each of `count` blocks of about equal size."""
    return list(pairwise(tasks * k // count for k in range(count + 1)))


def shuffled(
    place: Executor, arrays: Sequence[Chunked], parting: Parting, splitters: Columns
) -> Taken:
    """The parts of arrays of one length between splitters, of which there is at least one."""
    chunks, parts = chunks_of(arrays[0].bounds), len(splitters[0]) + 1
    kinds = [(xs.dtype, xs.row) for xs in arrays]
    rows = [[Rows.of(xs, (each.begin, each.end)) for xs in arrays] for each in chunks]
    each = place.group(len(chunks), parts, sum(xs.nbytes for xs in arrays))
    if each < 2:
        return _parted(place, [(rows, splitters)], parting, kinds)[0]
    coarse = [column[each - 1 :: each] for column in splitters]
    (runs,) = _parted(place, [(rows, coarse)], parting, kinds)
    fine = [[x[k : k + each - 1] for x in splitters] for k in range(0, parts, each)]
    blocks = [runs.blocks(k, len(mine[0]) + 1) for k, mine in enumerate(fine)]
    groups = [
        ([rows for rows in tasks if rows[0].count], mine)
        for tasks, mine in zip(blocks, fine, strict=True)
    ]
    return Staged(each, tuple(_parted(place, groups, parting, kinds)))


def _parted(
    place: Executor, groups: Sequence[tuple[Sequence[Sequence[Rows]], Columns]], parting: Parting,
    kinds: Sequence[Kind],
) -> list[Runs]:  # fmt: skip
    """The tasks' runs of each part, for several groups of tasks, each with separate splitters."""
    most = max(len(splitters[0]) + 1 for _, splitters in groups)
    jobs: list[Job] = []
    size = 0
    for tasks, splitters in groups:
        given = parting.given(splitters, most)
        for rows in tasks:
            count = rows[0].count
            jobs.append(Job(Chunk(len(jobs), 0, count), [count, *given, *rows]))
            size += sum(each.nbytes for each in rows)
    results = [found for _, found in ran(place, parting.program(most), jobs, size)]
    counts = place.gathered([found[-1] for found in results])
    sendings, at = [], 0
    for tasks, splitters in groups:
        mine = slice(at, at + len(tasks))
        at = mine.stop
        cuts = [[0, *accumulate(map(int, each))] for each in counts[mine]]
        sent = [each[:-1] for each in results[mine]]
        sendings.append(Sending(sent, cuts, len(splitters[0]) + 1))
    return exchanged(place, sendings, kinds)


class Sending(NamedTuple):
    """Tasks' results, those of each of one length; the cuts between their takers, at
    rows of each from 0 to their number."""

    found: Groups
    cuts: Sequence[Sequence[int]]
    takers: int


def exchanged(
    place: Executor, sendings: Sequence[Sending], kinds: Sequence[Kind], *, separate: bool = False
) -> list[Runs]:
    """The runs of several sendings, whose results are of these kinds, all cut at once; `separate`
    from the other results of the tasks."""
    size = sum(math.prod(row) * np.dtype(dtype).itemsize for dtype, row in kinds)
    found = [results for each in sendings for results in each.found]
    cut = iter(place.cut(found, [ends for each in sendings for ends in each.cuts], size, separate))
    return [_runs(place, list(islice(cut, len(each.cuts))), each, kinds) for each in sendings]


def _runs(
    place: Executor, parts: Sequence[Cut], sending: Sending, kinds: Sequence[Kind]
) -> Runs:  # fmt: skip
    """The runs of one sending, whose results are in these parts."""
    if not parts:
        none = tuple(Chunked.of([], *kind) for kind in kinds)
        return Runs(none, ((),) * sending.takers)
    cuts = sending.cuts
    arrays = [
        Chunked.of([place.piece(results[k], n) for mine in parts for n, results in mine], *kind)
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
    place: Executor, program: LocalProgram, tasks: Iterable[Job],
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


def sorting(xs: Sequence[Atom], key: Lambda) -> LocalProgram:
    """A program that sorts what is in one part."""
    b = Builder()
    n = b.param("count", i64)
    names = [x.name if isinstance(x, Var) else "x" for x in xs]
    types = [ArrayType(array_type(x).dtype, (n,)) for x in xs]
    arrays = [b.param(*each) for each in zip(names, types, strict=True)]
    found = b.emit(Sort(b.copy(key), tuple(arrays)))
    program = Program("sorted", b.close([n, *arrays], found))
    return taking_rows(program, [x for x in xs if isinstance(x, Var)])


def taking_rows(program: Program, arrays: Sequence[Var]) -> LocalProgram:
    """A program that takes a number of rows, and these of some arrays."""
    params = (Param(ParamKind.COUNT), *(Param(ParamKind.ROWS, x) for x in arrays))
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
