"""A variant of scattering as plans know it: its name, which sweeps it can do, why it runs.

    Strided Private Partition Owner    blocks divide the elements or the destination    `scatter/`
    InShared SharedAtomic              blocks combine in copies of a small destination  `scatter/`
    Sorted                             elements are sorted by where they go             `scatter/`
    ByAtomics BySwaps                  all combine elements where they come to          `update/`

`scatter/choose.py` lists these classes in the order in which they are tried.
"""

from __future__ import annotations

from typing import ClassVar

from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.ops import ScatterReduce, Sweep
from flatweave.passes.operators import known_neutral
from flatweave.terms.syntax import Atom

NOT_COMBINED = "scatter combines nothing"


class ScatterVariant:
    """One way to scatter."""

    name: ClassVar[str]
    """As in printed plans, and in `fw.schedule(permute=..)` if it is one of `PERMUTES`."""
    reason: ClassVar[str] = ""
    """Why it runs, in the user's words."""
    chosen: ClassVar[When] = When.PAYS
    """When it is selected if the user asks for no variant."""
    wished: ClassVar[When] = When.ALWAYS
    """When it is selected if the user asks for it; owners do the rest."""

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        """Why it cannot do a sweep; "" where it can."""
        return ""

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        """Whether it is tried if the user asks for no variant."""
        return not cls.obstacle(machine, facts)

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        """Whether its results have the same bits in each run, whatever comes first."""
        return True


def combining(op: Sweep) -> ScatterReduce | None:
    """The only sink of a scattering sweep, where it combines elements that meet; None where the
    last one stays."""
    (sink,) = op.sinks
    return sink if isinstance(sink, ScatterReduce) else None


def neutral_of(sink: ScatterReduce) -> tuple[Atom, ...]:
    """The neutral element of an operator, as the user says or as the table of scalar functions
    knows; empty where none is known."""
    return sink.neutral or known_neutral(sink.fn)
