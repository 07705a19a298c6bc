"""x86-64: registers of 128 bits, streaming stores that a release does not order."""

from __future__ import annotations

from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.text.module import Body


class X86(InstructionSet):
    """What every x86-64 has."""

    name = "x86"
    needs = frozenset({"x86_64"})
    read_ahead = 2048

    def fence_streams(self, body: Body) -> None:
        """sfence"""
        body.declare("void @llvm.x86.sse.sfence() nounwind")
        body.line("call void @llvm.x86.sse.sfence()")
