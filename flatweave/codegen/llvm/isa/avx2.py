"""x86-64 with AVX2: registers of 256 bits, and gathers of words of 32 and 64 bits."""

from __future__ import annotations

from flatweave.base.dtypes import DType, i32
from flatweave.codegen.llvm.isa.sse4 import Sse4


class Avx2(Sse4):
    """AVX2 and FMA."""

    name = "avx2"
    needs = frozenset({"avx2"})
    register_bits = 256
    libmvec_letters: tuple[tuple[str, int], ...] = (("d", 256),)

    def gathers_in_words(self, kept: DType, *, masked: bool) -> bool:
        """Under a mask, since LLVM asks every lane of smaller ones in turn whether it runs."""
        return masked and kept.bits < i32.bits
