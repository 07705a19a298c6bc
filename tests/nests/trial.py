"""What one random nest goes through, and what became of it."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass

from tests.nests import derivatives
from tests.nests.check import first_failure
from tests.nests.program import DRAWS, random_nest, source_of
from tests.nests.report import report
from tests.nests.shrink import SECONDS, smallest
from tests.nests.vocabulary import called

if os.environ.get("TEST_PTX"):  # as in `conftest.py`
    importlib.import_module("tests.ptx.driver").install(os.environ["TEST_PTX"])

TRIAL = 60.0  # seconds of one nest


@dataclass(frozen=True)
class Wanted:
    """How each nest is run."""

    target: str
    threads: tuple[int, ...]
    most: int
    draws: int = DRAWS
    shrink: bool = True
    gradients: bool = False  # derivatives are compared, not values
    allow_unsupported: bool = False  # what the compiler refuses is counted, and no failure
    limit: float = TRIAL  # seconds of one nest

    @property
    def seconds(self) -> float:
        """How long one nest may take before it counts as lost."""
        return self.limit + SECONDS * self.shrink


@dataclass(frozen=True)
class Outcome:
    """What became of one nest: "" where all is well, else a report; and what was refused."""

    seed: int
    said: str
    refused: str
    operations: tuple[str, ...]


def tried(seed: int, wanted: Wanted) -> Outcome:
    """One nest, with all its arguments."""
    nest = random_nest(seed, wanted.most, wanted.gradients)
    operations = called(source_of(nest))
    if wanted.gradients:
        failure = derivatives.first_failure(nest, wanted.target, wanted.draws)
    else:
        failure = first_failure(nest, wanted.target, wanted.threads, wanted.draws)
    if failure is None:
        return Outcome(seed, "", "", operations)
    if failure.refused and wanted.allow_unsupported:
        return Outcome(seed, "", failure.said.splitlines()[0], operations)
    found = smallest(failure) if wanted.shrink else failure
    return Outcome(seed, report(found), "", operations)
