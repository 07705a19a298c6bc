"""The schedule of a program: the named variants it takes; None where the lowering chooses.

    with fw.schedule(permute="partition"): ..      every permute inside is divided that way

Variants differ in how work is divided, never in what is computed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PERMUTES = ("owner", "private", "partition", "atomic", "cas", "locks")
EXPANDS = ("per-source", "per-block", "balanced")
SOURCES_PER_BLOCK = re.compile(r"[1-9][0-9]*-per-block")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Variants by name, and whether results may depend on timing where that is faster."""

    expand: str | None = None
    permute: str | None = None
    deterministic: bool = True

    @property
    def whole_rows(self) -> bool:
        """Whether a row is not to be divided: one source goes through all of its own."""
        return self.expand == "per-source"


CHOSEN = Schedule()
"""Nothing is forced."""


def expand_variant(value: object) -> str | None:
    """per-source, per-block, <n>-per-block such as 16-per-block, or balanced"""
    if value is None:
        return None
    if isinstance(value, str) and (value in EXPANDS or SOURCES_PER_BLOCK.fullmatch(value)):
        return value
    raise ValueError


def permute_variant(value: object) -> str | None:
    """owner, private, partition, atomic, cas or locks"""
    if value is None or (isinstance(value, str) and value in PERMUTES):
        return value
    raise ValueError
