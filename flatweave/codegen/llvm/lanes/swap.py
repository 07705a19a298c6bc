"""Lanes exchange their values in pairs: one shuffle.

    y = swap_lanes 1 [x]      %y = shufflevector <4 x i32> %x, .. <i32 1, i32 0, i32 3, i32 2>
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.body.shapes import VARYING
from flatweave.codegen.llvm.text.module import vec
from flatweave.codegen.llvm.text.vectors import shuffle
from flatweave.kernel_ir.swap_lanes import SwapLanes
from flatweave.terms.syntax import Atom, Let


def emit_swap(e: Emitter, let: Let) -> Sequence[Held]:
    """Lane l gets the values of lane l xor the mask."""
    op: SwapLanes = let.op  # type: ignore[assignment]
    lanes = [lane ^ op.mask for lane in range(e.width)]

    def swapped(arg: Atom) -> Held:
        kind = vec(scalar_type(arg.type), e.width)
        return Held(VARYING, shuffle(e.code, kind, e.vector(arg), lanes))

    return [swapped(arg) for arg in op.args]


HANDLERS: Handlers = {
    SwapLanes: emit_swap,
}
