"""Gathers, sorts and scatters of arrays in chunks, by a shuffle; the table of exchanges."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, as_dtype, i64, u64
from flatweave.cluster.chunk_program import LocalProgram, Param, ParamKind
from flatweave.cluster.exchange import (
    BranchExchange,
    CallbackExchange,
    Client,
    Divide,
    ElementExchange,
    Exchange,
    ForExchange,
    JoinedExchange,
    Made,
    WhileExchange,
    in_chunks,
)
from flatweave.cluster.executor import Chunk, Executor, Job, Rows
from flatweave.cluster.indexed_rules import each_once, rows_at
from flatweave.cluster.shuffle import (
    Columns,
    Kind,
    Parting,
    Sending,
    blocks_of,
    chunks_of,
    computed,
    cut_at,
    exchanged,
    rows_of,
    shuffled,
    sorting,
    taking_rows,
)
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.ops import Map, Permute, Scatter, Sort
from flatweave.terms.build import Builder, with_beside
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, array_type

PLACES: Kind = (np.dtype(np.int64), ())


def brought(
    place: Executor, arrays: Sequence[Chunked], parts: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """What `rules.rule.Parts.brought` says."""
    owners = chunks_of(arrays[0].bounds)
    reads = [part[0] for part in parts if part]
    if not owners or not reads:
        return [[1, part[1], *map(_nothing, arrays)] if part else [] for part in parts]
    asking = _cut(place, reads, owners)
    rows = sum(each.cut[-1] for each in asking)
    size = rows * (8 + sum(xs.nbytes // len(xs) for xs in arrays))
    group = place.group(len(asking), len(owners), size // 2)  # indices go there, rows come back
    found = iter(
        _in_stages(place, arrays, owners, asking, group) if group > 1
        else _of_owners(place, arrays, [(owners, asking)])[0]
    )  # fmt: skip
    return [_given(arrays, next(found), part[1]) if part else [] for part in parts]


class _Asking(NamedTuple):
    """A task's sorted unique indices, and the cuts between their owners."""

    read: Any
    cut: list[int]

    def of(self, first: int, last: int) -> _Asking:
        """The part for some consecutive owners."""
        return _Asking(self.read, [end - self.cut[first] for end in self.cut[first : last + 1]])


def _cut(place: Executor, reads: Sequence[Any], owners: Sequence[Chunk]) -> list[_Asking]:
    """The cuts of indices between the chunks that have these rows."""
    ends = [np.array([owner.end for owner in owners[:-1]], np.int64)]
    cuts = place.each(cut_at, [[read] for read in reads], ends)
    return [_Asking(read, list(map(int, cut))) for read, cut in zip(reads, cuts, strict=True)]


# -- one stage ------------------------------------------------------------------------------------


def _of_owners(
    place: Executor, arrays: Sequence[Chunked],
    groups: Sequence[tuple[Sequence[Chunk], Sequence[_Asking]]],
) -> list[list[list[Rows]]]:  # fmt: skip
    """Of each array the rows that everybody asks of some owners, for several groups of these."""
    program, extents = _taking(_kinds(arrays)), [extent for xs in arrays for extent in xs.row]
    sendings = [
        Sending([[each.read] for each in asking], [each.cut for each in asking], len(owners))
        for owners, asking in groups
    ]
    jobs: list[Job] = []
    counts: list[list[list[int]]] = []
    asked = exchanged(place, sendings, [PLACES], separate=True)
    for (owners, asking), runs in zip(groups, asked, strict=True):
        mine = []
        for k, owner in enumerate(owners):
            count = runs.count(k)
            if count:
                rows = [Rows.of(xs, (owner.begin, owner.end)) for xs in arrays]
                numbers = [owner.begin, owner.end - owner.begin, count, *extents]
                jobs.append(Job(owner, [*numbers, *rows, *runs.taken(k)]))
                own = (each.cut[k + 1] - each.cut[k] for each in asking)
                mine.append([0, *accumulate(own)])
        counts.append(mine)
    found = (results for _, results in place.run(program, jobs))
    back = [
        Sending([next(found) for _ in mine], mine, len(asking))
        for (_, asking), mine in zip(groups, counts, strict=True)
    ]
    sent = exchanged(place, back, [(xs.dtype, xs.row) for xs in arrays])
    return [[runs.taken(k) for k in range(len(runs.runs))] for runs in sent]


