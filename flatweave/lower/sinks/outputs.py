"""The buffers that a sweep writes, as the host holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from flatweave.lower.scan.look_back import Chain
from flatweave.lower.scan.two_pass import KnownPrefixes
from flatweave.lower.update.arrays import Merged, Placed
from flatweave.terms.syntax import Atom, Var


@dataclass(frozen=True, eq=False)
class Segmented:
    """The results of segments; for each of `slots` warps those open at both ends, and its tail."""

    results: tuple[Var, ...]
    firsts: Var
    lasts: Var
    carry_outs: tuple[Var, ...]
    slots: Atom


@dataclass
class Outputs:
    """The host buffers that a sweep writes, by sink."""

    stores: dict[int, Var] = field(default_factory=dict)
    compacts: dict[int, tuple[Var, ...]] = field(default_factory=dict)
    partials: dict[int, tuple[Var, ...]] = field(default_factory=dict)
    inserts: dict[int, tuple[Var, Atom]] = field(default_factory=dict)
    chains: list[Chain | KnownPrefixes] = field(default_factory=list)
    segments: dict[int, Segmented] = field(default_factory=dict)
    merges: dict[int, Merged] = field(default_factory=dict)
    places: dict[int, Placed] = field(default_factory=dict)
