"""What a row must reach, and whether it did.

    OfFloor(0.85)                       0.85 of what memory allows: floor / ours
    Faster(1.5, "numpy", "numba")       1.5 times the best of these: peer / ours
    AtMost(25, "us")                    a time of one call
    PerSecond(25, "frames")             calls in a second
    OneThread(0.93)                     C loop / ours, both on one thread
    At(V3, OfFloor(0.5))                the same of code for another level of x86-64

Ratios are taken within a round, whose parts ran within the same second, and the median of them is
judged: this machine's memory changes speed from minute to minute, for everybody at once. With
`least`, for a machine that others use too, the least times are compared instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Protocol

OURS = "flatweave"
ONE = "flatweave, 1 thread"
LOOP = "C loop"
V3 = "x86-64-v3"  # AVX2, and no AVX-512
LEVELS = ("x86-64-v2", V3)  # below what a machine has, code is measured for these, too
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def ours_at(level: str) -> str:
    """The name of our time with code for a level."""
    return f"{OURS}, {level}"


@dataclass(frozen=True)
class Times:
    """Seconds per round of every contender, and what the reference did in these rounds."""

    seconds: dict[str, list[float]]
    reference: list[float]  # seconds that `moved` bytes took
    moved: int  # bytes that the reference moves
    compulsory: int  # bytes that the row cannot avoid moving
    least: bool = False

    def typical(self, name: str) -> float:
        """The middle time of one contender, or its least."""
        return min(self.seconds[name]) if self.least else median(self.seconds[name])

    def quotient(self, above: list[float], below: list[float]) -> float:
        """One series of times in terms of another."""
        if self.least:
            return min(above) / min(below)
        return median(a / b for a, b in zip(above, below, strict=True))

    def ratio(self, slow: str, fast: str) -> float:
        """How many times longer the first takes than the second."""
        return self.quotient(self.seconds[slow], self.seconds[fast])

    @property
    def floors(self) -> list[float]:
        """The least time the compulsory bytes need, in each round."""
        return [seconds * self.compulsory / self.moved for seconds in self.reference]

    def of_floor(self, name: str) -> float:
        """The part of the possible speed that a contender has."""
        return self.quotient(self.floors, self.seconds[name])


@dataclass(frozen=True)
class Verdict:
    """One requirement, what was measured, and whether that is enough; None: cannot be said."""

    need: str
    measured: str
    reached: bool | None


class Need(Protocol):
    """A requirement on the times of a row."""

    def judge(self, times: Times) -> Verdict:
        """Whether it is met."""
        ...


@dataclass(frozen=True)
class OfFloor:
    """A part of the speed of memory."""

    factor: float

    def judge(self, times: Times) -> Verdict:
        """floor / ours"""
        if not times.reference:
            return Verdict(f"{self.factor:g} of memory's speed", "no reference", None)
        value = times.of_floor(OURS)
        need = f"{self.factor:g} of memory's speed"
        return Verdict(need, f"{value:.2f}", value >= self.factor)


def best_of(times: Times, names: Sequence[str]) -> str | None:
    """The fastest peer whose name begins with one of the names; of all, where none is given."""
    peers = [
        peer
        for peer in times.seconds
        if not peer.startswith(OURS) and (peer.startswith(tuple(names)) if names else True)
    ]
    return min(peers, key=times.typical, default=None)


@dataclass(frozen=True, init=False)
class Faster:
    """A multiple of the speed of the best of some peers."""

    factor: float
    names: tuple[str, ...]

    def __init__(self, factor: float, *names: str) -> None:
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "names", names)

    def judge(self, times: Times) -> Verdict:
        """peer / ours"""
        need = f"{self.factor:g} x best of {', '.join(self.names)}"
        peer = best_of(times, self.names)
        if peer is None:
            return Verdict(need, "no peer", None)
        value = times.ratio(peer, OURS)
        return Verdict(need, f"{value:.2f} ({peer})", value >= self.factor)


@dataclass(frozen=True)
class OneThread:
    """A part of the speed of a sequential C loop, or of another sequential peer, on one thread."""

    factor: float = 0.93
    peer: str = LOOP

    def judge(self, times: Times) -> Verdict:
        """The peer / ours"""
        said = "a C loop" if self.peer == LOOP else self.peer
        need = f"1 thread: {self.factor:g} of {said}"
        if self.peer not in times.seconds or ONE not in times.seconds:
            return Verdict(need, f"no {self.peer}", None)
        value = times.ratio(self.peer, ONE)
        return Verdict(need, f"{value:.2f}", value >= self.factor)


@dataclass(frozen=True)
class AtMost:
    """A time that one call may take."""

    bound: float
    unit: str

    def judge(self, times: Times) -> Verdict:
        """ours, in the unit"""
        value = times.typical(OURS) / UNITS[self.unit]
        need = f"at most {self.bound:g} {self.unit}"
        return Verdict(need, f"{value:.3g} {self.unit}", value <= self.bound)


@dataclass(frozen=True)
class PerSecond:
    """A number of calls that one second must have room for."""

    bound: float
    what: str

    def judge(self, times: Times) -> Verdict:
        """1 / ours"""
        value = 1 / times.typical(OURS)
        need = f"{self.bound:g} {self.what} per second"
        return Verdict(need, f"{value:.1f}", value >= self.bound)


@dataclass(frozen=True)
class At:
    """A requirement on code for a level, on a machine that has more; said in its terms."""

    level: str
    need: Need

    def judge(self, times: Times) -> Verdict:
        """What the requirement says of that code's times."""
        ours = ours_at(self.level)
        if ours not in times.seconds:
            asked = self.need.judge(times)
            return Verdict(f"{self.level}: {asked.need}", "not measured", None)
        seconds = {**times.seconds, OURS: times.seconds[ours]}
        found = self.need.judge(replace(times, seconds=seconds))
        return replace(found, need=f"{self.level}: {found.need}")
