"""The carry_outs that warps leave of segments, joined in order by one warp in one launch.

    share          0     1     2     3          of the grid's warps, in order
    first, last    0 2   2 2   2 2   2 5        the segments open at its two ends
    tail           c     c'    c''   f          the value of the last one, as far as it lies there

    results[2] = ((c fn c') fn c'') fn results[2]              results[5] = f

The segment open before a share that closes any was stored without what lies before the share. The
order is that of the shares, which sizes alone decide.
"""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.collectives import LastLane, ScanLanes, ShiftLanes
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import FALSE, Position, State, while_active
from flatweave.ops import CombineRows, CombineSegments
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Let, Var


@record
class Segmented:
    """The results of segments; for each of `slots` warps those open at both ends, and its tail."""

    results: tuple[Var, ...]
    firsts: Var
    lasts: Var
    carry_outs: tuple[Var, ...]
    slots: Atom


def segmented(
    lowering: Lowering, sink: CombineSegments | CombineRows, room: Atom, blocks: Atom
) -> Segmented:
    """Buffers for up to `room` results, and for what the warps of `blocks` blocks leave."""
    host, slots = lowering.host, lowering.host.mul(blocks, index(lowering.machine.warps))
    results = tuple(lowering.alloc_like(atom, room) for atom in sink.neutral)
    firsts, lasts = (host.emit(Alloc(i64, slots, lowering.site()))[0] for _ in range(2))
    carry_outs = tuple(lowering.alloc_like(atom, slots) for atom in sink.neutral)
    return Segmented(results, firsts, lasts, carry_outs, slots)


def join_carry_outs(
    lowering: Lowering, let: Let, sink: CombineSegments | CombineRows, left: Segmented, total: Atom
) -> None:
    """Launch what completes the results of a sweep over `total` elements."""
    kernel = lowering.kernel(let, "_carry_outs")
    kernel.warps = 1
    _Join(lowering, kernel, sink, left).write(kernel.capture(left.slots))
    lowering.launch(kernel, lowering.host.apply("minimum", total, index(1)), Role.CARRY_OUT)
    for buffer in (left.firsts, left.lasts, *left.carry_outs):
        lowering.host.emit(Free(buffer))


class _Join:
    """The kernel that joins carry_outs; the state of its walk is the value of the open segment."""

    def __init__(
        self, lowering: Lowering, kernel: KernelBuilder, sink: CombineSegments | CombineRows,
        left: Segmented,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.fn = sink.fn
        self.neutral = tuple(kernel.scalar(atom) for atom in sink.neutral)
        self.elements = Elements(kernel, index(0), lowering.checks)
        self.machine = replace(lowering.machine, warps=1)
        self.results = [kernel.buffer(buffer) for buffer in left.results]
        self.firsts, self.lasts = kernel.buffer(left.firsts), kernel.buffer(left.lasts)
        self.carry_outs = [kernel.buffer(buffer) for buffer in left.carry_outs]

    def write(self, slots: Atom) -> None:
        b, width = self.kernel.body, self.machine.fixed_width or 1
        walk = flat(self.machine, slots, width)
        open_ = walk.block(b, index(0), slots, self.neutral, self._step)
        last = b.emit(Load(self.lasts, b.sub(slots, index(1))))[0]
        for buffer, value in zip(self.results, open_, strict=True):
            b.emit(Store(buffer, last, value))

    def _step(self, b: Builder, position: Position, state: State) -> State:
        """Complete what the shares of one step closed first; the value that is open behind them."""
        first, last, *left = (
            b.emit(Load(buffer, position.flat))[0]
            for buffer in (self.firsts, self.lasts, *self.carry_outs)
        )
        carry_outs = while_active(b, left, self.neutral, position)
        any_ = while_active(b, (b.apply("ne", first, last),), (FALSE,), position)[0]
        goes_on = b.apply("not", any_)
        if position.width > 1:
            lane = b.emit(Lane(index(0)))[0]
            goes_on = b.apply("and", goes_on, b.apply("eq", lane, index(0)))
        joined = self.elements.call(b, self.fn, (*state, *carry_outs))
        pairs = zip(joined, carry_outs, strict=True)
        open_: State = tuple(b.apply("select", goes_on, whole, tail) for whole, tail in pairs)
        before = state
        if position.width > 1:
            function = self.elements.function(b, self.fn)
            open_ = b.emit(ScanLanes(function, self.neutral, open_, (any_,)))
            before = b.emit(ShiftLanes(state, open_))
        inside = b.inner()
        pieces = [inside.emit(Load(buffer, first))[0] for buffer in self.results]
        whole = self.elements.call(inside, self.fn, (*before, *pieces))
        for buffer, value in zip(self.results, whole, strict=True):
            inside.emit(Store(buffer, first, value))
        b.emit(If(any_, inside.close([], []), NO_BODY))
        return b.emit(LastLane(open_)) if position.width > 1 else open_
