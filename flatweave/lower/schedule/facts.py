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

from flatweave.access.analyse import Accesses, find_offset
from flatweave.base.records import record
from flatweave.lower.schedule.arrangement import Turned, accesses_of, find_turned
from flatweave.lower.schedule.contraction import Contraction, find_contraction
from flatweave.lower.schedule.division import find_located
from flatweave.lower.schedule.scan_levels import (
    HeadFlags,
    ScanLevels,
    ScanRecord,
    find_head_flags,
    find_scan_levels,
)
from flatweave.lower.schedule.short_rows import Ones, find_ones
from flatweave.nest.schedule import Axis
from flatweave.ops import HOST_BODIES, Check, Fold, Index, Locate, Sweep
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.fusion.sharing import is_pull
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast
from flatweave.terms.rules import array_type, scalar_type
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for, walk_lets


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
