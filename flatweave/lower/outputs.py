"""The buffers that a sweep writes, as the host holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from flatweave.lower.chain import Chain
from flatweave.terms.syntax import Atom, Var


@dataclass
class Outputs:
    """The host buffers that a sweep writes, by sink."""

    stores: dict[int, Var] = field(default_factory=dict)
    compacts: dict[int, tuple[Var, ...]] = field(default_factory=dict)
    partials: dict[int, tuple[Var, ...]] = field(default_factory=dict)
    inserts: dict[int, tuple[Var, Atom]] = field(default_factory=dict)
    chains: list[Chain] = field(default_factory=list)
