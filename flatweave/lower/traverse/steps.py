"""How the steps of a span end: lane by lane, or with lanes that idle.

a CPU     lo .. in whole steps .. mid, then one by one to hi
threads   each warp in whole steps; lanes from the end of its share on have no element
"""

from __future__ import annotations

from typing import Protocol

from flatweave.kernel_ir.syntax import Lane, Sync
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.warp_share import warp_share
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

SHORTEST = 4
"""Lanes of a step that is worth a loop of its own."""


SHORT = 4
"""Lanes of shorter steps, where there are few elements: with them, and with no ends apart, trees of
2 to 200 steps of options took 30 ms instead of 41 (2 cores of a Zen 5, f64 in steps of 8)."""


class Steps(Protocol):
    """The regions of a span, and the lanes of a step."""

    def short(self, width: int) -> int:
        """The lanes of one register, where a step takes four; 0 where shorter steps do not pay."""

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        """Where this warp starts and stops walking, and where its part of lo to hi ends."""

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        """Lanes, begin and end of each loop over steps, and where elements end."""

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        """The position of each lane of a step, and which lanes have one; None if all have."""

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        """The same, counted from the last position back."""

    def wait_for_lanes(self, b: Builder) -> None:
        """What the lanes of a warp stored before, all of them may store over from here on."""


class WholeSteps:
    """Whole steps on all lanes, then the rest one by one."""

    def short(self, width: int) -> int:
        return width // 4 if width // 4 >= SHORTEST else 0

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        return lo, hi, hi

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        if width == 1:
            return [(1, lo, hi, hi)]
        length = b.sub(hi, lo)
        whole = b.mul(b.apply("floordiv", length, index(width)), index(width))
        mid = b.add(lo, whole)
        return [(width, lo, mid, hi), (1, mid, hi, hi)]

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        return (b.emit(Lane(base))[0] if width > 1 else base), None

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        start = b.sub(last, base)
        return (b.emit(Lane(start, True))[0] if width > 1 else start), None

    def wait_for_lanes(self, b: Builder) -> None:
        """Nothing: a warp is one thread."""


class ShorterSteps(WholeSteps):
    """Whole steps, then shorter ones, then the rest one by one."""

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        found = []
        for lanes in dict.fromkeys((width, min(width, SHORT))):
            whole, *_ = super().regions(b, lo, hi, lanes)
            found.append(whole)
            lo = whole[2]
        return [*found, (1, lo, hi, hi)] if width > 1 else found


class MaskedSteps:
    """Every step on all lanes; those behind the end of the warp's share stay at its last element.

    All warps of a block take the same number of steps, so that a barrier may stand in one.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def short(self, width: int) -> int:
        return 0

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        return warp_share(b, self.machine, lo, hi, width)

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        first, end, limit = self.share(b, lo, hi, width)
        return [(width, first, end, limit)]

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        i: Atom = b.emit(Lane(base))[0] if width > 1 else base
        active = b.apply("lt", i, limit)
        return b.apply("minimum", i, b.sub(limit, index(1))), active

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        running, active = self.lanes(b, base, width, limit)
        return b.sub(last, running), active

    def wait_for_lanes(self, b: Builder) -> None:
        b.emit(Sync("warp"))


def steps_of(machine: Machine) -> Steps:
    """The one that a machine takes."""
    if machine.one_block:
        return ShorterSteps()
    return MaskedSteps(machine) if machine.simt else WholeSteps()
