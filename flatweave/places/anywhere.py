"""target="auto": each call runs where it is done first.

    entry = Anywhere(make, deterministic=True)      make(target) is the entry for one target
    entry(flat)                                     on the target that finishes first

The cost on a target is the time of a call, the copies there and back, and its bytes or its
operations, whichever take longer, at the rates that were measured (`demand.py`). Where targets give
different bits, only `cpu` is chosen, unless the user allows others.

devices=[..]: several devices share one map or reduction.

    entry = Shared(make, ["cpu", "cuda:0"], deterministic=True)
    entry(flat)                       each gets some rows of the arguments, all at once

Where the bits do not depend on who computes them, each gets as many rows as it does in the same
time; else all get the same, so that what was measured decides about time alone.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from flatweave.array_ir.syntax import Fault
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.locks import Lock
from flatweave.frontend.call.compiled import Compiled, Donated, Entry, rebuilt
from flatweave.frontend.call.direct import keep
from flatweave.places import anywhere
from flatweave.places.demand import Demand, Rates, demand_of, rates
from flatweave.places.division import agrees, division_of
from flatweave.runtime.devices import cuda, opencl
from flatweave.runtime.devices.arrays import ARRAYS, Resident, Stop
from flatweave.runtime.devices.device import Device

HOST = "cpu"
KINDS = {"cuda": cuda, "opencl": opencl}


class Place(NamedTuple):
    """A target by its name, its device, and how fast it is."""

    target: str
    device: Device | None
    rates: Rates


class Anywhere:
    """One signature of a function, on whichever target a call is done first."""

    def __init__(self, make: Callable[[str], Entry], deterministic: bool) -> None:
        self._make = make
        self._lock = Lock()
        self._entries: dict[str, Entry] = {}
        self._targets: dict[Any, str] = {}
        self.plain = self._entry(HOST).plain
        self._is_free = not deterministic or agrees(self.plain.traced.program)

    def __call__(self, flat: list[Any], donated: Donated | None = None) -> Any:
        return self._entry(self.target(flat))(flat, donated)

    def chosen(self, flat: list[Any]) -> tuple[Compiled, list[Any]]:
        """The compiled specialisation for these extents, and the arguments it takes."""
        return self._entry(self.target(flat)).chosen(flat)

    def target(self, flat: list[Any]) -> str:
        """Where a call with these arguments runs: by their sizes, and by where they are."""
        if not self._is_free:
            return HOST
        key = tuple(map(_telling, flat))
        found = self._targets.get(key)
        if found is None:
            args = [*flat, *self.plain.hidden]
            demand = demand_of(self.plain.traced.program, args)
            found = min(places(), key=lambda place: seconds(place, demand, args)).target
            keep(self._targets, key, found)
        return found

    def _entry(self, target: str) -> Entry:
        found = self._entries.get(target)
        if found is None:
            with self._lock:
                if target not in self._entries:
                    self._entries[target] = self._make(target)
                found = self._entries[target]
        return found


def _telling(value: Any) -> Any:
    """What of an argument the choice depends on: an extent, the device that an array is on."""
    if type(value) is int:
        return value
    return value.device.name if type(value) is Resident else None


def seconds(place: Place, demand: Demand, args: list[Any]) -> float:
    """How long a call takes there, its copies included. Its results come back, unless an argument
    is on a device: then somebody goes on there."""
    here = place.rates
    arrays = [arg for arg in args if isinstance(arg, ARRAYS)]
    copies = sum(_copied(place, arg) for arg in arrays)
    if here.back and not any(type(arg) is Resident for arg in arrays):
        copies += demand.given / here.back
    work = max(demand.moved / here.memory, demand.operations / here.arithmetic)
    return here.call * demand.turns + copies + work


def _copied(place: Place, array: Any) -> float:
    """How long an argument is on its way."""
    device = array.device if type(array) is Resident else None
    if device is place.device:
        return 0.0
    leaves = next((each.rates.back for each in places() if each.device is device), 0.0)
    comes = place.rates.there
    return float(sum(array.nbytes / rate for rate in (leaves, comes) if rate))


@functools.cache
def places() -> tuple[Place, ...]:
    """The targets there are on this machine, the host first."""
    found = [(HOST, None), *(each for kind in KINDS for each in _devices(kind))]
    return tuple(Place(target, device, rates(target, device)) for target, device in found)


def _devices(kind: str) -> Iterator[tuple[str, Device]]:
    for number in itertools.count():
        try:
            yield f"{kind}:{number}", KINDS[kind].device(number)
        except (Unsupported, ArgumentError):  # no package, no driver, or no more of them
            return


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
