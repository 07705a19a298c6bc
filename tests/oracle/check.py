"""Runs a program in every way that must not matter, and compares with NumPy.

A compiled program serves every length, so that many sizes and numbers of threads cost little; the
reference interpreter, and calls without jit, are tried on few elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.base.config import config
from tests.oracle.compare import difference
from tests.oracle.program import OPERATIONS, Program, arguments, expected, function_of, passed

THREADS = (1, 2, 3, 7)
SMALL = (0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65)
MIDDLE = (100, 127, 128, 129, 255, 257, 511, 513, 1023, 1024, 1025)
LARGE = (2047, 4097, 5000, 10_007, 40_001)
HUGE = (100_003, 300_000, 2**20 + 1)


@dataclass(frozen=True)
class Run:
    """One call: lengths of the arguments, their seed, threads, and how it is made."""

    n: int
    m: int
    seed: int
    threads: int = 1
    way: str = "cpu"  # or another target, or "eager"

    def __str__(self) -> str:
        return f"n={self.n}, m={self.m}, seed={self.seed}, threads={self.threads}, {self.way}"


@dataclass(frozen=True)
class Failure:
    """What went wrong: the program, the call, and how it differs or what was raised."""

    program: Program
    run: Run
    said: str
    kind: str  # "difference", or the class that was raised


def runs_of(
    seed: int, sizes: int, huge: float = 0.0, eager: float = 0.0, target: str = "cpu"
) -> list[Run]:
    """Calls of a program: none, one and few elements, around powers of two, many."""
    random = Random(seed)
    found = [0, 1, *random.sample(SMALL, 2), *random.sample(MIDDLE, 2), random.choice(LARGE)]
    chosen = found if sizes >= len(found) else [0, *random.sample(found[1:], sizes - 1)]
    if random.random() < huge:
        chosen.append(random.choice(HUGE))
    lengths = [(n, random.choice([0, 1, 4, 33, 130])) for n in chosen]
    calls = [
        Run(n, m, random.randrange(10**6), random.choice(THREADS), target) for n, m in lengths
    ]
    few = [call for call in calls if call.n < 200]
    calls += [replace(call, way="interp") for call in few[:3]]
    if random.random() < eager:
        calls.append(replace(random.choice(few), way="eager"))
    return calls


class Prepared:
    """A program with its function, compiled when it is first called."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.function = function_of(program)
        self.jitted = fw.jit(self.function)
        self.schedule = dict(program.schedule)
        self.rounded = self._rounded()

    def _rounded(self) -> list[bool]:
        """Which results are near rather than equal."""
        named = {step.name: OPERATIONS[step.operation].rounded for step in self.program.steps}
        return [named.get(name, False) for name in self.program.results]

    def scope(self) -> AbstractContextManager[None]:
        """The program's forced schedule."""
        return fw.schedule(**self.schedule)

    def call(self, run: Run, given: Sequence[Any]) -> Any:
        """The results of one call; a variant that cannot do it says so, and sizes decide."""
        try:
            return self._called(run, given)
        except fw.ArgumentError:
            if not self.schedule:
                raise
            self.schedule = {}
            return self._called(run, given)

    def _called(self, run: Run, given: Sequence[Any]) -> Any:
        target = "cpu" if run.way == "eager" else run.way
        function: Callable[..., Any] = self.function if run.way == "eager" else self.jitted
        with self.scope(), config.scoped(threads=run.threads, target=target):
            return function(*(passed(argument) for argument in given))

    def failure(self, run: Run) -> Failure | None:
        """What is wrong with one call, if anything."""
        given = arguments(self.program, run.n, run.m, run.seed)
        wanted = expected(self.program, given)
        try:
            found = self.call(run, given)
            said = self._difference(found, wanted)
        except Exception as raised:
            return Failure(self.program, run, f"{type(raised).__name__}: {raised}",
                           type(raised).__name__)  # fmt: skip
        return Failure(self.program, run, said, "difference") if said else None

    def _difference(self, found: Sequence[Any], wanted: Sequence[Any]) -> str:
        for name, a, b, rounded in zip(
            self.program.results, found, wanted, self.rounded, strict=True
        ):
            said = difference(a, b, rounded)
            if said:
                return f"{name}: {said}"
        return ""


def failures(program: Program, calls: Sequence[Run]) -> Iterator[Failure]:
    """Every call that goes wrong."""
    prepared = Prepared(program)
    for run in calls:
        found = prepared.failure(run)
        if found is not None:
            yield found


def first_failure(program: Program, calls: Sequence[Run]) -> Failure | None:
    """The first call that goes wrong."""
    return next(failures(program, calls), None)


def bits_differ(program: Program, run: Run, threads: Sequence[int]) -> int:
    """How many different results as many calls give, bit for bit; 1 where a promise is kept."""
    prepared = Prepared(program)
    given = arguments(program, run.n, run.m, run.seed)
    seen: set[bytes] = set()
    for count in threads:
        found = prepared.call(replace(run, threads=count), given)
        seen.add(bits_of(found))
    return len(seen)


def bits_of(found: Any) -> bytes:
    """All bits of some results."""
    if isinstance(found, tuple | list):
        return b"|".join(bits_of(part) for part in found)
    if hasattr(found, "offsets"):
        return bits_of((found.values, found.offsets))
    return np.asarray(found).tobytes()
