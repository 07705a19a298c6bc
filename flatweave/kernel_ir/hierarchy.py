"""The levels of a machine, and combining elements by all threads of a block."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir import IN_LANES, LEVEL_NAMES, Action, KernelOp
from flatweave.kernel_ir.syntax import Shared
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Lambda,
    Let,
    Type,
    function_misfits,
    op,
    operator_misfits,
    types_misfit,
    types_of,
)
from flatweave.terms.traverse import walk_lets, with_bodies, with_lets

# The levels of a machine: thread < warp < block < grid; what runs at each, and whose memory it
# is.
#
#     level     what it is                its memory      who waits at a barrier
#     thread    a lane of a warp          local           nobody
#     warp      lanes in lock step        warp_shared     sync level=warp: its threads
#     block     warps with one memory     shared          sync: its warps
#     grid      the blocks of a launch    global          nobody: the next launch comes after all
#
# The code of a kernel is code of a block. `for_all` runs a body once for each of n units of a
# lower level, all of them in parallel: body 0 to body n - 1 in no order, on as many warps or
# threads as there are; one thread may take many of them.
#
#     kernel halves(n: i64, xs: global f32, sums: global f32) =>
#         b: i64 = block_index
#         lo: i64 = mul b 64
#         s: shared f32 = shared f32 64
#         for_all thread 64 (i: i64 =>
#             j: i64 = add lo i
#             x: f32 = load xs j
#             store s i x)
#         sync                                     # what one thread wrote another may read now
#         for_all thread 32 (i: i64 =>
#             ..


class Level(IntEnum):
    """A level of the machine; a lower one is part of a higher one.

    Source: CUDA's hierarchy of threads.

        >>> fk.THREAD < fk.WARP < fk.BLOCK < fk.GRID
        True
    """

    THREAD = 0
    WARP = 1
    BLOCK = 2
    GRID = 3

    @property
    def word(self) -> str:
        """The level as texts say it."""
        return LEVEL_NAMES[self]

    @property
    def space(self) -> str:
        """The memory that a unit of this level has to itself."""
        return SPACES[self]


THREAD, WARP, BLOCK, GRID = Level
SPACES = {THREAD: "local", WARP: "warp_shared", BLOCK: "shared", GRID: "global"}
LEVELS = dict(zip(LEVEL_NAMES, Level, strict=True))


@op
class ForAll(Action):
    """Runs `body(i)` for each i below `count`, in parallel, each by one unit of `level`.

    `each` is the number of consecutive elements of a thread of a block; for 0 the machine decides
    (`kernel_passes/sequentialize.py`).
    """

    level: str
    count: Atom
    body: Lambda
    each: int = 1
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        yield from function_misfits("the body", self.body, (i64,), ())


@op
class Local(KernelOp):
    """Memory of one thread for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = IN_LANES | {"thread"}

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "local"),)


@op
class WarpShared(KernelOp):
    """Memory of one warp for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = frozenset({"warp"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "warp_shared"),)


MEMORY: dict[Level, type[Local] | type[WarpShared] | type[Shared]] = {
    THREAD: Local,
    WARP: WarpShared,
    BLOCK: Shared,
}
"""What makes memory of each level inside a kernel; that of the grid comes from the host."""


# Elements combined by all threads of a block, before it is said which thread takes which.
#
#     reduce_all (add f32) [0.0f32] 1024 1024
#         (i: i64 => .. in x)                     element i
#         (r: i64, sum: f32 => store sums r sum)  what is done with the sum of row r
#         each=4
#
# They are used next to `for_all` in code that is not yet divided among threads.
# `kernel_passes/sequentialize.py` writes what the threads do; no machine, verifier or simulator
# meets one of these.
#
#     try_operator (a: f64, b: f64 => ..) [0.0f64] n 0
#         (i: i64 => .. in x)                     element i
#
# tries the operator of a reduction or scan. A first call of the kernel runs it in the simulator
# (`operator_checks/in_kernels.py`); it is in no code that a machine runs (`without_tries`).
#
#     try_over_blocks (a: f64, b: f64 => ..) [first] block [total]
#
# tries one that combines a value of each block, in the order of the blocks.


@record
class OfAll(Action):
    """Combines `element(i)` for i below `count`, in rows of `row` neighbours, by an associative
    `fn`, whose value of no elements is `neutral`; `body` is what a thread does with a result.

    Each thread takes up to `each` elements; for 0 the machine decides.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    count: int
    row: int
    element: Lambda
    body: Lambda
    each: int = 1
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        types = types_of(self.neutral)
        yield from operator_misfits(self.fn, types)
        yield from function_misfits("the element", self.element, (i64,), types)
        yield from function_misfits("the body", self.body, (i64, *types), ())
        if self.count < 0 or self.row < 1 or self.count % self.row:
            yield f"{self.count} elements are no whole rows of {self.row}"
        if self.each < 0:
            yield f"each thread takes {self.each} elements"


@op
class ReduceAll(OfAll):
    """A thread runs `body(r, value)` for each row r; with `any_order` the operator commutes."""

    any_order: bool = False


@op
class ScanAll(OfAll):
    """A thread runs `body(i, prefix)` for each i; with `exclusive` a prefix ends before its
    element. Where `before` is given, each row goes on from it."""

    exclusive: bool = False
    before: tuple[Atom, ...] = ()

    def misfits(self) -> Iterator[str]:
        yield from OfAll.misfits(self)
        if self.before:
            yield from types_misfit("what stands before", self.before, types_of(self.neutral))


@op
class TryOperator(Action):
    """Tries an associative `fn` on `element(i)` for i below `length`, in rows of `row` neighbours,
    one row for 0. Where `neutral` is given, it must be."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    length: Atom
    row: int
    element: Lambda
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        types = self.element.result_types()
        yield from operator_misfits(self.fn, types)
        yield from function_misfits("the element", self.element, (i64,), types)


@op
class TryOverBlocks(Action):
    """Tries an associative `fn` on what the first blocks of a launch have, `total` in this one,
    after `first`, which is before all of them."""

    fn: Lambda
    first: tuple[Atom, ...]
    block: Atom
    total: tuple[Atom, ...]
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        yield from operator_misfits(self.fn, types_of(self.total))
        yield from operator_misfits(self.fn, types_of(self.first))


TRIES = (TryOperator, TryOverBlocks)


def tries_in(fn: Lambda) -> list[Let]:
    """The lets of a body that try operators."""
    return [let for let in walk_lets(fn) if isinstance(let.op, TRIES)]


def without_tries(fn: Lambda) -> Lambda:
    """A body without them."""
    left = [let for let in fn.lets if not isinstance(let.op, TRIES)]
    return with_lets(fn, [with_bodies(let, without_tries) for let in left])
