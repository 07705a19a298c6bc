"""What differs between CPUs: registers, and instructions that only some of them have.

One class for each instruction set, all with the methods of `portable.InstructionSet`; nowhere else
does code ask what a CPU can do. `of` chooses one by the features of a CPU, `here` by the CPU in
force.
"""

from __future__ import annotations

import functools
import platform

from flatweave.codegen.llvm.isa.avx2 import Avx2
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.isa.neon import Neon
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.isa.sse4 import Sse4
from flatweave.codegen.llvm.isa.x86 import X86
from flatweave.runtime.processor import processor

__all__ = ["InstructionSet", "here", "of"]

BEST_FIRST: tuple[type[InstructionSet], ...] = (Avx512, Avx2, Neon, Sse4, X86, InstructionSet)


def here() -> InstructionSet:
    """That of the CPU that code is made for here and now: this one, or what FLATWEAVE_CPU names."""
    return of(processor().features)


@functools.cache
def of(features: frozenset[str]) -> InstructionSet:
    """The best that a CPU with these features has; names are LLVM's."""
    known = features | {platform.machine().lower()}
    chosen = next(each for each in BEST_FIRST if known >= each.needs)
    return chosen.made_for(features)
