"""Which row each position belongs to, by search and by walking along the rows.

    search                  the number of ends at or before p: a binary search with the same number
                            of iterations for every position, so that lanes do not diverge
    walk                    row by row from the row before a step: each position of the step becomes
                            a bit 0 of a mask, each end of a row a bit 1 before it (Elias and Fano's
                            code); before bit 0 number l is a bit 1 for each row that ends before l

    ends 2 5 5 7, a step of 8 lanes at 0:     mask  0 0 1 0 0 0 1 1 0 0 1 0
    lane 5: zero number 5 is at bit 8         row 8 - 5 = 3, which begins at 5
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Call, Lane, Load
from flatweave.kernel_ir.warp_ops import InSet, SelectZero
from flatweave.lower.machine import ROW_LANES
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var, constant

State = tuple[Atom, ...]
ONE_BIT = constant(1, u64)
NO_BITS = constant(0, u64)


@record
class Near:
    """A row of each lane as an offset of at most `span` from one that all share."""

    first: Atom
    offset: Atom
    span: Atom


@record
class RowOf:
    """The row of each position, and where it begins; `near` where rows are close together."""

    row: Atom
    start: Atom
    near: Near | None = None
    first: Atom | None = None
    """Whether a position is the first of its row, which is cheaper than where the row begins."""
    last: Atom | None = None
    """The row of the step's last position."""


@record
class Rows:
    """Where rows end, inside a kernel or on the host: row i at `ends[skip + i]`."""

    ends: Var
    skip: int
    count: Atom

    def end(self, b: Builder, row: Atom) -> Atom:
        """Where a row ends."""
        return b.emit(Load(self.ends, b.add(row, index(self.skip))))[0]

    def start(self, b: Builder, row: Atom) -> Atom:
        """Where a row begins; `row` may be one past the last."""
        if self.skip:
            return b.emit(Load(self.ends, row))[0]
        before = b.apply("maximum", b.sub(row, index(1)), index(0))
        end = b.emit(Load(self.ends, before))[0]
        return b.apply("select", b.apply("eq", row, index(0)), index(0), end)

    # -- search -----------------------------------------------------------------------------------

    def search(self, b: Builder, position: Atom) -> State:
        """The row of a position and where it begins; of -1 the first row, empty or not."""
        return self._search(b, position, index(0), index(0), self.count)

    def search_once(self, b: Builder, position: Atom) -> State:
        """The same of one position of a block, by a function that all such searches call."""
        inside = b.inner()
        inside.hoists = False  # the function sees that its loop is short
        at = inside.param("p", i64)
        return b.emit(Call(inside.close([at], self.search(inside, at)), (position,)))

    def between(self, b: Builder, lo: Atom, hi: Atom) -> tuple[Atom, Atom]:
        """The first row of the positions from lo to hi, and the row after the last."""
        first = self.search_once(b, lo)[0]
        behind = b.add(self.search_once(b, b.sub(hi, index(1)))[0], index(1))
        return first, b.apply("select", b.apply("lt", lo, hi), behind, first)

    def _search(
        self, b: Builder, position: Atom, first: Atom, start: Atom, count: Atom
    ) -> State:
        """Among `count` rows from `first`, which begins at `start`."""
        return self.search_among(b, position, first, start, count, count)

    def search_among(
        self, b: Builder, position: Atom, first: Atom, start: Atom, count: Atom, most: Atom
    ) -> State:
        """The same where each lane has separate rows, no more than `most` of them."""
        turns = b.sub(index(64), b.apply("clz", most))
        init = index(0), start
        inside, t, (row, begin) = b.iteration("t", init)
        step = inside.apply("shl", index(1), inside.sub(inside.sub(turns, index(1)), t))
        tried = inside.add(row, step)
        there = inside.apply("le", tried, count)
        last = inside.sub(inside.add(first, inside.apply("minimum", tried, count)), index(1))
        end = self.end(inside, last)
        before = inside.apply("and", there, inside.apply("le", end, position))
        select = [inside.apply("select", before, tried, row),
                  inside.apply("select", before, end, begin)]  # fmt: skip
        row, begin = inside.close_loop(index(0), turns, init, select)
        return b.add(first, row), begin

    # -- walk -------------------------------------------------------------------------------------

    def enter(self, b: Builder, lo: Atom) -> State:
        """The state before a step at `lo`: the row of the position before it."""
        return self.search_once(b, b.sub(lo, index(1)))

    def one(self, b: Builder, position: Atom, state: State) -> State:
        """The state after one position: its row, and where that begins."""

        def following(c: Builder, known: State) -> State:
            return c.add(known[0], index(1)), self.end(c, known[0])

        return self.walk(b, state, position, following, "row start")

    def walk(
        self, b: Builder, state: State, position: Atom, step: Callable[[Builder, State], State],
        hints: str,
    ) -> State:  # fmt: skip
        """The state, a row first, after the rows that end at or before a position; never after the
        last one."""

        def ends_by(c: Builder, known: State) -> Atom:
            last = c.apply("lt", known[0], c.sub(self.count, index(1)))
            return c.apply("and", last, c.apply("le", self.end(c, known[0]), position))

        return b.repeat(state, ends_by, step, hints, through_memory=True)

    def step(
        self, b: Builder, base: Atom, flat: Atom, last: Atom, state: State
    ) -> tuple[RowOf, State]:
        """The rows of the lanes at `flat`, from `base` to `last`, and the state after them."""
        row, start = state
        after, mask, ends = self._ends_in(b, base, last, row)
        passed = b.sub(after, row)
        few = b.apply("le", passed, index(ROW_LANES))

        def by_search(c: Builder) -> State:
            found, begin = self._search(c, flat, row, start, passed)
            return c.sub(found, row), begin, self._search(c, last, row, start, passed)[1]

        offset, begin, behind = b.choose(
            few, lambda c: _count(c, base, mask, passed, start), by_search
        )
        near = Near(row, offset, passed)
        none = b.cast(b.apply("eq", base, index(0)), u64)  # before position 0 none ends
        first = b.emit(InSet(b.apply("or", ends, none)))[0]
        return RowOf(b.add(row, offset), begin, near, first, after), (after, behind)

    def _ends_in(
        self, b: Builder, base: Atom, last: Atom, row: Atom
    ) -> tuple[Atom, Atom, Atom]:
        """The row of position `last`; for each position from `base` a bit 0, before it a bit 1 for
        each row that ends there; and the positions where rows end, as bits."""

        def note(c: Builder, known: State) -> State:
            at, *masks = known
            place = c.sub(self.end(c, at), base)
            code = c.cast(c.add(place, c.sub(at, row)), u64)
            bits = [c.apply("shl", ONE_BIT, where) for where in (code, c.cast(place, u64))]
            after = [c.apply("or", mask, bit) for mask, bit in zip(masks, bits, strict=True)]
            return c.add(at, index(1)), *after

        after, mask, ends = self.walk(b, (row, NO_BITS, NO_BITS), last, note, "row mask ends")
        return after, mask, ends


