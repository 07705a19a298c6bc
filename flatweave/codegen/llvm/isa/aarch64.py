"""AArch64: 32 registers of 128 bits. A release orders streaming stores like any other."""

from __future__ import annotations

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.isa import shared
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.module import Body, suffix, vec


class Neon(InstructionSet):
    """Advanced SIMD, which every AArch64 has."""

    name = "neon"
    needs = frozenset({"neon"})
    registers = 32
    converts_f16 = True

    def compress_lanes(self, kept: DType) -> int:
        """One register, but at most eight lanes."""
        return shared.lanes_of(kept)

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """tbl by a table."""
        name = "@llvm.aarch64.neon.tbl1.v16i8"
        return shared.compress(body, kept, lanes, text, mask, name)

    def extreme(
        self, body: Body, name: str, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """fmin and fmax, which LLVM calls as IEEE 754 does, and so do we."""
        kind, symbol = vec(dtype, width), f"@llvm.{name}.{suffix(dtype, width)}"
        return body.call(kind, symbol, f"{kind} {text}", f"{kind} {other}")
