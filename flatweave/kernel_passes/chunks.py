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

import math
from collections.abc import Callable, Collection, Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import record, replace
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import THREAD, Act, ReduceAll, ScanAll, Values, fold, for_all
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, walk_lets, with_bodies, with_lets

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
            return c.choose(there, lambda d: step(d, j, i, state), lambda d: state)

        return _turns(b, self.turns, init, turn)

    def interleaved(self, b: Builder, t: Atom, init: Values, step: Step) -> Values:
        """The same number of elements of thread t's row; their stride is the row's threads."""
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
            return c.choose(there, lambda d: step(d, j, i, state), lambda d: state)

        return _turns(b, -(-self.row // stride), init, turn)


def _turns(
    b: Builder, turns: int, init: Values, turn: Callable[[Builder, Atom, Values], Values]
) -> Values:
    if turns == 1:
        return turn(b, index(0), init)
    return fold(b, index(0), index(turns), init, turn, "j")


def side_by_side(b: Builder, count: Atom, each: int, body: Act) -> None:
    """`body(b, i)` for all i below `count`: adjacent threads take adjacent elements. Each thread
    takes up to `each` elements; their stride is the number of threads.

    The threads are whole warps, so that each access of a warp begins at a line of memory.
    """
    few = isinstance(count, Const) and count.value <= WARP
    if few:
        for_all(b, THREAD, count, body)
        return
    warps = b.apply("floordiv", b.add(count, index(each * WARP - 1)), index(each * WARP))
    threads = b.mul(warps, index(WARP))
    turns = each
    if isinstance(count, Const) and isinstance(threads, Const):
        turns = -(-int(count.value) // int(threads.value))

    def thread(c: Builder, t: Atom) -> None:
        if turns == 1:
            body(c, t)
            return
        with c.loop(index(0), index(turns)) as (d, j):
            turn(d, t, j)

    def turn(c: Builder, t: Atom, j: Atom) -> None:
        i = c.add(t, c.mul(j, threads))
        if _fills(count, threads, turns):
            body(c, i)
            return
        with c.when(c.apply("lt", i, count)) as d:
            body(d, i)

    for_all(b, THREAD, threads, thread)


def _fills(count: Atom, threads: Atom, each: int) -> bool:
    """Whether it is known that all threads have `each` elements."""
    if not (isinstance(count, Const) and isinstance(threads, Const)):
        return False
    return int(count.value) == int(threads.value) * each


# -- Memory that threads use in chunks of q leaves a word out where all banks had one --------------
#
#     lane        0   1   2   3   4   5
#     element     0   8  16  24  32  40       q = 8, elements of a word
#     bank        0   8  16  24   0   8       of 32: lanes 0 and 4 meet
#     index       0   8  16  24  33  41       a word is left out after each 32
#     its bank    0   8  16  24   1   9
#
# Adjacent threads use elements with stride q. Many of these are in one bank where q and the number
# of banks have a common divisor.


ROW_BYTES = 128
"""32 banks of 4 bytes; of elements of 8 bytes, half a warp takes them all."""
WORD_BYTES = 4


def _row(dtype: DType) -> int:
    """Elements that fill all banks once."""
    return ROW_BYTES // dtype.bytes


def _gap(dtype: DType) -> int:
    """Elements of padding after each row: a word of them."""
    return max(1, WORD_BYTES // dtype.bytes)


def is_padded(each: int, dtype: DType) -> bool:
    """Whether adjacent threads that use elements with stride `each` have bank conflicts."""
    return math.gcd(each, _row(dtype)) > _gap(dtype)


def place(b: Builder, i: Atom, dtype: DType) -> Atom:
    """The index of element i in padded memory."""
    row = b.apply("shr", i, index(_row(dtype).bit_length() - 1))
    return b.add(i, b.mul(row, index(_gap(dtype))))


def room(count: int, dtype: DType) -> int:
    """The size of padded memory for `count` elements."""
    return count + (count - 1) // _row(dtype) * _gap(dtype)


def pad_memory(body: Lambda) -> Lambda:
    """Code of a block in which shared memory is padded that reductions and scans use in chunks."""
    wanted = {
        var: let.op.each
        for let in walk_lets(body)
        if isinstance(let.op, ReduceAll | ScanAll)
        for fn in (let.op.element, let.op.body)
        if not uses_grid(fn)
        for var in free_vars(fn)
    }
    padded = {
        let.vars[0] for let in walk_lets(body)
        if isinstance(let.op, Shared) and let.op.count > _row(let.op.dtype)
        and is_padded(wanted.get(let.vars[0], 1), let.op.dtype)
        and _is_indexed(body, let.vars[0])
    }  # fmt: skip
    return _Padder(padded).function(body) if padded else body


def uses_grid(fn: Lambda) -> bool:
    """Whether a function uses memory of the grid."""
    types = [var.type for var in free_vars(fn)]
    return any(isinstance(type_, BufferType) and type_.space == "global" for type_ in types)


def _is_indexed(body: Lambda, var: Var) -> bool:
    """Whether all uses of memory are of single elements."""
    return all(
        isinstance(let.op, Load | Store | Atomic)
        for let in walk_lets(body)
        if var in atoms_in(let.op)
    )


class _Padder:
    """Rewrites code to the padded indices of some memory."""

    def __init__(self, padded: Collection[Var]) -> None:
        self.padded = padded

    def function(self, fn: Lambda) -> Lambda:
        """A body anew."""
        return with_lets(fn, (new for let in fn.lets for new in self._let(let)))

    def _let(self, let: Let) -> Iterator[Let]:
        op = let.op
        if let.vars and let.vars[0] in self.padded:
            assert isinstance(op, Shared)
            yield replace(let, op=op.replace(count=room(op.count, op.dtype)))
        elif isinstance(op, Load | Store | Atomic) and op.buffer in self.padded:
            b = Builder()
            at = place(b, op.index, dtype_in(op.buffer))
            yield from (replace(new, where=let.where) for new in b.lets)
            yield replace(let, op=op.replace(index=at))
        else:
            yield with_bodies(let, self.function)