# -- two stages -----------------------------------------------------------------------------------


class _Between(NamedTuple):
    """A task that asks a group of owners for a block of the chunks: its unique indices, and for
    each index that it received, chunk by chunk, its position among these."""

    group: int
    chunks: tuple[int, int]
    ends: list[int]
    read: Any
    at: Any


def _in_stages(
    place: Executor, arrays: Sequence[Chunked], owners: Sequence[Chunk], asking: Sequence[_Asking],
    each: int,
) -> list[list[Rows]]:  # fmt: skip
    """Of each array the rows that all chunks request from the owners, in groups that are
    asked together."""
    firsts = range(0, len(owners), each)
    between = _between(place, owners, asking, each)
    again = _cut(place, [task.read for task in between], owners)
    pairs = list(zip(between, again, strict=True))
    groups = []
    for k, first in enumerate(firsts):
        mine = owners[first : first + each]
        ask = [found.of(first, first + len(mine)) for task, found in pairs if task.group == k]
        groups.append((mine, ask))
    tables = [rows for found in _of_owners(place, arrays, groups) for rows in found]
    jobs: list[Job] = []
    for task, rows in zip(between, tables, strict=True):
        numbers = [0, rows[0].count, task.ends[-1], *(n for xs in arrays for n in xs.row)]
        jobs.append(Job(Chunk(len(jobs), 0, task.ends[-1]), [*numbers, *rows, task.at]))
    program = _taking(_kinds(arrays))
    found = (results for _, results in place.run(program, jobs))
    back = [Sending([next(found)], [task.ends], len(task.ends) - 1) for task in between]
    sent = exchanged(place, back, [(xs.dtype, xs.row) for xs in arrays])
    given: list[list[list[Rows]]] = [[] for _ in asking]
    for task, runs in zip(between, sent, strict=True):
        for k, number in enumerate(range(*task.chunks)):
            given[number].append(runs.taken(k))
    return [_joined(arrays, mine) for mine in given]


def _between(
    place: Executor, owners: Sequence[Chunk], asking: Sequence[_Asking], each: int
) -> list[_Between]:
    """The tasks between, by groups of owners; those that have something to ask."""
    last = len(owners)
    coarse = [[*found.cut[:last:each], found.cut[last]] for found in asking]
    reads = [[found.read] for found in asking]
    sending = Sending(reads, coarse, len(coarse[0]) - 1)
    (runs,) = exchanged(place, [sending], [PLACES], separate=True)
    made: list[tuple[int, tuple[int, int], list[int]]] = []
    jobs: list[Job] = []
    for k in range(sending.takers):
        tasks = min(each, last - k * each)
        blocks = runs.blocks(k, tasks)
        for chunks, (places,) in zip(blocks_of(len(asking), tasks), blocks, strict=True):
            if places.count:
                own = (coarse[n][k + 1] - coarse[n][k] for n in range(*chunks))
                made.append((k, chunks, [0, *accumulate(own)]))
                job = Chunk(len(jobs), 0, places.count)
                jobs.append(Job(job, [places.count, owners[-1].end, places]))
    found = place.run(_asking_once(), jobs)
    return [_Between(*task, *results) for task, (_, results) in zip(made, found, strict=True)]


def _joined(arrays: Sequence[Chunked], given: Sequence[Sequence[Rows]]) -> list[Rows]:
    """Rows of each array that come from several tasks."""
    return [
        Rows(tuple(part for rows in given for part in rows[k].parts), xs.dtype, xs.row)
        for k, xs in enumerate(arrays)
    ]


# -- what is given, and computed ------------------------------------------------------------------


def _given(arrays: Sequence[Chunked], rows: Sequence[Rows], at: Any) -> list[Any]:
    """The rows that a chunk continues with; one row of zeros if all its indices are outside."""
    count = rows[0].count
    return [count, at, *rows] if count else [1, at, *map(_nothing, arrays)]


def _nothing(xs: Chunked) -> Rows:
    return Rows(((Held(np.zeros((1, *xs.row), xs.dtype)), 0, 1),), xs.dtype, xs.row)


