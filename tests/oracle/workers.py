"""Programs in processes of their own: a crash or an endless loop is one program's failure."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from random import Random

from tests.oracle.check import THREADS, Run, bits_differ, first_failure, runs_of
from tests.oracle.program import source_of
from tests.oracle.report import report
from tests.oracle.shrink import smallest
from tests.oracle.vocabulary import random_program

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

    @property
    def seconds(self) -> float:
        """How long one program may take before it counts as lost."""
        return SECONDS + (float(self.bits) if self.bits else SHRINKING)


# -- one program -----------------------------------------------------------------------------------


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
    calls = runs_of(seed, wanted.sizes, wanted.huge, wanted.eager)
    failure = first_failure(program, calls)
    said = "" if failure is None else report(smallest(failure), seed)
    return Outcome(seed, said, operations, program.schedule, len(calls))


def serve(connection: Connection, wanted: Wanted) -> None:
    """A process that takes seeds and gives outcomes."""
    while True:
        seed = connection.recv()
        try:
            outcome = tried(seed, wanted)
        except Exception as raised:
            outcome = Outcome(seed, f"the oracle itself: {type(raised).__name__}: {raised}")
        connection.send(outcome)


# -- many of them ----------------------------------------------------------------------------------


class Worker:
    """A process with the program that it is at."""

    def __init__(self, wanted: Wanted) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, wanted), daemon=True)
        self.process.start()
        self.seconds = wanted.seconds
        theirs.close()
        self.seed, self.since = -1, 0.0

    def give(self, seed: int) -> None:
        """The next program."""
        self.seed, self.since = seed, time.monotonic()
        self.connection.send(seed)

    def taken(self) -> Outcome:
        """The outcome that has come; that of a process that is gone says so."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return self.lost(f"the process ended with {self.process.exitcode}")

    def late(self) -> bool:
        """Whether a program takes longer than any should."""
        return time.monotonic() - self.since > self.seconds

    def lost(self, why: str) -> Outcome:
        """The outcome of a program that took its process along."""
        self.process.kill()
        return Outcome(self.seed, f"# seed {self.seed}: {why}\n")


def outcomes(seeds: range, wanted: Wanted, workers: int, seconds: float) -> Iterator[Outcome]:
    """The outcome of every seed, as they come, until time is up."""
    left, end = iter(seeds), time.monotonic() + seconds
    pool = [Worker(wanted) for _ in range(workers)]
    for worker, seed in zip(pool, left, strict=False):
        worker.give(seed)
    busy = [worker for worker in pool if worker.seed >= 0]
    while busy:
        ready = wait([worker.connection for worker in busy], timeout=1.0)
        for worker in list(busy):
            if worker.connection in ready:
                outcome = worker.taken()
            elif worker.late():
                outcome = worker.lost(f"took more than {worker.seconds:.0f} s")
            else:
                continue
            yield outcome
            busy.remove(worker)
            seed = next(left, None) if time.monotonic() < end else None
            if seed is not None:
                busy.append(worker if worker.process.is_alive() else Worker(wanted))
                busy[-1].give(seed)
    for worker in pool:
        worker.process.kill()
