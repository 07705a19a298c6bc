"""Where rows begin, marked in memory before a chunk of positions is walked.

    ends 2 5 5 7, a chunk of 8 positions from 0      heads  T F T F F T F T

For a sweep that locates its positions among rows and combines each row: it asks which elements
begin a row, and nobody need know which row that is. A flag is a store for each row; the flags are
read from the first-level cache, side by side, as flags of a user would be.
"""

from __future__ import annotations

from flatweave.base.dtypes import bool_, i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import rows_of
from flatweave.lower.schedule.head_flags import HeadFlags
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.row_of_position import Rows
from flatweave.lower.traverse.traversal import Traversal, Traverses
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import Atom, Var

CHUNK = 4096
LINE = 64


@record
class WithHeadFlags:
    """A walk whose positions know whether a row begins at them; chunk by chunk."""

    walk: Traversal
    rows: Rows
    flags: Var

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        (before,) = self.rows.search_once(b, b.apply("maximum", b.sub(lo, index(1)), index(0)))[:1]
        chunks = b.inner()
        at = chunks.param("c", i64)
        row, *params = (chunks.param("s", atom.type) for atom in (before, *state))
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)
        after = self._mark(chunks, at, stop, row)

        def marked(c: Builder, position: Position, known: State) -> State:
            is_head = c.emit(Load(self.flags, c.sub(position.flat, at)))[0]
            return step(c, replace(position, is_head=is_head), known)

        out = self.walk.block(chunks, at, stop, tuple(params), marked)
        body = chunks.close([at, row, *params], [after, *out])
        return b.emit(For(lo, hi, index(CHUNK), body, (before, *state)))[1:]

    def _mark(self, b: Builder, at: Atom, stop: Atom, row: Atom) -> Atom:
        """Mark a chunk, going on from the row of the element before it; its last element's row."""
        self._clear(b)
        b.emit(Store(self.flags, index(0), b.apply("eq", at, index(0))))
        test, turn = b.inner(), b.inner()
        known, last = test.param("row", i64), b.sub(stop, index(1))
        holds = test.close([known], [self.rows.ends_by(test, known, last)])
        known = turn.param("row", i64)
        turn.emit(Store(self.flags, turn.sub(self.rows.end(turn, known), at), TRUE))
        body = turn.close([known], [turn.add(known, index(1))])
        return b.emit(While(holds, body, (row,), through_memory=True))[0]

    def _clear(self, b: Builder) -> None:
        """Nothing is marked."""
        region = b.inner()
        loop = region.inner()
        g = loop.param("g", i64)
        loop.emit(Store(self.flags, loop.emit(Lane(g))[0], FALSE))
        region.emit(For(index(0), index(CHUNK), index(LINE), loop.close([g], []), ()))
        b.emit(Lanes(LINE, region.close([], [])))


def along_head_flags(
    walk: Traversal, found: HeadFlags | None, kernel: KernelBuilder, b: Builder
) -> Traverses:
    """The traversal, along head flags where rows are combined; rows are found if they matter."""
    if found is None:
        return walk
    plain = walk if found.needs_rows else walk.without_rows()
    return WithHeadFlags(plain, rows_of(kernel, found.located), b.emit(Shared(bool_, CHUNK))[0])
