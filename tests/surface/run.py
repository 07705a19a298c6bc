"""Runs random calls and counts what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flatweave.base.config import config
from tests.surface.calls import Call, random_call
from tests.surface.explained import reason
from tests.surface.table import TABLE

REPEATED = 7  # inputs for each compiled program


@dataclass
class Tally:
    """What a run found."""

    calls: int = 0
    raised: int = 0
    names: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def merge(self, other: Tally) -> None:
        """What another process found."""
        self.calls += other.calls
        self.raised += other.raised
        self.names.update(other.names)
        self.ways.update(other.ways)
        self.explained.update(other.explained)
        self.differences += other.differences

    def add(self, call: Call) -> None:
        """One call more; what nothing explains is kept, with the program that shows it."""
        said = call.difference()
        self.calls += 1
        self.names[call.name] += 1
        self.ways[call.way] += 1
        self.raised += call.raised
        known = reason(call, said) if said else None
        if known is not None:
            self.explained[f"{known.why}: [{known.words}](../../{known.page})"] += 1
        elif said:
            self.differences.append(f"{call.seed}: {said}\n{call.text()}")


def calls(
    count: int, seed: int, target: str, names: Sequence[str], part: int = 0, parts: int = 1
) -> Iterator[Call]:
    """Random calls, the functions in order; of compiled programs several with other values. Several
    processes make a part of them each."""
    repeated = 1 if target == "interp" else REPEATED
    for i in range(count):
        if i // repeated % parts != part:
            continue
        pattern = i // repeated
        step = 1 if repeated == 1 else 37  # so that few calls see many kinds of functions
        name = names[(pattern * step + seed) % len(names)]
        yield random_call(name, seed * 1_000_000 + pattern, i % repeated)


def run(
    count: int, seed: int, target: str, names: Sequence[str] = tuple(TABLE), part: int = 0,
    parts: int = 1,
) -> Tally:  # fmt: skip
    """Run this many calls, or a part of them, and report the results."""
    tally = Tally()
    with config.scoped(target=target):
        for call in calls(count, seed, target, names, part, parts):
            tally.add(call)
    return tally
