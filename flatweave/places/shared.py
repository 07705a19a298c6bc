"""devices=[..]: several devices share one map or reduction.

    entry = Shared(make, ["cpu", "cuda:0"], deterministic=True)
    entry(flat)                       each gets some rows of the arguments, all at once

Where the bits do not depend on who computes them, each gets as many rows as it does in the same
time; else all get the same, so that what was measured decides about time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from flatweave.array_ir.fault import Fault
from flatweave.frontend.call.compiled import Compiled, Entry, rebuilt
from flatweave.places import anywhere
from flatweave.places.demand import demand_of
from flatweave.places.division import agrees, division_of
from flatweave.runtime.devices.arrays import Resident, Stop


class Shared:
    """One signature of a function, on several devices at once."""

    def __init__(
        self, make: Callable[[str], Entry], targets: Sequence[str], deterministic: bool
    ) -> None:
        self._targets = targets
        self._entries = [make(target) for target in targets]
        self.plain = self._entries[0].plain
        self._division = division_of(self.plain.traced.program)
        self._by_speed = not deterministic or agrees(self.plain.traced.program)

    def __call__(self, flat: list[Any]) -> Any:
        args = [*flat, *self.plain.hidden]
        rows = self._division.rows(args)
        if rows is None or rows < len(self._targets):
            return self._entries[0](flat)
        try:
            parts = self._run(args, self.bounds(args, rows))
        except (Fault, Stop):  # which the whole call tells of as if nobody shared it
            return self._entries[0](flat)
        return rebuilt(self.plain, self._division.joined(parts), flat)

    def chosen(self, flat: list[Any]) -> tuple[Compiled, list[Any]]:
        """What the first device runs, and the arguments it takes."""
        return self._entries[0].chosen(flat)

    def bounds(self, args: list[Any], rows: int) -> list[tuple[int, int]]:
        """Which rows each device gets; none gets none."""
        weights = self._weights(args)
        ends = [0, *accumulate(weights)]
        count, total = len(weights), ends[-1]
        cuts = [round((rows - count) * end / total) + k for k, end in enumerate(ends)]
        return list(pairwise(cuts))

    def _weights(self, args: list[Any]) -> list[float]:
        """How much of the work each device does in the same time."""
        if not self._by_speed:
            return [1.0] * len(self._targets)
        demand = demand_of(self.plain.traced.program, args)
        known = {place.target: place for place in anywhere.places()}
        found = []
        for target in self._targets:
            place = known.get(target) or known[f"{target}:0"]
            found.append(1 / anywhere.seconds(place, demand, args))
        return found

    def _run(self, args: list[Any], bounds: Sequence[tuple[int, int]]) -> list[list[Any]]:
        """The results of all parts; devices, whose calls come back at once, before the CPU."""
        given = [
            [arg.values() if type(arg) is Resident else arg for arg in part]
            for part in (self._division.part(args, begin, end) for begin, end in bounds)
        ]
        results: dict[int, list[Any]] = {}
        for k in sorted(range(len(given)), key=lambda k: self._targets[k] == anywhere.HOST):
            results[k] = self._entries[k].plain.run_all(given[k])
        return [
            [each.values() if type(each) is Resident else each for each in results[k]]
            for k in range(len(given))
        ]
