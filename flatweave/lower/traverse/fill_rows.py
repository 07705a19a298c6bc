"""Along rows each of whose elements is one value: a run is filled by whole steps.

    lanes W:  for each row:  step at its start, and at start + W, .. below its end
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
        rest = outer.add(p_lo, index(self.width))
        outer.emit(For(rest, p_hi, index(self.width), more.close([base], []), ()))
        region.emit(For(first, behind, index(1), outer.close([row], []), ()))
        b.emit(Lanes(self.width, region.close([], [])))
        return ByRow(self.space, 1, (), self.rows, 0).block(b, whole, hi, (), step)