def _kinds(arrays: Sequence[Chunked]) -> tuple[tuple[DType, int], ...]:
    return tuple((as_dtype(xs.dtype), len(xs.row)) for xs in arrays)


@functools.cache
def _taking(kinds: tuple[tuple[DType, int], ...]) -> LocalProgram:
    """A program that takes rows of some arrays at indices of the whole arrays."""
    b = Builder()
    begin, extent, count = (b.param(name, i64) for name in ("begin", "rows", "count"))
    others = [[b.param("extent", i64) for _ in range(rank)] for _, rank in kinds]
    arrays = [
        b.param("x", ArrayType(dtype, (extent, *row)))
        for (dtype, _), row in zip(kinds, others, strict=True)
    ]
    places = b.param("places", ArrayType(i64, (count,)))
    results = [b.emit(rows_at(b, x, places, begin))[0] for x in arrays]
    params = [begin, extent, count, *(n for row in others for n in row), *arrays, places]
    return LocalProgram(Program("taken", b.close(params, results)), (), (), (), ())


@functools.cache
def _asking_once() -> LocalProgram:
    """A program that gives the unique indices of several chunks."""
    b = Builder()
    count, extent = b.param("count", i64), b.param("extent", i64)
    places = b.param("places", ArrayType(i64, (count,)))
    found = each_once(b, places, extent)
    program = Program("asked", b.close([count, extent, places], found))
    return LocalProgram(program, (Param(ParamKind.COUNT),), (), (), ())


# -- sort and scatter -----------------------------------------------------------------------------

# scatter and permute into an array in chunks: every element goes to the chunk with its destination.
#
# Chunks partition their writes by destination chunk; each chunk of the destination takes
# its runs, in the order of the chunks that wrote them.


class PermuteExchange(Exchange):
    """Places outside have the greatest keys, and go nowhere."""

    op: ClassVar[type[Op]] = Permute

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        taken = (op.indices, *op.xs)
        return Made(frozenset(let.vars), kept=(Parting(taken, _place_key(taken)), *_writing(op)))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        (parting, beside, writing), op = made.kept, let.op
        dests = [in_chunks(client.value(x)) for x in op.dest]  # type: ignore[attr-defined]
        taken = [in_chunks(client.value(x)) for x in (op.indices, *op.xs)]  # type: ignore[attr-defined]
        chunks = chunks_of(dests[0].bounds)
        if not chunks or not len(taken[0]):
            return dict(zip(let.vars, dests, strict=True))
        ends = [np.array([chunk.end for chunk in chunks], np.uint64)]
        runs = shuffled(client.place, taken, parting, ends)
        read = list(map(client.shared, beside))
        tasks = []
        for k, chunk in enumerate(chunks):
            count, *rows = rows_of(dests, chunk.begin, chunk.end)
            sizes = chunk.begin, count, runs.count(k)
            tasks.append(Job(chunk, [*sizes, *read, *rows, *runs.taken(k)]))
        return computed(client.place, writing, tasks, let.vars)


class ScatterExchange(PermuteExchange):
    """The last element in the order of the rows stays."""

    op: ClassVar[type[Op]] = Scatter


def _place_key(taken: Sequence[Atom]) -> Lambda:
    """The destination of an element, as an unsigned integer: negative ones are above all others."""
    b = Builder()
    types = [array_type(x).dtype for x in taken]
    return b.function(types, lambda inside, index, *_: (inside.cast(index, u64),))


def _writing(op: Any) -> tuple[list[Var], LocalProgram]:
    """A program that writes elements into rows of the destination, and the arrays it captures."""
    b = Builder()
    begin, rows, count = (b.param(name, i64) for name in ("begin", "rows", "count"))
    changes: dict[str, Any] = {}
    beside, params = list[Var](), list[Var]()
    if isinstance(op, Permute):
        beside, params, renamed = with_beside(b, op.fn, *op.neutral)
        changes["fn"] = renamed.function(op.fn)
        changes["neutral"] = tuple(map(renamed.atom, op.neutral))
    dests = [b.param("dest", ArrayType(array_type(x).dtype, (rows,))) for x in op.dest]
    indices = b.param("indices", ArrayType(i64, (count,)))
    xs = [b.param("x", ArrayType(array_type(x).dtype, (count,))) for x in op.xs]
    shift = b.function([i64], lambda inside, i: (inside.sub(i, begin),))
    own = b.emit(Map(shift, (indices,)))[0]
    changes.update(dest=tuple(dests), indices=own, xs=tuple(xs))
    results = b.emit(op.replace(**changes))
    fn = b.close([begin, rows, count, *params, *dests, indices, *xs], results)
    return beside, taking_rows(Program("written", fn), [])


