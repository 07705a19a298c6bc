"""How warps that each hold values meet, in kernels that are written for a machine's warps.

    store s warp mine; sync                              of_each_warp: an array, one for each warp
    before = for 0 .. warp      (x => op x s[..])        what the warps before this one have
    whole  = for warp .. warps  (x => op x s[..]) before    what all have, the same in every warp

Outside of `for_all`, in code that every warp of the block runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import DType
from flatweave.kernel_ir.arrays import Pull, Values, allocate, dtypes_of, fold, read, when
from flatweave.kernel_ir.syntax import Store, Sync, WarpIndex
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


def of_each_warp(b: Builder, warp: Atom, mine: Values, warps: int) -> Pull:
    """What each warp of the block has, as an array that all of them read."""
    memory = allocate(b, dtypes_of(b, mine), warps)
    for buffer, value in zip(memory, mine, strict=True):
        b.emit(Store(buffer, warp, value))
    b.emit(Sync())
    return read(memory, warps)


def meet(b: Builder, operator: Operator, mine: Values, warps: int) -> tuple[Values, Values]:
    """What the warps before this one have, and what all have, combined in the order of warps."""
    warp = b.emit(WarpIndex())[0]
    held = of_each_warp(b, warp, mine, warps)

    def step(c: Builder, w: Atom, before: Values) -> Values:
        return operator.combine(c, before, held.at(c, w))

    before = fold(b, index(0), warp, operator.neutral, step, hint="w")
    return before, fold(b, warp, index(warps), before, step, hint="w")


def by_first_warp(
    b: Builder, types: Sequence[DType], make: Callable[[Builder], Values]
) -> Values:
    """What the first warp alone computes, given to all warps of the block."""
    memory = allocate(b, types, 1)

    def leave(c: Builder) -> None:
        for buffer, value in zip(memory, make(c), strict=True):
            c.emit(Store(buffer, index(0), value))

    on_first_warp(b, leave)
    b.emit(Sync())
    return read(memory, 1).at(b, index(0))


def on_first_warp(b: Builder, act: Callable[[Builder], None]) -> None:
    """What a block does once: its first warp does it."""
    when(b, b.apply("eq", b.emit(WarpIndex())[0], index(0)), act)
