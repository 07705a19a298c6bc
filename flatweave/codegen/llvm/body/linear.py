"""Whether a linear value equals a uniform one: at most one lane, found by its number.

    base + lane == x     lane x - base, if there is such a lane

As vectors they would take a register of 64-bit numbers for every eight lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, UNIFORM


def is_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> bool:
    """Whether a function of these values is a comparison of this kind."""
    shapes = {h.shape for h in held}
    return fn in ("eq", "ne") and shapes == {LINEAR, UNIFORM} and e.isa.finds_lanes(e.width)


def emit_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> str:
    """The mask of the lanes where it holds."""
    linear, uniform = sorted(held, key=lambda h: h.shape is UNIFORM)
    lane = e.code.let(f"sub i64 {uniform.text}, {linear.text}")
    mask = e.isa.one_lane(e.code, e.width, lane)
    return e.negated(mask) if fn == "ne" else mask
