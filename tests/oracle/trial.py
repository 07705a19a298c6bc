"""What one random program goes through, and what became of it."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from random import Random

import pytest

from tests.oracle.check import THREADS, Run, bits_differ, first_failure, runs_of
from tests.oracle.program import source_of
from tests.oracle.report import report
from tests.oracle.shrink import smallest
from tests.oracle.vocabulary import random_program

ON_PTX = bool(os.environ.get("TEST_PTX"))
if ON_PTX:  # as in `conftest.py`
    importlib.import_module("tests.ptx.driver").install(os.environ["TEST_PTX"])

SECONDS = 90.0  # of one program
SHRINKING = 240.0


@dataclass(frozen=True)
class Outcome:
    """What became of one program: "" where all is well, else a report."""

    seed: int
    said: str
    operations: tuple[str, ...] = ()
    schedule: tuple[tuple[str, str], ...] = ()
    calls: int = 0


@dataclass(frozen=True)
class Wanted:
    """What each program goes through."""

    length: int
    sizes: int
    huge: float
    eager: float
    bits: int  # runs that must give the same bits; 0 to compare with NumPy
    target: str = "cpu"

    @property
    def seconds(self) -> float:
        """How long one program may take before it counts as lost."""
        return SECONDS + (float(self.bits) if self.bits else SHRINKING)


def tried(seed: int, wanted: Wanted) -> Outcome:
    """One program, in all its calls."""
    program = random_program(seed, wanted.length, exact=not wanted.bits)
    operations = tuple(step.operation for step in program.steps)
    if wanted.bits:
        random = Random(seed)
        run = Run(random.choice([10_007, 100_003, 100_003]), 130, seed)
        threads = [random.choice(THREADS) for _ in range(wanted.bits)]
        different = bits_differ(program, run, threads)
        said = f"{different} different results\n{source_of(program)}" if different != 1 else ""
        return Outcome(seed, said, operations, program.schedule, wanted.bits)
    calls = runs_of(seed, wanted.sizes, wanted.huge, wanted.eager, wanted.target)
    if ON_PTX:  # launches that the interpreter has room for
        calls = [call for call in calls if call.n <= 300 and call.way == wanted.target]
    try:
        failure = first_failure(program, calls)
    except pytest.skip.Exception:  # a launch with more threads than that
        return Outcome(seed, "", operations, program.schedule)
    said = "" if failure is None else report(smallest(failure), seed)
    return Outcome(seed, said, operations, program.schedule, len(calls))
