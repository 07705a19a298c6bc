"""What differs between CPUs: registers, and instructions that only some of them have."""

from flatweave.codegen.llvm.isa.features import of

__all__ = ["of"]
