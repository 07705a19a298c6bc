"""x86-64 with AVX2: registers of 256 bits, and gathers of words of 32 and 64 bits.

    compress    vpermd by the numbers of the words kept, eight bytes of a table of 256, widened
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, i32, u8, u32
from flatweave.codegen.llvm.isa import byte_tables
from flatweave.codegen.llvm.isa.sse4 import Sse4
from flatweave.codegen.llvm.text.module import Body, vec
from flatweave.codegen.llvm.text.vectors import padded, shuffle

_WORDS = 8
"""Words of 32 bits in a register."""


class Avx2(Sse4):
    """AVX2 and FMA."""

    name = "avx2"
    needs = frozenset({"avx2"})
    register_bits = 256
    libmvec_letters: tuple[tuple[str, int], ...] = (("d", 256),)

    def gathers_in_words(self, kept: DType, *, masked: bool) -> bool:
        """Under a mask, since LLVM asks every lane of smaller ones in turn whether it runs."""
        return masked and kept.bits < i32.bits

    # -- compress ---------------------------------------------------------------------------------

    def compress_lanes(self, kept: DType) -> int:
        """One register of words; smaller elements as SSE4 has them."""
        if kept.bits < i32.bits:
            return super().compress_lanes(kept)
        return self.register_bits // kept.bits

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """vpermd of one register, or a part of one."""
        if kept.bits < i32.bits:
            return super().compress(body, kept, lanes, text, mask)
        parts, kind = kept.bits // u32.bits, vec(u32, _WORDS)
        there = lanes * parts
        text = body.let(f"bitcast {vec(kept, lanes)} {text} to {vec(u32, there)}")
        if there < _WORDS:
            text = padded(body, vec(u32, there), text, there, _WORDS)
        order = byte_tables.entry(body, _WORDS // parts, parts, mask, lanes)
        wide = body.let(f"zext {vec(u8, _WORDS)} {order} to {kind}")
        name = "@llvm.x86.avx2.permd"
        body.declare(f"{kind} {name}({kind}, {kind})")
        text = body.let(f"call {kind} {name}({kind} {text}, {kind} {wide})")
        if there < _WORDS:
            text = shuffle(body, kind, text, range(there))
        return body.let(f"bitcast {vec(u32, there)} {text} to {vec(kept, lanes)}")
