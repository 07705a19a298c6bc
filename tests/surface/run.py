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

    def add(self, call: Call) -> str:
        """One call more; the difference that nothing explains, with the program that shows it."""
        said = call.difference()
        self.calls += 1
        self.names[call.name] += 1
        self.ways[call.way] += 1
        self.raised += call.raised
        known = reason(call, said) if said else None
        if known is not None:
            self.explained[f"{known.why}: [{known.words}]({known.page})"] += 1
        if not said or known is not None:
            return ""
        self.differences.append(f"{call.seed}: {said}\n{call.text()}")
        return self.differences[-1]


def calls(count: int, seed: int, target: str, names: Sequence[str]) -> Iterator[Call]:
    """Random calls, the functions in turn; of compiled programs several with other values."""
    repeated = 1 if target == "interp" else REPEATED
    for i in range(count):
        pattern = i // repeated
        step = 1 if repeated == 1 else 37  # so that few calls see many kinds of functions
        name = names[(pattern * step + seed) % len(names)]
        yield random_call(name, seed * 1_000_000 + pattern, i % repeated)


def run(
    count: int, seed: int, target: str, tally: Tally, names: Sequence[str] = tuple(TABLE)
) -> Iterator[str]:
    """The differences that nothing explains."""
    with config.scoped(target=target):
        for call in calls(count, seed, target, names):
            found = tally.add(call)
            if found:
                yield found
