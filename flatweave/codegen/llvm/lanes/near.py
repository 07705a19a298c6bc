"""LoadNear and SelectZero: few elements spread over many lanes by permutes instead of gathers.

    load_near xs base offset span     span < W:  one load of xs[base .. base + span]
                                                 and a permute of registers by the offsets
                                      else:      a gather
    select_zero mask                  in lane l the position of zero number l of the mask

What the instruction set offers for both is in isa/.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import UNIFORM, VARYING
from flatweave.codegen.llvm.memory.access import (
    element,
    element_dtype,
    from_memory,
    gather,
    load_scalar,
    stored,
)
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.collectives import SelectZero
from flatweave.kernel_ir.syntax import LoadNear
from flatweave.terms.syntax import Let

# -- load_near ------------------------------------------------------------------------------------


def emit_near(e: Emitter, let: Let) -> Sequence[Held]:
    """buffer[base + offset]"""
    op: LoadNear = let.op  # type: ignore[assignment]
    dtype, buffer = element_dtype(op.buffer), e.held[op.buffer].text
    base, offset = e.uniform(op.base), e.hold(op.offset)
    if offset.shape is UNIFORM:
        at = e.code.let(f"add i64 {base}, {offset.text}")
        return (Held(UNIFORM, load_scalar(e, buffer, dtype, at)),)
    kept, offsets = stored(dtype), e.vector(op.offset)
    if not e.isa.permutes(kept, e.width):
        text = _gathered(e, buffer, kept, base, offsets)
    else:
        text = _near_or_far(e, buffer, kept, base, offsets, e.uniform(op.span))
    return (Held(VARYING, from_memory(e, dtype, e.width, text)),)


def _gathered(e: Emitter, buffer: str, kept: DType, base: str, offsets: str) -> str:
    kind = vec(i64, e.width)
    first = e.splat(base, i64)
    return gather(e, buffer, kept, Held(VARYING, e.code.let(f"add {kind} {first}, {offsets}")))


def _near_or_far(
    e: Emitter, buffer: str, kept: DType, base: str, offsets: str, span: str
) -> str:
    """A permute where the elements fill at most as many lanes as there are."""
    code = e.code
    near, far, done = code.names("near", "far", "done")
    code.branch(code.let(f"icmp ult i64 {span}, {e.width}"), near, far)
    code.label(near)
    here = e.inside()
    window = _window(here, buffer, kept, base, span)
    permuted = e.isa.permute(code, kept, e.width, window, offsets)
    from_near = code.block
    code.jump(done)
    code.label(far)
    gathered = _gathered(e.inside(), buffer, kept, base, offsets)
    from_far = code.block
    code.jump(done)
    code.label(done)
    return code.phi(vec(kept, e.width), [(permuted, from_near), (gathered, from_far)])


def _window(e: Emitter, buffer: str, kept: DType, base: str, span: str) -> str:
    """The elements from base to base + span, and nothing behind them."""
    code, width, kind = e.code, e.width, vec(kept, e.width)
    lanes = ", ".join(f"i64 {lane}" for lane in range(width))
    there = code.let(f"icmp ule {vec(i64, width)} <{lanes}>, {e.splat(span, i64)}")
    name = f"@llvm.masked.load.v{width}i{kept.bits}.p0"
    plain = f"<{width} x i{kept.bits}>"
    code.declare(f"{plain} {name}(ptr, i32, <{width} x i1>, {plain})")
    at = element(e, buffer, kept, base)
    text = code.let(
        f"call {plain} {name}(ptr {at}, i32 {kept.bytes}, <{width} x i1> {there}, "
        f"{plain} zeroinitializer)"
    )
    return text if kind == plain else code.let(f"bitcast {plain} {text} to {kind}")


# -- select_zero ----------------------------------------------------------------------------------


def emit_select_zero(e: Emitter, let: Let) -> Sequence[Held]:
    """The places of the zeros of a mask, one for each lane."""
    op: SelectZero = let.op  # type: ignore[assignment]
    zeros = e.code.let(f"xor i64 {e.uniform(op.mask)}, -1")
    return (Held(VARYING, e.isa.select_zeros(e.code, e.width, zeros)),)


HANDLERS: Handlers = {
    SelectZero: emit_select_zero,
    LoadNear: emit_near,
}
