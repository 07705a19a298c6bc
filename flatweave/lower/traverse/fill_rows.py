"""Along rows each of whose elements is one value: a run is filled by whole steps.

    lanes W:  for each row:  step at its start, and at start + W, .. below its end; in a long row
              from the second step on at multiples of W, where no store lies across two lines
              what goes beyond the end is written over by the next rows
    lanes 1:  the last positions of the block, where a whole step would leave it

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
from flatweave.terms.control import For
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
        return ByRow(self.space, 1, (), self.rows, 0).block(b, whole, hi, (), step)

    def _second(self, b: Builder, first: Atom, behind: Atom) -> Atom:
        """Where the second step of a row is."""
        following = b.add(first, index(self.width))
        aligned = b.apply("and", following, index(-self.width))
        is_long = b.apply("gt", b.sub(behind, first), index(LONG * self.width))
        return b.apply("select", is_long, aligned, following)
