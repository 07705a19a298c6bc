"""All programs, topic by topic."""

from __future__ import annotations

from tests.nests.programs.choices import CHOICES
from tests.nests.programs.filters import FILTERS
from tests.nests.programs.folds import FOLDS
from tests.nests.programs.joins import JOINS
from tests.nests.programs.lengths import LENGTHS
from tests.nests.programs.loops import LOOPS
from tests.nests.programs.scans import SCANS
from tests.nests.programs.writes import WRITES

TOPICS = {
    "writes": WRITES, "loops": LOOPS, "scans": SCANS, "joins": JOINS, "choices": CHOICES,
    "lengths": LENGTHS, "folds": FOLDS, "filters": FILTERS,
}  # fmt: skip
PROGRAMS = [program for programs in TOPICS.values() for program in programs]
