"""How the warps of a block meet: each leaves its values in shared memory, all read them in order.

    w = warp_index                                      one value for each warp, e.g. its sum
    store s w mine; sync
    before = for 0 .. w      (x => fn x s[..])          what the warps before this one have
    total  = for w .. warps  (x => fn x s[..]) before   what all have, the same bits in every warp

A block of one warp has nothing to exchange; callers leave these steps out (`Machine.warps`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.syntax import Load, Shared, Store, Sync, WarpIndex
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, Lambda, Type, Var

Operator = Callable[[Builder, Sequence[Atom]], tuple[Atom, ...]]
Values = tuple[Atom, ...]


def meet(
    b: Builder, warps: int, fn: Operator, neutral: Sequence[Atom], mine: Sequence[Atom]
) -> tuple[Values, Values]:
    """What the warps before this one have, and what all have, combined in the order of warps."""
    warp = b.emit(WarpIndex())[0]
    shared = _shared(b, [atom.type for atom in mine], warps)
    for buffer, value in zip(shared, mine, strict=True):
        b.emit(Store(buffer, warp, value))
    b.emit(Sync())
    before = _fold(b, shared, index(0), warp, tuple(neutral), fn)
    return before, _fold(b, shared, warp, index(warps), before, fn)


def by_first_warp(b: Builder, types: Sequence[Type], make: Callable[[Builder], Values]) -> Values:
    """What the first warp alone computes, given to all warps of the block."""
    shared = _shared(b, types, 1)

    def leave(inside: Builder) -> None:
        for buffer, value in zip(shared, make(inside), strict=True):
            inside.emit(Store(buffer, index(0), value))

    on_first_warp(b, leave)
    b.emit(Sync())
    return tuple(b.emit(Load(buffer, index(0)))[0] for buffer in shared)


def on_first_warp(b: Builder, act: Callable[[Builder], None]) -> None:
    """What a block does once: its first warp does it."""
    first = b.apply("eq", b.emit(WarpIndex())[0], index(0))
    inside = b.inner()
    act(inside)
    b.emit(If(first, inside.close([], []), Lambda((), (), ())))


def _shared(b: Builder, types: Sequence[Type], count: int) -> list[Var]:
    buffers = []
    for type_ in types:
        assert isinstance(type_, DType)
        buffers.append(b.emit(Shared(type_, count))[0])
    return buffers


def _fold(
    b: Builder, shared: Sequence[Var], lo: Atom, hi: Atom, init: Values, fn: Operator
) -> Values:
    inside = b.inner()
    warp = inside.param("w", i64)
    state = [inside.param("s", atom.type) for atom in init]
    values = [inside.emit(Load(buffer, warp))[0] for buffer in shared]
    body = inside.close([warp, *state], fn(inside, [*state, *values]))
    return b.emit(For(lo, hi, index(1), body, init))
