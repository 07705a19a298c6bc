"""Segments that are rows: the result of row r goes to place r, rows without elements are neutral.

    row      0 0 0 3 3 | 3 3 5 5 6 | 6 6          the shares of three warps, of 8 rows
    filled   0 .. 2      3 .. 5      6 .. 7       with neutral values, before the share is walked
    closed   0           3 5                      over them, where starts are met

A share knows the rows of the element before it and of its last one: it closes those from the one
up to the other. Where a step closes rows without a gap they stand side by side.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flatweave.kernel_ir.syntax import LastLane, ShiftLanes, Store, StoreCompact, Sync
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.outputs import Segmented
from flatweave.lower.segments import Step
from flatweave.lower.sinks import NO_BODY
from flatweave.lower.walk import Position, State, Walk
from flatweave.ops import CombineRows
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Var

RowAt = Callable[[Builder, Atom], Atom]
"""Emits the row of the element at a position."""


@dataclass(frozen=True, eq=False)
class ByRow:
    """Places that are rows: `row` is the body's, `neutral` what empty ones hold.

    `before` is the row of the element before the share, `last` that of its last element; the row of
    the open segment is kept in the state.
    """

    machine: Machine
    row: Atom
    neutral: tuple[Atom, ...]
    before: Atom
    last: Atom

    def enter(self) -> State:
        return (self.before,)

    def number(self, kept: State, carries: State) -> Atom:
        return kept[0]

    def store(
        self, b: Builder, step: Step, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        row = step.elements.atom(self.row)
        if self.machine.masked_tail:
            return self._scatter(b, step, row, results, values)
        passed = b.sub(_last_row(b, step, row), step.number)
        dense, sparse = b.inner(), b.inner()
        kept = tuple(results), step.number, self.last, step.close, tuple(values), self.neutral
        dense.emit(StoreCompact(*kept))
        self._scatter(sparse, step, row, results, values)
        has_no_gap = b.apply("eq", passed, step.count)
        b.emit(If(has_no_gap, dense.close([], []), sparse.close([], [])))
        return None

    def _scatter(
        self, b: Builder, step: Step, row: Atom, results: Sequence[Var], values: Sequence[Atom]
    ) -> None:
        """Each to the row of the element before it."""
        closed = b.emit(ShiftLanes((step.number,), (row,)))[0]
        inside = b.inner()
        for buffer, value in zip(results, values, strict=True):
            inside.emit(Store(buffer, closed, value))
        b.emit(If(step.close, inside.close([], []), NO_BODY))

    def behind(self, b: Builder, step: Step, *, busy: bool) -> State:
        if not busy:
            return (step.number,)
        row = step.elements.atom(self.row)
        return (_last_row(b, step, row) if step.position.width > 1 else row,)


def _last_row(b: Builder, step: Step, row: Atom) -> Atom:
    """The row of a step's last element."""
    known = step.position.row
    if known is not None and known.row == row and known.last is not None:
        return known.last
    return b.emit(LastLane((row,)))[0]


@dataclass(frozen=True, eq=False)
class Share:
    """The positions `first` to `limit` of `total` that are one warp's, the first of all or not."""

    first: Atom
    limit: Atom
    total: Atom
    leads: Atom


def open_rows(
    b: Builder, machine: Machine, kernel: KernelBuilder, sink: CombineRows, row: Atom,
    row_at: RowAt, share: Share, buffers: Segmented,
) -> ByRow:  # fmt: skip
    """Fill the rows that are this share's; `row_at` gives the row of any position."""
    results = [kernel.buffer(buffer) for buffer in buffers.results]
    neutral = tuple(kernel.scalar(atom) for atom in sink.neutral)
    before, last = _ends(b, row_at, share)
    none, at_end = index(0), b.apply("eq", share.limit, share.total)
    lo = b.apply("select", b.apply("eq", share.first, none), none, before)
    hi = b.apply("select", at_end, kernel.scalar(sink.rows), last)
    fills = b.apply("or", b.apply("lt", share.first, share.limit), share.leads)
    _fill(b, machine, results, neutral, lo, b.apply("select", fills, hi, lo))
    return ByRow(machine, row, neutral, before, last)


def _ends(b: Builder, row_at: RowAt, share: Share) -> tuple[Atom, Atom]:
    """The rows of the element before the share and of its last; 0 where there are no elements."""
    some, none = b.inner(), b.inner()
    some.hoists = False
    ends = [
        row_at(some, some.apply("maximum", some.sub(at, index(1)), index(0)))
        for at in (share.first, share.limit)
    ]
    any_ = b.apply("gt", share.total, index(0))
    rows = b.emit(If(any_, some.close([], ends), none.close([], [index(0), index(0)])))
    return rows[0], rows[1]


def _fill(
    b: Builder, machine: Machine, results: Sequence[Var], neutral: State, lo: Atom, hi: Atom
) -> None:
    """results[lo .. hi] = neutral, by this warp alone."""
    alone = dataclasses.replace(machine, warps=1)
    width = machine.lanes([scalar_type(atom) for atom in neutral])

    def step(c: Builder, position: Position, state: State) -> State:
        inside = c if position.active is None else c.inner()
        for buffer, value in zip(results, neutral, strict=True):
            inside.emit(Store(buffer, position.flat, value))
        if position.active is not None:
            c.emit(If(position.active, inside.close([], []), NO_BODY))
        return state

    Walk(alone, (hi,), hi, width, False, False, ()).block(b, lo, hi, (), step)
    if machine.warps > 1:
        b.emit(Sync())  # lanes store over what others have filled
