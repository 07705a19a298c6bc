"""What a sweep is, whatever machine it runs on: its scans, and the rows it walks along.

It finds the rows that a sweep reads around each element's own row:

    sweep [n, m] (i, j =>
        a = index xs [maximum (i - 1) 0, j]            xs: rows i - 1 and i + 1, the last one
        b = index xs [minimum (i + 1) (n - 1), j])     of which a step prefetches

It finds arrays that one sweep alone reads and that cost little: the sweep may compute them where it
reads them.

    re: f32[n], im: f32[n] = sweep [n] (i => index xs [i, 0], neg (index xs [i, 1])) [store, store]
    ==>
    own_arrays(b, [re, im])     re: sweep [n] (i => index xs [i, 0]) [store], im: ..
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeGuard

from flatweave.access import ONE
from flatweave.access.analyse import (
    Accesses,
    Values,
    asks_if_inside,
    find_exact_offset,
    find_offset,
)
from flatweave.algorithms.loops import Read, Search
from flatweave.base.dtypes import DType, bool_, i64, u8, u16, u32, u64
from flatweave.base.records import record
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.arrangement import Turned, accesses_of, find_turned
from flatweave.lower.schedule.contraction import Contraction, Ones, find_contraction, find_ones
from flatweave.lower.schedule.division import find_located
from flatweave.lower.schedule.scan_levels import (
    HeadFlags,
    ScanLevels,
    ScanRecord,
    find_head_flags,
    find_scan_levels,
    in_bytes,
    sum_of_flags,
)
from flatweave.lower.schedule.steps import Axis
from flatweave.ops import HOST_BODIES, Check, Fold, Index, Locate, Sweep
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.sharing import is_pull
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Op, Var, array_type, scalar_type
from flatweave.terms.traverse import free_vars, lambdas_in, makers, needed_for, walk_lets


class SweepFacts:
    """Facts of a sweep, each computed once, on demand. Plans are built from them, and emission
    reads them."""

    def __init__(self, op: Sweep) -> None:
        self.op = op
        self._of_one: dict[Axis, Ones | None] = {}

    @cached_property
    def known(self) -> Accesses:
        """How its values vary along its axes and those of its folds."""
        return accesses_of(self.op)

    @cached_property
    def scans(self) -> ScanLevels:
        """Its scans, by level."""
        return find_scan_levels(self.op)

    @cached_property
    def located(self) -> Locate | None:
        """The rows in which it looks up its own positions."""
        return find_located(self.op)

    @cached_property
    def heads(self) -> HeadFlags | None:
        """Which of its values only ask where those rows begin."""
        return find_head_flags(self.op, self.located)

    @cached_property
    def contraction(self) -> Contraction | None:
        """The fold that its space is tiled for."""
        return find_contraction(self.op, self.known)

    @cached_property
    def neighbours(self) -> Neighbours | None:
        """Its reads of rows around an element's own row."""
        return find_neighbours(self.op, self.known)

    @cached_property
    def turned(self) -> Turned | None:
        """Its reads that go along memory with another axis than the last one."""
        return find_turned(self.op, self.known)

    def words(self, machine: Machine) -> dict[Var, Part]:
        """Its values that are elements of a word, loaded at once where lanes are not threads."""
        return {} if machine.simt else self._words

    @cached_property
    def _words(self) -> dict[Var, Part]:
        axis = self.op.body.params[-1] if self.op.body.params else None
        return dict(_parts(self.op.body, self.known, axis))

    def searches(self, machine: Machine) -> dict[Var, Search]:
        """Its loops that test bytes from a position on, by words where lanes are not threads."""
        return {} if machine.simt else self._searches

    @cached_property
    def _searches(self) -> dict[Var, Search]:
        loops = ((let.vars, let.op) for let in walk_lets(self.op.body) if isinstance(let.op, While))
        return {vars_[0]: found for vars_, loop in loops if (found := find_search(loop))}

    def of_one(self, axis: Axis) -> Ones | None:
        """The sweep's form for rows of one element, if lanes would otherwise run along `axis`."""
        if axis not in self._of_one:
            self._of_one[axis] = find_ones(self.op, axis, scans=self.scans.depth > 0)
        return self._of_one[axis]

    @property
    def can_fail(self) -> bool:
        """Whether an element may report an error: then the first in order must be the one."""
        return any(
            isinstance(let.op, Check) or (isinstance(let.op, Index) and let.op.checked)
            for let in walk_lets(self.op.body)
        )

    @property
    def even_folds(self) -> tuple[tuple[Fold, Atom], ...]:
        """The folds whose length is the same for all elements, or for all but the last ones, with
        that length."""
        body = self.op.body
        own = {*body.params, *(var for let in body.lets for var in let.vars)}
        folds = (let.op for let in body.lets if isinstance(let.op, Fold))
        lengths = ((fold, self.known.at_most(fold.extent, own)) for fold in folds)
        return tuple((fold, length) for fold, length in lengths if length is not None)

    @property
    def combines(self) -> tuple[ScanRecord, ...]:
        """The reductions that the sinks of the sweep make."""
        pairs = zip(self.op.sinks, self.op.portions(), strict=True)
        return tuple(
            ScanRecord(fn, sink.neutral, taken)  # type: ignore[attr-defined]
            for sink, taken in pairs
            if (fn := sink.reduction()) is not None
        )

    def combines_on(self, machine: Machine) -> tuple[ScanRecord, ...]:
        """The same as a machine does them: where threads are long, sums of flags that are read from
        less than words count lanes, and other flags are combined as bytes."""
        if not machine.threads_are_long:
            return self.combines
        counts = tuple(k for each in self.combines if (k := sum_of_flags(each, self.op.body)))
        are_counts = len(counts) == len(self.combines)
        return counts if are_counts else tuple(map(in_bytes, self.combines))


