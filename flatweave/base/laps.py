"""How far a compilation is, and how long its stages took, in seconds.

    with laps.stage("emit"): ..              laps.seconds["emit"]
    laps.expect(7); laps.finish(3)           laps.kernels == (3, 7)

A stage that is entered again takes the sum: kernels are made while the program runs, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flatweave.base.config import config
from flatweave.base.pretty import duration
from flatweave.base.recording import OPEN, compiled
from flatweave.base.source import Location


class Laps:
    """The seconds of each stage of one program's compilation, and its kernels: made, and of all."""

    def __init__(self, name: str, where: Location | None = None) -> None:
        self.name = name
        self.where = where
        self.kernels = (0, 0)
        self.seconds: dict[str, float] = {}
        self._told: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What runs inside belongs to `name`."""
        begin = time.perf_counter_ns()
        yield
        passed = (time.perf_counter_ns() - begin) * 1e-9
        self.seconds[name] = self.seconds.get(name, 0.0) + passed
        if OPEN:
            compiled(self.name, name, begin)

    @property
    def subject(self) -> str:
        """What is compiled, in the user's terms: a function, and the line where it begins."""
        where = self.where
        return f"{self.name} ({where.file}:{where.line})" if where else self.name

    def said(self) -> str:
        """What is being done, for a terminal."""
        done, wanted = self.kernels
        return f"compiling {self.subject}" + (f", {done} of {wanted} kernels" if wanted else "")

    def expect(self, count: int) -> None:
        """So many more kernels are to be made."""
        done, wanted = self.kernels
        self.kernels = (done, wanted + count)

    def finish(self, count: int) -> None:
        """So many of them are made."""
        done, wanted = self.kernels
        self.kernels = (done + count, wanted)

    def tell(self) -> None:
        """Print what each stage took since this was last asked, where that is asked for."""
        before, self._told = self._told, dict(self.seconds)
        for name, seconds in self._told.items():
            passed = seconds - before.get(name, 0.0)
            if config.time and passed:
                sys.stderr.write(f"{self.name}: {name} {duration(passed)}\n")
