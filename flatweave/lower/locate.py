"""Which row each position belongs to, by search and by walking along the rows.

    search                  the number of ends at or before p: a binary search whose turns are the
                            same for every position, so that all lanes go on together
    walk                    row by row from the row before a step: the ends that fall into a step
                            become bits of a mask, and a lane's row follows from the bits below it

    ends 2 5 6 7, a step of 8 lanes at 0:     mask  bit 2, 5, 6, 7
    lane 5: bits up to it 2, 5                row = 0 + 2, which begins at 0 + 5
"""

from __future__ import annotations

from dataclasses import dataclass

from flatweave.base.dtypes import i64, u64
from flatweave.kernel_ir.syntax import Load
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Var, constant

State = tuple[Atom, ...]
ONE_BIT = constant(1, u64)
TWO_BITS = constant(2, u64)
NO_BITS = constant(0, u64)


@dataclass(frozen=True, eq=False)
class Rows:
    """Where rows end, inside a kernel or on the host: row i at `ends[skip + i]`."""

    ends: Var
    skip: int
    count: Atom

    def end(self, b: Builder, row: Atom) -> Atom:
        """Where a row ends."""
        return b.emit(Load(self.ends, b.add(row, index(self.skip))))[0]

    def start(self, b: Builder, row: Atom) -> Atom:
        """Where a row begins; `row` may be one behind the last."""
        if self.skip:
            return b.emit(Load(self.ends, row))[0]
        before = b.apply("maximum", b.sub(row, index(1)), index(0))
        end = b.emit(Load(self.ends, before))[0]
        return b.apply("select", b.apply("eq", row, index(0)), index(0), end)

    # -- search -----------------------------------------------------------------------------------

    def search(self, b: Builder, position: Atom) -> State:
        """The row of a position and where it begins; of -1 the first row, empty or not."""
        return self._search(b, position, index(0), index(0), self.count)

    def _search(
        self, b: Builder, position: Atom, first: Atom, start: Atom, count: Atom
    ) -> State:
        """Among `count` rows from `first`, which begins at `start`."""
        turns = b.sub(index(64), b.apply("clz", count))
        inside = b.inner()
        t, row, begin = (inside.param(hint, i64) for hint in ("t", "row", "start"))
        step = inside.apply("shl", index(1), inside.sub(inside.sub(turns, index(1)), t))
        tried = inside.add(row, step)
        there = inside.apply("le", tried, count)
        last = inside.sub(inside.add(first, inside.apply("minimum", tried, count)), index(1))
        end = self.end(inside, last)
        before = inside.apply("and", there, inside.apply("le", end, position))
        select = [inside.apply("select", before, tried, row),
                  inside.apply("select", before, end, begin)]  # fmt: skip
        body = inside.close([t, row, begin], select)
        row, begin = b.emit(For(index(0), turns, index(1), body, (index(0), start)))
        return b.add(first, row), begin

    # -- walk -------------------------------------------------------------------------------------

    def enter(self, b: Builder, lo: Atom) -> State:
        """The state before a step at `lo`: the row of the position before it."""
        return self.search(b, b.sub(lo, index(1)))

    def one(self, b: Builder, position: Atom, state: State) -> State:
        """The state behind one position: its row, and where that begins."""
        test, turn = b.inner(), b.inner()
        row, start = (test.param(hint, i64) for hint in ("row", "start"))
        holds = test.close([row, start], [self._ends_by(test, row, position)])
        row, start = (turn.param(hint, i64) for hint in ("row", "start"))
        body = turn.close([row, start], [turn.add(row, index(1)), self.end(turn, row)])
        return b.emit(While(holds, body, state))

    def _ends_by(self, b: Builder, row: Atom, position: Atom) -> Atom:
        """Whether a row ends at or before a position; never the last one."""
        last = b.apply("lt", row, b.sub(self.count, index(1)))
        return b.apply("and", last, b.apply("le", self.end(b, row), position))

    def step(
        self, b: Builder, base: Atom, flat: Atom, last: Atom, state: State
    ) -> tuple[State, State]:
        """The rows of a step's lanes at `flat` from `base` to `last`, and the state behind them."""
        row, start = state
        after, mask = self._ends_in(b, base, last, row)
        lane = b.cast(b.sub(flat, base), u64)
        upto = b.apply("sub", b.apply("shl", TWO_BITS, lane), ONE_BIT)
        below = b.apply("and", mask, upto)
        none = b.apply("eq", below, NO_BITS)
        start_of_lane = b.apply("select", none, start, _highest(b, base, below))
        passed = b.cast(b.apply("popcount", mask), i64)
        simple = b.apply("eq", b.sub(after, row), passed)
        counted, searched = b.inner(), b.inner()
        bits = counted.cast(counted.apply("popcount", below), i64)
        found = self._search(searched, flat, row, start, searched.sub(after, row))[0]
        rows = b.emit(
            If(simple, counted.close([], [counted.add(row, bits)]), searched.close([], [found]))
        )[0]
        ended = b.apply("eq", mask, NO_BITS)
        start = b.apply("select", ended, start, _highest(b, base, mask))
        return (rows, start_of_lane), (after, start)

    def _ends_in(self, b: Builder, base: Atom, last: Atom, row: Atom) -> tuple[Atom, Atom]:
        """The row of position `last`, and a bit for each place from `base` where a row ends."""
        test, turn = b.inner(), b.inner()
        at, mask = test.param("row", i64), test.param("mask", u64)
        holds = test.close([at, mask], [self._ends_by(test, at, last)])
        at, mask = turn.param("row", i64), turn.param("mask", u64)
        bit = turn.apply("shl", ONE_BIT, turn.cast(turn.sub(self.end(turn, at), base), u64))
        body = turn.close([at, mask], [turn.add(at, index(1)), turn.apply("or", mask, bit)])
        found: tuple[Atom, ...] = b.emit(While(holds, body, (row, NO_BITS)))
        return found[0], found[1]


def _highest(b: Builder, base: Atom, mask: Atom) -> Atom:
    """The position of a mask's highest bit."""
    return b.add(base, b.sub(index(63), b.cast(b.apply("clz", mask), i64)))

