"""AArch64: 32 registers of 128 bits. A release orders streaming stores like any other."""

from __future__ import annotations

from flatweave.codegen.llvm.isa.portable import InstructionSet


class Neon(InstructionSet):
    """Advanced SIMD, which every AArch64 has."""

    name = "neon"
    needs = frozenset({"neon"})
    registers = 32
