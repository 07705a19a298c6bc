"""Along rows each of whose elements is one value: a run is filled by whole steps.

    lanes W:  for each row:  step at its start, and at start + W, .. below its end; in a long row
              from the second step on at multiples of W, where no store lies across two lines
              what goes beyond the end is written over by the next rows
    lanes W:  the last step of the block, where its last row has as many positions
    lanes 1:  else the last positions one by one, where a whole step would leave the block

No row needs a rest, and one that is shorter than a step, or empty, no branch.
"""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Lanes
from flatweave.lower.traverse.along_rows import AlongRows, ByRow
from flatweave.lower.traverse.position import State, Step
from flatweave.lower.traverse.row_of_position import RowOf
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom

LONG = 16
"""Steps of a row that are worth one more, so that the others are aligned."""


@record
class FillRows(AlongRows):
    """Steps that may go on into the rows behind; nothing is carried from step to step."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""
        assert not state
        whole = b.apply("maximum", lo, b.sub(hi, index(self.width - 1)))
        first, behind = self.rows.between(b, lo, whole)
        region = b.inner()
        outer = self.space.inside(region)
        row = outer.param("r", i64)
        start = self.rows.start(outer, row)
        p_lo = outer.apply("maximum", start, lo)
        p_hi = outer.apply("minimum", self.rows.end(outer, row), whole)

        def fill(c: Builder, base: Atom) -> None:
            position = self.whole_step(c, base, self.width)
            step(c, replace(position, row=RowOf(row, start), aligned=False), ())

        fill(outer, p_lo)
        more = outer.inner()
        base = more.param("i", i64)
        fill(more, base)
        second = self._second(outer, p_lo, p_hi)
        outer.emit(For(second, p_hi, index(self.width), more.close([base], []), ()))
        region.emit(For(first, behind, index(1), outer.close([row], []), ()))
        b.emit(Lanes(self.width, region.close([], [])))
        self._rest(b, lo, whole, hi, step)
        return ()

    def _rest(self, b: Builder, lo: Atom, whole: Atom, hi: Atom, step: Step) -> None:
        """The positions from `whole` on, where no whole step begins."""
        row, start = self.rows.search_once(b, b.sub(hi, index(1)))
        last = b.sub(hi, index(self.width))
        one, each = b.inner(), b.inner()
        region = one.inner()
        position = self.whole_step(region, last, self.width)
        step(region, replace(position, row=RowOf(row, start), aligned=False), ())
        one.emit(Lanes(self.width, region.close([], [])))
        ByRow(self.space, 1, (), self.rows, 0).block(each, whole, hi, (), step)
        in_row = b.apply("ge", last, b.apply("maximum", start, lo))
        b.emit(If(in_row, one.close([], []), each.close([], [])))

    def _second(self, b: Builder, first: Atom, behind: Atom) -> Atom:
        """Where the second step of a row is."""
        following = b.add(first, index(self.width))
        aligned = b.apply("and", following, index(-self.width))
        is_long = b.apply("gt", b.sub(behind, first), index(LONG * self.width))
        return b.apply("select", is_long, aligned, following)