@record(eq=True)
class Neighbours:
    """The reads of rows around an element's own row: for each array the read of the furthest row,
    which a step prefetches, and the bytes of a column of all these rows, including those that are
    stored."""

    furthest: tuple[Index, ...]
    column_bytes: int


def find_neighbours(op: Sweep, known: Accesses) -> Neighbours | None:
    """Of a sweep that reads three rows of an array or more, at its own indices of the axes before.

    Two rows are read again from the second cache at the speed of memory: differences of 4,096 x
    4,096 f32 down the columns take 4.0 ms row by row and 6.9 in panels, f64 10 and 15 (AMD EPYC,
    Zen 4, AVX-512, one thread); with three rows panels take 0.75 to 1.0 of the time.
    """
    if len(op.shape) < 2 or op.reverse:
        return None
    *before, row, column = op.body.params
    rows: dict[Var, dict[int, Index]] = {}
    for read in (let.op for let in op.body.lets if isinstance(let.op, Index)):
        if len(read.indices) != len(op.shape):
            continue
        *lead, i, j = read.indices
        offset = find_offset(known, i, row)
        if offset is None or lead != before or find_offset(known, j, column) is None:
            return None
        assert isinstance(read.xs, Var)
        rows.setdefault(read.xs, {}).setdefault(offset, read)
    if all(len(reads) < 3 for reads in rows.values()):
        return None
    bytes_read = sum(
        (max(at) - min(at) + 1) * array_type(xs).dtype.bytes for xs, at in rows.items()
    )
    bytes_stored = sum(scalar_type(result).bytes for result in op.body.results)
    furthest = tuple(at[max(at)] for at in rows.values())
    return Neighbours(furthest, bytes_read + bytes_stored)


def own_arrays(b: Builder, arrays: Iterable[Atom]) -> dict[Var, Sweep]:
    """Of arrays that have one reader those that cost little, each with its sweep. If a sweep stores
    several, all of them must be among these."""
    only = {x for x in arrays if isinstance(x, Var) and isinstance(b.own.get(x), Sweep)}
    found: dict[Var, Sweep] = {}
    for maker in b.lets if only else ():
        if _is_cheap(maker.op) and only.issuperset(maker.vars):
            found.update(zip(maker.vars, _each(maker.op), strict=True))
    return found


def readers(fn: Lambda) -> Counter[Var]:
    """How many operations of host bodies read each array."""
    found: Counter[Var] = Counter(atom for atom in fn.results if isinstance(atom, Var))
    for let in fn.lets:
        found.update(list(free_vars(let.op)))
        if isinstance(let.op, HOST_BODIES):
            for inner in lambdas_in(let.op):
                found.update(readers(inner))
    return found


def _is_cheap(op: Op | None) -> TypeGuard[Sweep]:
    """Whether a sweep only stores arrays, each element of a little scalar work and reads."""
    if not isinstance(op, Sweep) or not is_pull(op):
        return False
    plain = all(isinstance(let.op, Apply | Cast | Index) for let in op.body.lets)
    effects = any(let.op.effect for let in op.body.lets)
    return plain and not effects and cost_of_body(op.body) <= STORING


def _each(op: Sweep) -> Iterator[Sweep]:
    """A sweep that only stores, once for each of its arrays."""
    params, lets = op.body.params, op.body.lets
    for result, sink in zip(op.body.results, op.sinks, strict=True):
        needed = needed_for(lets, [result] if isinstance(result, Var) else [])
        yield Sweep(op.shape, Lambda(params, needed, (result,)), (sink,))


# -- Reads of small elements that are next to each other, wherever the first one is ----------------
#
#     a = if (0 <= i < n) (() => index xs [i]) (() => 0)          w = word of xs from i on
#     b = if (0 <= i + 1 < n) (() => index xs [i + 1]) (() => 0)  a, b, c = w, w >> 8, w >> 16
#     c = index xs [i + 2]
#
# Lanes gather a word of 32 bits or 64 as fast as a byte. Where an index runs with the lanes, each
# read is one load.


