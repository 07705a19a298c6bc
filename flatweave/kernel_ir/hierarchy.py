"""The levels of a machine: thread < warp < block < grid; what runs at each, and whose memory it is.

    level     what it is                its memory      who waits at a barrier
    thread    a lane of a warp          local           nobody
    warp      lanes in lock step        warp_shared     sync level=warp: its threads
    block     warps with one memory     shared          sync: its warps
    grid      the blocks of a launch    global          nobody: the next launch comes after all

The code of a kernel is code of a block. `for_all` runs a body once for each of n units of a lower
level, all of them in parallel: body 0 to body n - 1 in no order, on as many warps or threads as
there are; one thread may take many of them.

    kernel halves(n: i64, xs: global f32, sums: global f32) =>
        b: i64 = block_index
        lo: i64 = mul b 64
        s: shared f32 = shared f32 64
        for_all thread 64 (i: i64 =>
            j: i64 = add lo i
            x: f32 = load xs j
            store s i x)
        sync                                     # what one thread wrote another may read now
        for_all thread 32 (i: i64 =>
            ..
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.op import IN_LANES, LEVEL_NAMES, KernelOp, count_misfits, level_misfits
from flatweave.kernel_ir.syntax import Shared
from flatweave.terms.rules import function_misfits, index_misfits
from flatweave.terms.syntax import Atom, BufferType, Lambda, Type, op


class Level(IntEnum):
    """A level of the machine; a lower one is part of a higher one."""

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
class ForAll(KernelOp):
    """Runs `body(i)` for each i below `count`, in parallel, each by one unit of `level`.

    `each` says how many a thread of a block is to take, one after the other, 0 for as many as suit
    the machine (`kernel_passes/sequentialize.py`).
    """

    level: str
    count: Atom
    body: Lambda
    each: int = 1
    effect: ClassVar[bool] = True
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        yield from level_misfits(self.level)
        yield from index_misfits("the count", (self.count,))
        yield from function_misfits("the body", self.body, (i64,), ())


@op
class Local(KernelOp):
    """Memory of one thread for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = IN_LANES | {"thread"}

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "local"),)

    def misfits(self) -> Iterator[str]:
        return count_misfits(self.count)


@op
class WarpShared(KernelOp):
    """Memory of one warp for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = frozenset({"warp"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "warp_shared"),)

    def misfits(self) -> Iterator[str]:
        return count_misfits(self.count)


MEMORY: dict[Level, type[Local] | type[WarpShared] | type[Shared]] = {
    THREAD: Local,
    WARP: WarpShared,
    BLOCK: Shared,
}
"""What makes memory of each level inside a kernel; that of the grid comes from the host."""
