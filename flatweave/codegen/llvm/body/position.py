"""Where code runs: regions of lanes, and the numbers of the lane, the warp and the block.

    lanes 16 (() =>           the body once, on vectors of 16; linear values stay scalars
        j: i64 = lane i ..)   i, held as the base of i + <0, 1, 2, ..>
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, REVERSED, UNIFORM, Region, lane_shapes
from flatweave.kernel_ir import syntax as k
from flatweave.terms.syntax import Let


def emit_lanes(e: Emitter, let: Let) -> Sequence[Held]:
    """A region that `width` lanes run."""
    op: k.Lanes = let.op  # type: ignore[assignment]
    region = Region(op.width, e.zeros)
    shapes = lane_shapes(op.body, region) if op.width > 1 else {}
    inner = e.at(op.width, shapes)
    inner.run(op.body)
    return [Held(UNIFORM, inner.uniform(atom)) for atom in op.body.results]


def emit_lane(e: Emitter, let: Let) -> Sequence[Held]:
    """base + the number of this lane, or base minus it."""
    op: k.Lane = let.op  # type: ignore[assignment]
    base = e.uniform(op.base)
    if e.width == 1:
        return (Held(UNIFORM, base),)
    return (Held(REVERSED if op.reverse else LINEAR, base),)


def emit_block_index(e: Emitter, let: Let) -> Sequence[Held]:
    """The number of the block, which the kernel is given."""
    return (Held(UNIFORM, "%block"),)


def emit_warp_index(e: Emitter, let: Let) -> Sequence[Held]:
    """A block has one warp."""
    return (Held(UNIFORM, "0"),)


def emit_sync(e: Emitter, let: Let) -> Sequence[Held]:
    """A block has one warp: there is nobody to wait for."""
    return ()


def emit_backoff(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_backoff"""
    op: k.Backoff = let.op  # type: ignore[assignment]
    e.code.declare("void @fw_backoff(i64) nounwind")
    e.code.line(f"call void @fw_backoff(i64 {e.uniform(op.attempt)})")
    return ()


HANDLERS: Handlers = {
    k.Lanes: emit_lanes,
    k.Lane: emit_lane,
    k.BlockIndex: emit_block_index,
    k.WarpIndex: emit_warp_index,
    k.Sync: emit_sync,
    k.Backoff: emit_backoff,
}
