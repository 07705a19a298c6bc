"""Along the last axis, each row by itself, so that its index runs with the lanes."""

from __future__ import annotations

from typing import ClassVar

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane
from flatweave.lower.traverse.flat import span_with_edges
from flatweave.lower.traverse.overlapping import Overlapping
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.traversal import StepAt, Traversal
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var


@record
class RowByRow(Traversal):
    """With a `reach`, positions that far from both ends of a row are visited apart; with a `panel`,
    so many columns of all rows before those behind them; where it `overlaps`, an element may be
    visited twice, and where it is `masked` lanes may idle at the end of a row."""

    reach: int = 0
    panel: int = 0
    overlaps: bool = False
    masked: bool = False
    has_rows: ClassVar[bool] = True

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        extent = self.space.shape[-1]
        if not self.panel:
            return self._rows(b, lo, hi, index(0), extent, state, step)
        outer = self.space.inside(b)
        first = outer.param("c", i64)
        params = tuple(outer.param("s", atom.type) for atom in state)
        behind = outer.apply("minimum", outer.add(first, index(self.panel)), extent)
        out = self._rows(outer, lo, hi, first, behind, params, step)
        body = outer.close([first, *params], out)
        return b.emit(For(index(0), extent, index(self.panel), body, state))

    def _rows(
        self, b: Builder, lo: Atom, hi: Atom, j_first: Atom, j_behind: Atom, state: State,
        step: Step,
    ) -> State:  # fmt: skip
        """The same, of the columns j_first to j_behind."""
        extent = self.space.shape[-1]
        first = b.apply("floordiv", lo, extent)
        last = b.apply("floordiv", b.add(b.sub(hi, index(1)), extent), extent)
        outer = self.space.inside(b)
        row = outer.param("r", i64)
        params = tuple(outer.param("s", atom.type) for atom in state)
        start = outer.mul(row, extent)
        leading = self._leading(outer, row)
        j_lo = outer.apply("maximum", outer.sub(lo, start), j_first)
        j_hi = outer.apply("minimum", outer.sub(hi, start), j_behind)
        if self.panel:  # of its first or last row a block may have no element here
            j_hi = outer.apply("maximum", j_lo, j_hi)

        def at(c: Builder, base: Atom, width: int, limit: Atom) -> Position:
            j, active = self.space.steps.lanes(c, base, width, limit)
            if isinstance(j, Var):
                c.assume_below(j, extent)
            fetches = self.panel > 0 and width == self.width
            flat, in_row = c.add(start, j), None if self.panel else outer
            return Position(
                flat, (*leading, j), width, active, fetches=fetches, in_row=in_row
            )

        if self.overlaps:
            Overlapping(self, self.reach, self.masked, step, at).visit(outer, j_lo, j_hi)
            out: State = ()
        else:
            short = self.space.steps.short(self.width)
            out = span_with_edges(self, self.reach, outer, j_lo, j_hi, params, step, at, short)
        body = outer.close([row, *params], out)
        return b.emit(For(first, last, index(1), body, state))

    def _leading(self, b: Builder, row: Atom) -> tuple[Atom, ...]:
        """The indices of a row."""
        shape = self.space.shape
        if len(shape) == 1:
            return ()
        return b.unravel(row, shape[:-1]) if len(shape) > 2 else (row,)

    def row_before(self, b: Builder, last: Atom) -> tuple[Atom, StepAt]:
        """Where the row of a position starts, and its steps."""
        extent = self.space.shape[-1]
        number = b.apply("floordiv", last, extent)
        start = b.mul(number, extent)
        leading = self._leading(b, number)

        def at(d: Builder, base: Atom, width: int) -> Position:
            flat: Atom = d.emit(Lane(base))[0] if width > 1 else base
            return Position(flat, (*leading, d.sub(flat, start)), width)

        return start, at
