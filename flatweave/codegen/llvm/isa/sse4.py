"""x86-64 with SSE4.2: bytes of a register in any order, and bits counted."""

from __future__ import annotations

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.isa import byte_tables
from flatweave.codegen.llvm.isa.x86 import X86
from flatweave.codegen.llvm.text.module import Body


class Sse4(X86):
    """SSE4.2, and with it SSSE3 and popcnt."""

    name = "sse4"
    needs = frozenset({"x86_64", "ssse3", "popcnt"})
    converts_64 = False

    def compress_lanes(self, kept: DType) -> int:
        """One register, but at most eight lanes."""
        return byte_tables.lanes_of(kept)

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """pshufb by a table."""
        name = "@llvm.x86.ssse3.pshuf.b.128"
        return byte_tables.compress(body, kept, lanes, text, mask, name)
