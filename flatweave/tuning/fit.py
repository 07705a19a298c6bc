"""Thresholds that choose what was measured to be faster, as near to the machine's as can be.

    fitted(machine's, [Seen(Sizes(40, 4000, 100), flat=2.0, by_row=1.0)])    from 40 rows on, not 64

Inputs are few, and thresholds many that choose rightly for all of them: nearest to those that were
there is the one of which least is made up. Distance is how often a threshold doubles or halves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from flatweave.base.records import fields, record, replace
from flatweave.base.thresholds import ALWAYS, Sizes, Thresholds

NOISE = 1.05
"""Times nearer to each other than this are equal."""
GREATEST = 1 << 20
"""The greatest ratio that is a threshold: products of it and of sizes stay below 2^63."""


@record(eq=True)
class Seen:
    """The seconds that both versions took at some sizes."""

    sizes: Sizes
    flat: float
    by_row: float

    def loss(self, by_row: bool) -> float:
        """How many times slower a version is than the other one, as a logarithm; 0 if faster."""
        taken, other = (self.by_row, self.flat) if by_row else (self.flat, self.by_row)
        return math.log(taken / other) if taken > other * NOISE else 0.0


def fitted(given: Thresholds, seen: Sequence[Seen]) -> Thresholds:
    """The thresholds that lose least on what was seen; of several, the nearest to those given."""
    chosen = {(True,) * len(seen): (0.0, given)}
    for field in fields(given):
        chosen = _narrowed(chosen, field.name, [each.sizes for each in seen])

    def lost(ways: tuple[bool, ...]) -> float:
        return sum(each.loss(way) for each, way in zip(seen, ways, strict=True))

    ways = min(chosen, key=lambda ways: (lost(ways), chosen[ways][0]))
    return chosen[ways][1]


Chosen = dict[tuple[bool, ...], tuple[float, Thresholds]]
"""For each choice among inputs that some thresholds make, the nearest ones that make it."""


def _narrowed(chosen: Chosen, name: str, sizes: Sequence[Sizes]) -> Chosen:
    """The choices that are left after one threshold more, for every value it can have."""
    found: Chosen = {}
    for ways, (distance, thresholds) in chosen.items():
        own: int = getattr(thresholds, name)
        for value in sorted({own, *_values(name, sizes)}):
            changed = replace(thresholds, **{name: value})
            far = distance + abs(math.log2((value + 1) / (own + 1)))
            one = replace(ALWAYS, **{name: value})
            left = tuple(way and one.admits(s) for way, s in zip(ways, sizes, strict=True))
            if left not in found or far < found[left][0]:
                found[left] = (far, changed)
    return found


def _values(name: str, sizes: Sequence[Sizes]) -> Iterator[int]:
    """The values of a threshold that just admit, or just do not, the sizes that were seen."""
    for each in sizes:
        match name:
            case "rows":
                yield from (each.rows, each.rows + 1)
            case "longest":
                yield from (each.longest, max(0, each.longest - 1))
            case "least":
                yield from (each.longest, each.longest + 1)
            case "share" if each.longest:
                yield from _ratios(each.values // each.longest)
            case "mean" if each.rows:
                yield from _ratios(each.values // each.rows)


def _ratios(admits: int) -> Iterator[int]:
    return (min(ratio, GREATEST) for ratio in (admits, admits + 1))
