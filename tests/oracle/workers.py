"""Tests in separate processes: a crash or an endless loop is one seed's failure.

    outcomes(tried, range(300), seconds=90.0, workers=2)      what tried(seed) gives, as they come
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Lost:
    """Why a seed has no outcome."""

    seed: int
    said: str


def serve(connection: Connection, tried: Callable[[int], object]) -> None:
    """A process that takes seeds and gives outcomes."""
    while True:
        seed = connection.recv()
        try:
            outcome = tried(seed)
        except Exception as raised:
            said = f"# seed {seed}: the test itself: {type(raised).__name__}: {raised}\n"
            outcome = Lost(seed, said)
        connection.send(outcome)


class Worker(Generic[Found]):
    """A process with the seed that it is at."""

    def __init__(self, tried: Callable[[int], Found]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, tried), daemon=True)
        self.process.start()
        theirs.close()
        self.seed, self.since = -1, 0.0

    def give(self, seed: int) -> None:
        """The next seed."""
        self.seed, self.since = seed, time.monotonic()
        self.connection.send(seed)

    def taken(self) -> Found | Lost:
        """The outcome that has come; that of a process that is gone says so."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return self.lost(f"the process ended with {self.process.exitcode}")

    def late(self, seconds: float) -> bool:
        """Whether a seed takes longer than any should."""
        return time.monotonic() - self.since > seconds

    def lost(self, why: str) -> Lost:
        """The outcome of a seed that took its process along."""
        self.process.kill()
        self.process.join()
        return Lost(self.seed, f"# seed {self.seed}: {why}\n")


def outcomes(
    tried: Callable[[int], Found], seeds: Iterable[int], *, seconds: float, workers: int,
    until: float = float("inf"),
) -> Iterator[Found | Lost]:  # fmt: skip
    """The outcome of every seed; `seconds` for each, none begun after `until` seconds."""
    left, end = iter(seeds), time.monotonic() + until
    pool = [Worker(tried) for _ in range(workers)]
    for worker, seed in zip(pool, left, strict=False):
        worker.give(seed)
    busy = [worker for worker in pool if worker.seed >= 0]
    while busy:
        ready = wait([worker.connection for worker in busy], timeout=1.0)
        for worker in list(busy):
            if worker.connection in ready:
                outcome = worker.taken()
            elif worker.late(seconds):
                outcome = worker.lost(f"took more than {seconds:.0f} s")
            else:
                continue
            yield outcome
            busy.remove(worker)
            seed = next(left, None) if time.monotonic() < end else None
            if seed is not None:
                if not worker.process.is_alive():
                    worker = Worker(tried)
                    pool.append(worker)
                busy.append(worker)
                worker.give(seed)
    for worker in pool:
        worker.process.kill()