def _count(
    b: Builder, base: Atom, mask: Atom, passed: Atom, start: Atom
) -> tuple[Atom, Atom, Atom]:
    """Each lane's row, counted from the first; where it begins; and where the last row begins."""
    place = b.emit(SelectZero(mask))[0]
    offset = b.sub(place, b.emit(Lane(index(0)))[0])
    upto = b.apply("sub", b.apply("shl", ONE_BIT, b.cast(place, u64)), ONE_BIT)
    below = b.apply("and", mask, upto)
    first = b.apply("eq", offset, index(0))
    begin = b.apply("select", first, start, _latest(b, base, below, offset))
    none = b.apply("eq", passed, index(0))
    return offset, begin, b.apply("select", none, start, _latest(b, base, mask, passed))


def _latest(b: Builder, base: Atom, mask: Atom, ends: Atom) -> Atom:
    """The position of a mask's highest bit, which is the last of `ends` ends of rows."""
    place = b.sub(index(63), b.cast(b.apply("clz", mask), i64))
    return b.add(base, b.sub(place, b.sub(ends, index(1))))


# -- Numbers in an order without pattern, each of them once: i -> i * prime mod count --------------
#
# Neighbours move far from each other, as the prime is near 2^32 over the golden ratio. So one warp
# does not take several adjacent sources at once that are long or write to the same indices.


PRIMES = index(2654435761), index(2246822519)
"""No number of sources that there is memory for is a multiple of both."""
MOST = index(1 << 31)
"""Beyond, a product might not fit; numbers stay as they are."""


def mixed(b: Builder, number: Atom, count: Atom) -> Atom:
    """The image of `number`, which is below `count`, in this order."""
    some = b.apply("maximum", count, index(1))
    divides = b.apply("eq", b.apply("mod", some, PRIMES[0]), index(0))
    prime = b.apply("select", divides, PRIMES[1], PRIMES[0])
    found = b.apply("mod", b.mul(number, prime), some)
    return b.apply("select", b.apply("gt", count, MOST), number, found)


# -- Blocks of whole sources: how many there are, and where the results of each begin and end ------


def share_of(
    sources: int, b: Builder, rows: Rows, total: Atom, block: Atom, blocks: Atom, *,
    mix: bool = False,
) -> tuple[Atom, Atom]:  # fmt: skip
    """Where the results of this block's `sources` begin and end, as `blocks` divide them.

    With `mix`, blocks take them in an order without pattern.
    A sweep over `total` positions may end before its rows do: it is a cut of an expansion.
    """
    count = groups(b, rows.count, sources)
    block = mixed(b, block, blocks) if mix else block
    bounds = []
    for number in (block, b.add(block, index(1))):
        first = b.mul(b.apply("floordiv", b.mul(number, count), blocks), index(sources))
        start = rows.start(b, b.apply("minimum", first, rows.count))
        bounds.append(b.apply("minimum", start, total))
    return bounds[0], bounds[1]


def groups(b: Builder, rows: Atom, size: int) -> Atom:
    """How many groups of `size` sources there are."""
    return b.apply("floordiv", b.add(rows, index(size - 1)), index(size))
