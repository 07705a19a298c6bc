"""How a sink of a sweep is lowered: its memory, its part of the last pass, its results.

    allocate    host     buffers, before the launch
    needs       host     what a kernel that is written later must be given
    enter       kernel   the state that it carries through a block
    step        kernel   one step's elements
    leave       kernel   the state that remains after the block
    finish      host     launches after the sweep's
    bind        host     its results

Several kinds of sinks share two steps. A reduction of the block (`facts.combines`) writes its
results to the sink's `partials`. A count of flags is a scan like any other (`scan_levels.py`). Each
kind is a separate class; `sinks.py` has the table of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flatweave.base.records import record
from flatweave.lower.context import Lowering, held
from flatweave.lower.element_functions import Elements
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.scan_levels import with_slots
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Var

if TYPE_CHECKING:
    from flatweave.lower.sweep.chains import Chain, KnownPrefixes, OnlyBlock, WordChain


@record(frozen=False)
class HostSweep:
    """A sweep on the host: its sizes, and the results of its scans."""

    lowering: Lowering
    let: Let
    facts: SweepFacts
    plan: SweepPlan
    shape: tuple[Atom, ...]
    total: Atom
    size: Atom
    blocks: Atom
    chains: list[Chain | WordChain | KnownPrefixes | OnlyBlock]

    def counted(self, number: int) -> Atom:
        """How many flags the scan of a sink counted, in all elements."""
        host = self.lowering.host
        for chain, records in zip(self.chains, self.facts.scans.levels, strict=True):
            for slot, scan in with_slots(records):
                if scan.compact == number:
                    return chain.counted(host, slot)
        raise AssertionError(f"sink {number} counts nothing")


@record
class SinkStep:
    """One step of the last pass; `inside` is the body for lanes that have an element."""

    b: Builder
    inside: Builder
    elements: Elements
    position: Position
    carries: State
    """The values that the scans carry before this step."""


@record
class Share:
    """The positions `first` to `limit` of `total` that are one warp's, the first of all or not."""

    first: Atom
    limit: Atom
    total: Atom
    leads: Atom


FACTS = frozenset({"sink", "number", "taken", "vars", "is_given"})
"""The fields of a sink that describe the program; its other fields hold host values."""


class LoweredSink:
    """One sink of a sweep; `taken` are the body's results that it is fed."""

    def __init__(
        self, sink: Any, number: int, taken: tuple[Atom, ...], vars_: tuple[Var, ...]
    ) -> None:
        self.sink = sink
        self.number = number
        self.taken = taken
        self.vars = vars_
        self.partials: tuple[Var, ...] = ()
        self.compacted: tuple[Var, ...] = ()

    carries: ClassVar[bool] = False
    """Whether it carries values from step to step."""
    least_blocks: ClassVar[int] = 0
    """How many blocks there must be, even where there are no elements."""

    def fed(self, taken: tuple[Atom, ...]) -> Self:
        """The same sink for another form of the sweep's body, where its inputs are `taken`."""
        other = copy(self)
        other.taken = taken
        return other

    def allocate(self, sweep: HostSweep) -> None:
        """Emit the buffers that it needs."""
        raise NotImplementedError

    def needs(self) -> Iterable[Atom]:
        """The host values that its part of a kernel may need, in addition to what the sweep reads:
        those that `allocate` stores in its fields, and in the records there."""
        return held([value for name, value in vars(self).items() if name not in FACTS])

    def enter(self, writer: KernelWriter, share: Share) -> State:
        """The values that it carries through a warp's share of a block."""
        return ()

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        """Take one step's elements and return the values after the step."""
        return state

    def leave(
        self, writer: KernelWriter, slot: Atom, before: State, state: State, carries: State
    ) -> None:
        """Store what it carried; the scans carry `before` the share and `carries` after it."""

    def finish(self, sweep: HostSweep) -> None:
        """Emit launches that follow the sweep's."""

    def bind(self, sweep: HostSweep) -> None:
        """Bind its results."""
        raise NotImplementedError

    def write_alone(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        """Write a separate kernel for `sinks`, all of its kind (`Rows.folded`)."""
        raise NotImplementedError
