"""The buffers that a sweep writes, as the host holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from flatweave.lower.chain import Chain
from flatweave.lower.two_pass import KnownPrefixes
from flatweave.terms.syntax import Atom, Lambda, Var


@dataclass(frozen=True, eq=False)
class Merged:
    """Arrays into which elements are combined atomically, each by a function of its own."""

    dest: tuple[Var, ...]
    functions: tuple[str | Lambda, ...]
    extent: Atom


@dataclass(frozen=True, eq=False)
class Placed:
    """Which element came last at each place, and all elements in running order."""

    dest: tuple[Var, ...]
    winners: Var
    elements: tuple[Var, ...]
    extent: Atom


@dataclass(frozen=True, eq=False)
class Segmented:
    """The results of segments; for each of `slots` warps those open at both ends, and its tail."""

    results: tuple[Var, ...]
    firsts: Var
    lasts: Var
    tails: tuple[Var, ...]
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
