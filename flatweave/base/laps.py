"""How long the stages of a compilation took, in seconds.

    with laps.stage("emit"): ..              laps.seconds["emit"]

A stage that is entered again takes the sum: kernels are made while the program runs, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flatweave.base.config import config
from flatweave.base.pretty import duration


class Laps:
    """The seconds of each stage of one program's compilation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds: dict[str, float] = {}
        self._told: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What runs inside belongs to `name`."""
        begin = time.perf_counter()
        yield
        passed = time.perf_counter() - begin
        self.seconds[name] = self.seconds.get(name, 0.0) + passed

    def tell(self) -> None:
        """Print what each stage took since this was last asked, where that is asked for."""
        before, self._told = self._told, dict(self.seconds)
        for name, seconds in self._told.items():
            passed = seconds - before.get(name, 0.0)
            if config.time and passed:
                sys.stderr.write(f"{self.name}: {name} {duration(passed)}\n")
