"""Which thread takes which elements, where each takes several.

    12 elements, 4 threads          0   1   2   3
    side by side                    0   1   2   3       threads side by side use neighbours
                                    4   5   6   7
                                    8   9  10  11
    in chunks                       0   3   6   9       a thread has neighbours, in their order
                                    1   4   7  10
                                    2   5   8  11

Memory of the grid is used side by side. What must be combined in order is taken in chunks, and no
chunk goes over the end of a row: its last one is shorter where q does not divide the row.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Act, UnitCode, Values, choose, fold, for_all, loop, when
from flatweave.kernel_ir.hierarchy import THREAD, ForAll
from flatweave.kernel_passes.by_words import copied
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const

WARP = 32

Step = Callable[[Builder, Atom, Atom, Values], Values]
"""step(b, j, i, state): element i, which is number j of its thread, gives the next state."""


@record(eq=True)
class Chunks:
    """`count` elements in rows of `row`, of which a thread takes up to `each`, all of one row."""

    count: int
    row: int
    each: int

    @property
    def rows(self) -> int:
        return self.count // self.row

    @property
    def of_row(self) -> int:
        """Threads, or chunks, for each row."""
        return -(-self.row // self.each)

    @property
    def threads(self) -> int:
        return self.rows * self.of_row

    @property
    def turns(self) -> int:
        """Elements of a thread that has a whole chunk."""
        return min(self.each, self.row)

    def number(self, b: Builder, t: Atom) -> Atom:
        """Which chunk of its row a thread has."""
        return t if self.rows == 1 else b.apply("mod", t, index(self.of_row))

    def chunk(self, b: Builder, t: Atom, init: Values, step: Step) -> Values:
        """The elements of thread t in order, through which a state goes."""
        if self.row % self.turns == 0:
            first = b.mul(t, index(self.turns))
            return _turns(b, self.turns, init, lambda c, j, s: step(c, j, c.add(first, j), s))
        start = b.mul(self.number(b, t), index(self.each))
        first = start
        if self.rows > 1:
            row = b.apply("floordiv", t, index(self.of_row))
            first = b.add(b.mul(row, index(self.row)), start)

        def turn(c: Builder, j: Atom, state: Values) -> Values:
            i = c.add(first, j)
            there = c.apply("lt", c.add(start, j), index(self.row))
            return choose(c, there, lambda d: step(d, j, i, state), lambda d: state)

        return _turns(b, self.turns, init, turn)

    def apart(self, b: Builder, t: Atom, init: Values, step: Step) -> Values:
        """As many elements of thread t's row, as far apart as the row has threads."""
        stride = self.of_row
        at = self.number(b, t)
        first = at
        if self.rows > 1:
            row = b.apply("floordiv", t, index(stride))
            first = b.add(b.mul(row, index(self.row)), at)

        def turn(c: Builder, j: Atom, state: Values) -> Values:
            before = c.mul(j, index(stride))
            i = c.add(first, before)
            if self.row % stride == 0:
                return step(c, j, i, state)
            there = c.apply("lt", c.add(at, before), index(self.row))
            return choose(c, there, lambda d: step(d, j, i, state), lambda d: state)

        return _turns(b, -(-self.row // stride), init, turn)


def _turns(
    b: Builder, turns: int, init: Values, turn: Callable[[Builder, Atom, Values], Values]
) -> Values:
    if turns == 1:
        return turn(b, index(0), init)
    return fold(b, index(0), index(turns), init, turn, "j")


@record(eq=True)
class Around:
    """What each thread does before and behind its elements: begin(b), end(b, t)."""

    begin: Callable[[Builder], None]
    end: Act


NOTHING = Around(lambda b: None, lambda b, t: None)


def turns_of(count: Atom, each: int) -> int:
    """The most elements that a thread takes, side by side with others."""
    if not isinstance(count, Const):
        return each
    return 1 if count.value <= WARP else -(-int(count.value) // _threads(int(count.value), each))


def _threads(count: int, each: int) -> int:
    """Threads for so many elements, in whole warps."""
    return -(-count // (each * WARP)) * WARP


def side_by_side(
    b: Builder, count: Atom, each: int, body: Act, around: Around = NOTHING
) -> None:
    """`body(b, i)` for all i below `count`: threads side by side take neighbours, each up to `each`
    elements, as far apart as there are threads.

    These are whole warps, so that each of their accesses begins where a line of memory does. A tile
    that can be brought in by words stays a loop over its elements, which is divided later.
    """
    few = isinstance(count, Const) and count.value <= WARP
    if few or _is_copy(b, count, body):
        for_all(b, THREAD, count, body)
        return
    warps = b.apply("floordiv", b.add(count, index(each * WARP - 1)), index(each * WARP))
    threads = b.mul(warps, index(WARP))
    turns = turns_of(count, each)

    def thread(c: Builder, t: Atom) -> None:
        around.begin(c)
        if turns == 1:
            body(c, t)
        else:
            loop(c, index(0), index(turns), lambda d, j: turn(d, t, j))
        around.end(c, t)

    def turn(c: Builder, t: Atom, j: Atom) -> None:
        i = c.add(t, c.mul(j, threads))
        if _fills(count, threads, turns):
            body(c, i)
        else:
            when(c, c.apply("lt", i, count), lambda d: body(d, i))

    for_all(b, THREAD, threads, thread)


def _is_copy(b: Builder, count: Atom, body: Act) -> bool:
    """Whether a loop over elements copies a tile of narrow ones, seen in one that nobody keeps."""
    inside = UnitCode(b, THREAD)
    inside.hoists = False
    i = inside.param("i", i64)
    body(inside, i)
    return copied(ForAll(THREAD.word, count, inside.close([i], []))) is not None


def _fills(count: Atom, threads: Atom, each: int) -> bool:
    """Whether it is known that all threads have `each` elements."""
    if not (isinstance(count, Const) and isinstance(threads, Const)):
        return False
    return int(count.value) == int(threads.value) * each