# sort: by samples. Splitters, taken from a sample of all chunks, part each of them; part k of
# every chunk goes into chunk k of the result, which sorts it. So every element is sorted once.
#
# Equal keys are in one part, so the whole is stable. Many equal keys make a chunk of the result
# that is as long as they are.


SAMPLES = 512
"""Elements of the sample for each chunk of the result: these differ in length by about 4 % where
keys differ, one in a thousand by 14 %."""


class SortExchange(Exchange):
    """Keys are unsigned integers, one or several for each element."""

    op: ClassVar[type[Op]] = Sort

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        op: Any = let.op
        return Made(frozenset(let.vars), kept=(Parting(op.xs, op.fn), sorting(op.xs, op.fn)))

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        parting, sorting = made.kept
        arrays = [client.value(x) for x in let.op.xs]  # type: ignore[attr-defined]
        cuts = next(xs.bounds for xs in arrays if isinstance(xs, Chunked))
        arrays = [in_chunks(xs, cuts) for xs in arrays]
        return computed(client.place, sorting, _wanted(client, arrays, parting), let.vars)


def _wanted(client: Client, arrays: Sequence[Chunked], parting: Parting) -> list[Job]:
    """What each chunk of the result is made of."""
    chunks = chunks_of(arrays[0].bounds)
    if len(chunks) < 2:
        return [Job(chunk, rows_of(arrays, chunk.begin, chunk.end)) for chunk in chunks]
    taken = shuffled(client.place, arrays, parting, _splitters(client, arrays, parting))
    found, at = [], 0
    for k in range(len(chunks)):
        rows = taken.count(k)
        if rows:
            found.append(Job(Chunk(k, at, at + rows), [rows, *taken.taken(k)]))
        at += rows
    return found


def _splitters(client: Client, arrays: Sequence[Chunked], parting: Parting) -> Columns:
    """Keys between the chunks of the result, which has as many chunks as the argument."""
    chunks = chunks_of(arrays[0].bounds)
    places = _sample([chunk.end - chunk.begin for chunk in chunks])
    columns = []
    for k in parting.reads:
        rows = [Rows.of(arrays[k], (chunk.begin, chunk.end)) for chunk in chunks]
        columns.append(np.concatenate(client.place.picked(rows, places)))
    keys = interp.run(Program("keys", parting.keys()), [len(columns[0]), *columns])
    order = np.lexsort(keys[::-1])
    chosen = order[[len(order) * k // len(chunks) for k in range(1, len(chunks))]]
    return [np.asarray(key)[chosen] for key in keys]


def _sample(lengths: Sequence[int]) -> list[Any]:
    """Places in chunks, in proportion to their lengths: one anywhere in each of equal stretches, as
    what is at equal distances may be all alike; always the same ones."""
    wanted, random = SAMPLES * len(lengths) / sum(lengths), np.random.default_rng(0)
    found = []
    for length in lengths:
        count = min(max(round(length * wanted), 1), length)
        at = (np.arange(count) + random.random(count)) * (length / count)
        found.append(np.minimum(at.astype(np.int64), length - 1))
    return found


# -- exchanges ------------------------------------------------------------------------------------

EXCHANGES: tuple[Exchange, ...] = (
    BranchExchange(), CallbackExchange(), ElementExchange(), ForExchange(), JoinedExchange(),
    PermuteExchange(), ScatterExchange(), SortExchange(), WhileExchange(),
)  # fmt: skip


def exchange_of(op: Op) -> Exchange | None:
    """How the client does an operation on arrays that are in chunks."""
    return next((each for each in EXCHANGES if type(op) is each.op), None)
