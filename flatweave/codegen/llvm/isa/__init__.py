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
from flatweave.codegen.llvm.isa.libmvec import host_libmvec
from flatweave.codegen.llvm.isa.neon import Neon
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.isa.sse4 import Sse4
from flatweave.runtime.processor import processor

__all__ = ["InstructionSet", "here", "of"]

_X86 = ("x86_64", "amd64")
_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl")


def here() -> InstructionSet:
    """That of the CPU that code is made for here and now: this one, or what FLATWEAVE_CPU names."""
    return of(processor().features)


@functools.cache
def of(features: frozenset[str]) -> InstructionSet:
    """The best that a CPU with these features has; names are LLVM's."""
    if features.issuperset(_AVX512):
        found = host_libmvec(Avx512.libmvec_letters)
        return Avx512(found, has_vbmi2="avx512vbmi2" in features)
    if "avx2" in features:
        return Avx2(host_libmvec(Avx2.libmvec_letters))
    if "neon" in features:
        return Neon()
    return Sse4() if platform.machine().lower() in _X86 else InstructionSet()
