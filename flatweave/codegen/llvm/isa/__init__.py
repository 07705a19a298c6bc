"""What differs between CPUs: registers, and instructions that only some of them have.

One class for each instruction set, all with the methods of `portable.InstructionSet`; nowhere else
does code ask what a CPU can do. A class that refines another is for CPUs that have more, and is
asked first. `of` chooses one by the features of a CPU, `here` by the CPU in force.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterator

from flatweave.codegen.llvm.isa import aarch64, avx512
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.runtime.processor import processor

__all__ = ["InstructionSet", "here", "of"]

ARCHITECTURES = (avx512, aarch64)
"""The files of all classes: x86's are one for each set, and the last one imports the others."""


def _best_first(each: type[InstructionSet]) -> Iterator[type[InstructionSet]]:
    """All that refine an instruction set, then itself."""
    for finer in each.__subclasses__():
        yield from _best_first(finer)
    yield each


BEST_FIRST = tuple(_best_first(InstructionSet))


def here() -> InstructionSet:
    """That of the CPU that code is made for here and now: this one, or what FLATWEAVE_CPU names."""
    return of(processor().features)


@functools.cache
def of(features: frozenset[str]) -> InstructionSet:
    """The best that a CPU with these features has; names are LLVM's."""
    known = features | {platform.machine().lower()}
    chosen = next(each for each in BEST_FIRST if known >= each.needs)
    return chosen.made_for(features)
