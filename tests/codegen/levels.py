"""The levels of x86-64 that code is made for, each in force for a test; skipped if not here."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm.isa import InstructionSet, here

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


@contextmanager
def in_force(level: str) -> Iterator[InstructionSet]:
    """The instruction set of a level, with a CPU in force that has it."""
    with config.scoped(cpu=level):
        try:
            isa = here()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        yield isa
