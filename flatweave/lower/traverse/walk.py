"""Walking a block of a sweep in steps of a warp: whole steps on all lanes, then the rest.

    lanes W:  for i = lo, lo + W, .. :  step at i, i + 1, .. i + W - 1
    lanes 1:  for the rest:             step at i

A *carry* is one value for the warp (a scan's prefix so far); an *accumulator* is kept by each lane
and combined at the end of the region, which only a commutative operator allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Lanes, ReduceLanes
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.plan import Along
from flatweave.lower.traverse.blocked import BlockedLayout, Tile
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.row_of_position import RowOf, Rows
from flatweave.lower.traverse.warp_share import warp_share
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, Lambda


@dataclass(frozen=True, eq=False)
class Accumulator:
    """One value of each lane, combined by `fn` at the end of a region."""

    fn: Callable[[Builder, Sequence[Atom]], tuple[Atom, ...]]
    function: Callable[[Builder], Lambda]
    neutral: tuple[Atom, ...]


class Walks(Protocol):
    """What visits the positions of a block."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""


@dataclass(frozen=True, eq=False)
class Walk:
    """How the positions of a sweep are visited.

    `shape` are the kernel atoms of the extents; `rows` walks each row of the last axis on its own,
    so that its index runs with the lanes; `reverse` visits the last position first; `width` 0
    means one element at a time outside any lanes. With a `reach`, positions that far from both
    ends of the last axis are walked apart: there the tests of a stencil's boundary fall away.
    With `located` rows each step knows which row each position belongs to, and lanes lie as
    `along` says: where it leaves that open, along one row after the other if `by_row` holds.
    """

    machine: Machine
    shape: tuple[Atom, ...]
    total: Atom
    width: int
    rows: bool
    reverse: bool
    accumulators: tuple[Accumulator, ...]
    runs: BlockedLayout | None = None
    reach: int = 0
    located: Rows | None = None
    along: Along = Along.POSITIONS
    by_row: Atom | None = None

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        if self.located is not None:
            return self._along_rows(b, lo, hi, state, step, self.located)
        return self._block(b, lo, hi, state, step)

    def _block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        if self.width == 0:
            return self._one_by_one(b, lo, hi, state, step)
        if self.runs:
            return self._in_runs(b, lo, hi, state, step)
        if not self.rows:
            return self._span(b, lo, hi, state, step, self._flat_position)
        return self._rows(b, lo, hi, state, step)

    def _along_rows(
        self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, rows: Rows
    ) -> State:
        """Lanes along the positions, along one row after the other, or each along its own."""
        if self.along is Along.ROW and self.width:
            return self._by_row(b, lo, hi, state, step, rows)
        if self.along is Along.ROWS and self.width > 1:
            return self._by_lane(b, lo, hi, state, step, rows)
        if self.by_row is None or self.along is Along.POSITIONS or not self.width:
            return self._by_position(b, lo, hi, state, step, rows)
        long, short = b.inner(), b.inner()
        by_row = long.close([], self._by_row(long, lo, hi, state, step, rows))
        by_position = short.close([], self._by_position(short, lo, hi, state, step, rows))
        return b.emit(If(self.by_row, by_row, by_position))

    def _by_position(
        self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, rows: Rows
    ) -> State:
        """A cursor goes along: the row of the position before the step, and where it begins."""
        first = lo
        if self.machine.simt:
            first = warp_share(b, self.machine, lo, hi, self.width)[0]

        def located(c: Builder, position: Position, known: State) -> State:
            here, after = _rows_of(c, rows, position, known[-2:])
            return (*step(c, replace(position, row=here), known[:-2]), *after)

        return self._block(b, lo, hi, (*state, *rows.enter(b, first)), located)[:-2]

    def _by_row(
        self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, rows: Rows
    ) -> State:
        """One row after the other, each in whole steps and a rest."""
        first, behind = rows.between(b, lo, hi)
        outer = b.inner()
        row = outer.param("r", i64)
        params = tuple(outer.param("s", atom.type) for atom in state)
        start = rows.start(outer, row)
        p_lo = outer.apply("maximum", start, lo)
        p_hi = outer.apply("minimum", rows.end(outer, row), hi)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            position = self._flat_position(c, base, width, limit)
            return replace(position, row=RowOf(row, start), aligned=False)

        out = self._span(outer, p_lo, p_hi, params, step, at)
        return b.emit(For(first, behind, index(1), outer.close([row, *params], out), state))

    def position(self, b: Builder, base: Atom, width: int) -> Position:
        """A step from a running position on, all of its lanes inside."""
        position = self._flat_position(b, base, width, b.add(base, index(width)))
        return replace(position, alone=self.width == 0)

    def _by_lane(
        self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step, rows: Rows
    ) -> State:
        """A row for each lane, as many turns as the longest row asks for."""
        first, behind = rows.between(b, lo, hi)
        end, limit = behind, behind
        if self.machine.simt:
            first, end, limit = warp_share(b, self.machine, first, behind, self.width)

        def of_rows(c: Builder, base: Atom, known: State) -> State:
            number = c.emit(Lane(base))[0]
            there = c.apply("lt", number, limit)
            row = c.apply("minimum", number, c.sub(limit, index(1)))
            start = rows.start(c, row)
            p_lo = c.apply("maximum", start, lo)
            stop = c.apply("minimum", rows.end(c, row), hi)
            length = c.apply("select", there, c.sub(stop, p_lo), index(0))
            (longest,) = c.emit(ReduceLanes(lambda_of("maximum", i64), (length,)))
            inside = self._inside(c)
            turn = inside.param("t", i64)
            params = tuple(inside.param("s", atom.type) for atom in known)
            active = inside.apply("lt", turn, length)
            flat = inside.apply("select", active, inside.add(p_lo, turn), lo)
            indices = inside.unravel(flat, self.shape)
            position = Position(
                flat, indices, self.width, active, row=RowOf(row, start), aligned=False
            )
            body = inside.close([turn, *params], step(inside, position, params))
            return c.emit(For(index(0), longest, index(1), body, known))

        return self._in_lanes(b, self.width, first, end, state, of_rows)

    def _one_by_one(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        inside = self._inside(b)
        i = inside.param("i", i64)
        params = [inside.param("s", atom.type) for atom in state]
        position = replace(self._flat_position(inside, i, 1, hi), alone=True)
        body = inside.close([i, *params], step(inside, position, tuple(params)))
        return b.emit(For(lo, hi, index(1), body, state))

    def _in_runs(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """One run for each lane, then the rest; the state is all accumulators."""

        def tile_step(c: Builder, flat: Atom, tile: Tile, known: State) -> State:
            c.assume_space(self.shape)
            indices = c.unravel(flat, self.shape)
            return step(c, Position(flat, indices, self.width, None, tile), known)

        assert self.runs is not None
        neutral = tuple(atom for acc in self.accumulators for atom in acc.neutral)
        done, rest = self.runs.region(b, lo, hi, neutral, tile_step, self._across_lanes)
        joined = self._joined(b, state, done)
        return self._region(b, 1, rest, hi, hi, joined, step, self._flat_position)

    def _rows(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        extent = self.shape[-1]
        first = b.apply("floordiv", lo, extent)
        last = b.apply("floordiv", b.add(b.sub(hi, index(1)), extent), extent)
        outer = self._inside(b)
        row = outer.param("r", i64)
        params = tuple(outer.param("s", atom.type) for atom in state)
        start = outer.mul(row, extent)
        leading = outer.unravel(row, self.shape[:-1]) if len(self.shape) > 2 else (row,)
        j_lo = outer.apply("maximum", outer.sub(lo, start), index(0))
        j_hi = outer.apply("minimum", outer.sub(hi, start), extent)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            j, active = self._lane(c, base, width, limit)
            return Position(c.add(start, j), (*leading, j), width, active)

        out = self._span(outer, j_lo, j_hi, params, step, at)
        body = outer.close([row, *params], out)
        return b.emit(For(first, last, index(1), body, state))

    def _span(
        self,
        b: Builder,
        lo: Atom,
        hi: Atom,
        state: State,
        step: Step,
        at: Callable[[Builder, Atom, int, Atom], Position],
    ) -> State:
        if self.machine.simt:
            first, end, limit = warp_share(b, self.machine, lo, hi, self.width)
            return self._region(b, self.width, first, end, limit, state, step, at)
        if self.width == 1:
            return self._region(b, 1, lo, hi, hi, state, step, at)
        if self.reach:
            return self._span_with_edges(b, lo, hi, state, step, at)
        length = b.sub(hi, lo)
        whole = b.mul(b.apply("floordiv", length, index(self.width)), index(self.width))
        mid = b.add(lo, whole)
        state = self._region(b, self.width, lo, mid, hi, state, step, at)
        return self._region(b, 1, mid, hi, hi, state, step, at)

    def _span_with_edges(
        self,
        b: Builder,
        lo: Atom,
        hi: Atom,
        state: State,
        step: Step,
        at: Callable[[Builder, Atom, int, Atom], Position],
    ) -> State:
        """One by one near the ends of the axis, in whole steps between them."""
        width, reach = index(self.width), index(self.reach)
        start = b.add(b.apply("maximum", lo, reach), index(self.width - 1))
        start = b.mul(b.apply("floordiv", start, width), width)
        start = b.apply("minimum", start, hi)
        stop = b.apply("minimum", hi, b.sub(self.shape[-1], reach))
        length = b.apply("maximum", b.sub(stop, start), index(0))
        mid = b.add(start, b.mul(b.apply("floordiv", length, width), width))
        state = self._region(b, 1, lo, start, hi, state, step, at)
        state = self._region(b, self.width, start, mid, hi, state, step, at, inside=True)
        return self._region(b, 1, mid, hi, hi, state, step, at)

    def _region(
        self,
        b: Builder,
        width: int,
        lo: Atom,
        hi: Atom,
        limit: Atom,
        state: State,
        step: Step,
        at: Callable[[Builder, Atom, int, Atom], Position],
        *,
        inside: bool = False,
    ) -> State:
        """A loop over lo to hi on `width` lanes; accumulators start neutral in each lane.

        Elements from `limit` on are not there: the lanes that reach them are idle.
        """

        def turn(body: Builder, i: Atom, known: State) -> State:
            position = at(body, i, width, limit)
            if inside:
                body.assume_inside(position.indices[-1], self.shape[-1], self.reach)
            return step(body, position, known)

        return self._in_lanes(b, width, lo, hi, state, turn)

    def _in_lanes(
        self, b: Builder, width: int, lo: Atom, hi: Atom, state: State,
        act: Callable[[Builder, Atom, State], State],
    ) -> State:  # fmt: skip
        """act at lo, lo + width, .. on `width` lanes; accumulators start neutral in each."""
        kept = sum(len(acc.neutral) for acc in self.accumulators)
        neutral = tuple(atom for acc in self.accumulators for atom in acc.neutral)
        region = b.inner()
        body = self._inside(region)
        i = body.param("i", i64)
        params = tuple(body.param("s", atom.type) for atom in state)
        turn = body.close([i, *params], act(body, i, params))
        init = state if width == 1 else (*neutral, *state[kept:])
        out: State = region.emit(For(lo, hi, index(width), turn, init))
        if width > 1:
            out = (*self._across_lanes(region, out), *out[kept:])
        done: State = b.emit(Lanes(width, region.close([], out)))
        if width == 1:
            return done
        return (*self._joined(b, state, done), *done[kept:])

    def _inside(self, b: Builder) -> Builder:
        """A body for elements: where it runs, no extent is 0; around it, all may be."""
        inside = b.inner()
        inside.assume_space(self.shape)
        return inside

    def _across_lanes(self, b: Builder, out: State) -> State:
        reduced: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            args = out[start : start + len(acc.neutral)]
            reduced.extend(b.emit(ReduceLanes(acc.function(b), args)))
            start += len(acc.neutral)
        return tuple(reduced)

    def _joined(self, b: Builder, before: State, region: State) -> State:
        joined: list[Atom] = []
        start = 0
        for acc in self.accumulators:
            stop = start + len(acc.neutral)
            joined.extend(acc.fn(b, [*before[start:stop], *region[start:stop]]))
            start = stop
        return tuple(joined)

    def _lane(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        """The position of each lane; on a machine with idle lanes those stay at the last one."""
        i: Atom = b.emit(Lane(base))[0] if width > 1 else base
        if not self.machine.simt:
            return i, None
        active = b.apply("lt", i, limit)
        return b.apply("minimum", i, b.sub(limit, index(1))), active

    def _flat_position(self, b: Builder, base: Atom, width: int, limit: Atom) -> Position:
        if self.reverse:
            return self._reverse_position(b, base, width, limit)
        flat, active = self._lane(b, base, width, limit)
        if self.located is None:
            return Position(flat, b.unravel(flat, self.shape), width, active, base=base)
        last = b.add(base, index(width - 1))
        if active is not None:
            last = b.apply("minimum", last, b.sub(limit, index(1)))
        return Position(
            flat, b.unravel(flat, self.shape), width, active, base=base, last=last
        )

    def _reverse_position(self, b: Builder, base: Atom, width: int, limit: Atom) -> Position:
        """Running position f stands for element total - 1 - f."""
        last = b.sub(self.total, index(1))
        if self.machine.simt:
            running, active = self._lane(b, base, width, limit)
            flat = b.sub(last, running)
            return Position(flat, b.unravel(flat, self.shape), width, active)
        start = b.sub(last, base)
        at: Atom = b.emit(Lane(start, True))[0] if width > 1 else start
        return Position(at, b.unravel(at, self.shape), width)


def _rows_of(
    b: Builder, rows: Rows, position: Position, cursor: State
) -> tuple[RowOf, State]:
    """The rows of a step's positions, and the cursor behind them."""
    assert position.base is not None and position.last is not None
    if position.width == 1 and position.active is None:
        row, start = rows.one(b, position.flat, cursor)
        return RowOf(row, start), (row, start)
    return rows.step(b, position.base, position.flat, position.last, cursor)