@record(eq=True)
class Word:
    """Elements of `xs` from `offset` before an index on, as the bits of a dtype."""

    xs: Atom
    index: Atom
    offset: int
    dtype: DType


@record(eq=True)
class Part:
    """An element of a word, by its number."""

    word: Word
    number: int


def _parts(fn: Lambda, known: Accesses, axis: Var | None) -> Iterator[tuple[Var, Part]]:
    """The elements of words that a body reads, and the bodies inside it."""
    groups: dict[object, dict[int, list[tuple[Var, Atom]]]] = {}
    for let in fn.lets:
        read = _guarded_read(let.op, known)
        if read is None:
            for inner in lambdas_in(let.op):
                yield from _parts(inner, known, axis)
        elif known.along(read.indices[0]) and _is_gathered(read, known, axis):
            value, xs = known.of(read.indices[0]), read.xs
            near = groups.setdefault((xs, tuple(value.terms.items())), {})
            near.setdefault(value.more, []).append((let.vars[0], read.indices[0]))
    for (xs, _), near in groups.items():  # type: ignore[misc]
        yield from _packed(xs, near)


def _packed(xs: Atom, near: dict[int, list[tuple[Var, Atom]]]) -> Iterator[tuple[Var, Part]]:
    """Words of reads at some offsets from each other, for each offset who reads at what index."""
    bits, left = 8 * array_type(xs).dtype.bytes, sorted(near)
    while left:
        run = [offset for offset in left if (offset - left[0] + 1) * bits <= u64.bits]
        left, span = left[len(run) :], (run[-1] - run[0] + 1) * bits
        if span > u16.bits:
            first, index = next((k, at) for k, reads in near.items() if k in run for _, at in reads)
            word = Word(xs, index, first - run[0], u32 if span <= u32.bits else u64)
            for offset in run:
                for var, _ in near[offset]:
                    yield var, Part(word, offset - run[0])


def _is_gathered(read: Index, known: Accesses, axis: Var | None) -> bool:
    """Whether small elements of one axis are read, not each lane the one after the last lane's."""
    dtype = array_type(read.xs).dtype
    is_linear = axis is not None and known.step(read.indices[0], axis) == ONE
    return dtype.bits < u32.bits and not (dtype.is_float or is_linear)


def _guarded_read(op: Op, known: Accesses) -> Index | None:
    """The read of an array of one axis that an op is, with 0 where nothing is there."""
    if isinstance(op, Index):
        return op if len(op.indices) == 1 and not op.checked else None
    if not isinstance(op, If) or len(op.then.lets) != 1 or op.then.results != op.then.lets[0].vars:
        return None
    read, other = op.then.lets[0].op, op.other.results[0]
    if not isinstance(read, Index) or _guarded_read(read, known) is None:
        return None
    (extent,), (index,) = array_type(read.xs).shape, read.indices
    is_zero = isinstance(other, Const) and not other.value
    return read if is_zero and asks_if_inside(known, op.condition, index, extent) else None


# Searches: loops that go from a position to the next one while tests of bytes there hold.
#
#     while [p] (p => ne (index xs p) 32) (p => add p 1)


JOINS = frozenset(["and", "or", "ne", "eq", "not"])
EQUALITY, ORDER = frozenset(["eq", "ne"]), frozenset(["lt", "le", "gt", "ge"])


def find_search(loop: While) -> Search | None:
    """The search that a loop is."""
    if len(loop.init) != 1 or loop.init[0].type is not i64 or not _goes_to_next(loop.body):
        return None
    (p,), lets = loop.condition.params, loop.condition.lets
    if not all(isinstance(let.op, Apply | Index) for let in lets):
        return None
    values, reads = Values(makers(lets).get), dict[Atom, Read]()
    for let in lets:
        if isinstance(op := let.op, Index):
            offset = find_exact_offset(values, op.indices[-1], p)
            if offset is None or len(op.indices) > 1 or array_type(op.xs).dtype.bytes > 1:
                return None
            reads[let.vars[0]] = Read(op.xs, offset)
    others = [let for let in lets if not isinstance(let.op, Index)]
    found = Search(loop.condition.results[0], needed_for(others, loop.condition.results), reads)
    return found if reads and all(_has_flags(found, let.op, p) for let in found.tests) else None


def _goes_to_next(body: Lambda) -> bool:
    (p,) = body.params
    return Values(makers(body.lets).get).of(body.results[0]) == Sum({p: 1}, 1)


def _has_flags(search: Search, op: Op, p: Var) -> bool:
    """Whether a test joins others, or is of elements and of values that stay the same."""
    assert isinstance(op, Apply)
    if all(arg.type is bool_ for arg in op.args):
        return op.fn in JOINS
    made = {p, *(let.vars[0] for let in search.tests)}
    is_test = op.fn in EQUALITY or op.fn in ORDER and op.args[0].type is u8
    return is_test and made.isdisjoint(op.args) and not search.reads.keys().isdisjoint(op.args)
