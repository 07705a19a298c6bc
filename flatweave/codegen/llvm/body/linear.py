"""Whether a linear value equals a uniform one: at most one lane, found in general registers.

    base + lane == x     bit x - base of a word, if there is such a lane

As vectors they would take a register of 64-bit numbers for every eight lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, UNIFORM
from flatweave.codegen.llvm.text.vectors import mask_of_word


def is_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> bool:
    """Whether a function of these values is a comparison of this kind."""
    shapes = {h.shape for h in held}
    return fn in ("eq", "ne") and shapes == {LINEAR, UNIFORM} and e.isa.compares_in_words(e.width)


def emit_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> str:
    """The mask of the lanes where it holds."""
    linear, uniform = sorted(held, key=lambda h: h.shape is UNIFORM)
    lane = e.code.let(f"sub i64 {uniform.text}, {linear.text}")
    there = e.code.let(f"icmp ult i64 {lane}, {e.width}")
    bit = e.code.let(f"shl i64 1, {e.code.let(f'and i64 {lane}, 63')}")
    word = e.code.let(f"select i1 {there}, i64 {bit}, i64 0")
    if fn == "ne":
        word = e.code.let(f"xor i64 {word}, -1")
    return mask_of_word(e.code, e.width, word)
