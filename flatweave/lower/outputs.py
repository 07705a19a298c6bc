"""The buffers that a sweep writes, as the host holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flatweave.lower.chain import Chain
from flatweave.lower.context import Lowering
from flatweave.lower.element import Elements
from flatweave.lower.two_pass import KnownPrefixes
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Var


class Merged(Protocol):
    """Arrays of `extent` elements into which blocks combine theirs side by side.

    `update` combines one element into a place that is there; `finish` is for when all have.
    """

    @property
    def dest(self) -> tuple[Var, ...]: ...

    @property
    def extent(self) -> Atom: ...

    def update(
        self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]
    ) -> None: ...

    def finish(self, low: Lowering, let: Let) -> None: ...


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
