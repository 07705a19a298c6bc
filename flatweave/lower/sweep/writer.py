"""Writes the kernel of a sweep: its parameters, its walk, its elements, its operators; and how each
sink of it is lowered: its memory, its part of the last pass, its results.

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
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flatweave.algorithms.operator import Carried, Operator, together
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.context import Lowering, held
from flatweave.lower.element_functions import Elements, operator_in, rows_of
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import SUNK, row_per_lane
from flatweave.lower.schedule.division import reads_of_runs, side_by_side
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.lower.schedule.steps import (
    NO_REDUCTION,
    Along,
    Axis,
    Cache,
    How,
    Memory,
    RFactor,
    Version,
)
from flatweave.lower.traverse import ragged_row_search, ragged_rows, row_by_row, row_lookup
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import Blocked, Flat, OneByOne, Space, Traversal, Turns
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, Lambda, Let, Var, array_type, scalar_type, types_of
from flatweave.terms.traverse import needed_for

if TYPE_CHECKING:
    from flatweave.lower.sweep.chains import Chain, KnownPrefixes, OnlyBlock, WordChain


def call_operator(
    lowering: Lowering, kernel: KernelBuilder, b: Builder, fn: Lambda, args: Sequence[Atom]
) -> tuple[Atom, ...]:
    """An operator of the program on kernel atoms."""
    return Elements(kernel, index(0), lowering.checks).call(b, fn, args)


class KernelWriter:
    """A sweep's kernel under construction."""

    def __init__(
        self, lowering: Lowering, facts: SweepFacts, plan: SweepPlan, version: Version,
        chains: Sequence[Chain | WordChain | KnownPrefixes | OnlyBlock], kernel: KernelBuilder,
        total: Atom, size: Atom,
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.facts = facts
        self.plan = plan
        self.op = facts.op
        self.scans = facts.scans
        self.located = facts.located
        self.heads = facts.heads if version.rows.flagged else None
        self.version = version
        self.chains = chains
        self.kernel = kernel
        self.streaming = version.streams
        self.b = kernel.body
        self.ends: list[Atom] = []
        self.scratch: dict[int, tuple[Var, ...]] = {}  # of sinks whose elements wait there
        self.scratch_room = 0
        cache = version.step(Cache)
        self.evaluated_at = cache.at if cache else None
        self.total = kernel.capture(total)
        self.size = kernel.capture(size)
        self.shape = tuple(kernel.scalar(extent) for extent in self.op.shape)

    def block(self) -> tuple[Atom, Atom, Atom]:
        """This block's number, and where its elements start and stop."""
        if self.lowering.machine.one_block:
            return index(0), index(0), self.total
        block = self.b.emit(BlockIndex())[0]
        if self.located is not None and self.plan.bind.rows:
            rows = rows_of(self.kernel, self.located)
            blocks = row_lookup.groups(self.b, rows.count, self.plan.bind.rows)
            share = self._share_of_sources(self.b, block, blocks)
            return block, *share
        lo = self.b.mul(block, self.size)
        return block, lo, self.b.apply("minimum", self.b.add(lo, self.size), self.total)

    def share(self, b: Builder, block: Atom, blocks: Atom) -> tuple[Atom, Atom]:
        """Where the elements of one of `blocks` equal parts start and stop."""
        if self.located is not None and self.plan.bind.rows:
            return self._share_of_sources(b, block, blocks)
        blocks = b.apply("maximum", blocks, index(1))  # so that a division needs no guard
        lo = b.apply("floordiv", b.mul(block, self.total), blocks)
        return lo, b.apply("floordiv", b.mul(b.add(block, index(1)), self.total), blocks)

    def _share_of_sources(self, b: Builder, block: Atom, blocks: Atom) -> tuple[Atom, Atom]:
        sources, rows, mix = self.plan.bind.rows, self.rows(), self.version.rows.mixed
        return row_lookup.share_of(sources, b, rows, self.total, block, blocks, mix=mix)

    def call(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        return call_operator(self.lowering, self.kernel, b, fn, args)

    def function(self, b: Builder, fn: Lambda) -> Lambda:
        elements = Elements(self.kernel, index(0), self.lowering.checks)
        return elements.function(b, fn)

    def operator(self, fn: Lambda, neutral: Sequence[Atom]) -> Operator:
        """An operator of the program and its neutral element, inside the kernel."""
        return operator_in(self.kernel, fn, neutral, self.lowering.checks)

    def joint_operator(self, records: Sequence[ScanRecord]) -> Operator:
        """All records of a level as one operator on tuples of their carries."""
        return reduce(together, [self.operator_on_carries(k) for k in records])

    def operator_on_carries(self, record: ScanRecord) -> Operator:
        """The operator on a record's carries."""
        return self.operator(record.carried.fn, record.carried.neutral)

    def operator_of(self, record: ScanRecord) -> Operator:
        """The operator on a record's elements, which continue from its carries."""
        operator = self.operator(record.fn, record.neutral)
        if record.wide is None:
            return operator
        own, wide = (types_of(k.neutral) for k in (record, record.wide))
        carried = Carried(
            self.operator_on_carries(record).combine,
            lambda b, values: cast_each(b, values, wide), lambda b, carry: cast_each(b, carry, own),
        )  # fmt: skip
        return replace(operator, carried=carried)

    def scalars(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.kernel.scalar(atom) for atom in atoms)

    def traverse(
        self, accumulators: Sequence[Operator], how: RFactor = NO_REDUCTION,
        width: int | None = None,
    ) -> Traversal:  # fmt: skip
        """How this sweep visits the positions of a block, to combine them so."""
        lanes, kept = self.version.lanes, tuple(accumulators)
        space = Space(self.lowering.machine, self.shape, self.total, self.op.reverse)
        if How.BLOCKED in how.hows:
            return Blocked(space, how.width, kept, how.heavy)
        width = self.version.width if width is None else width
        if self.located is not None:
            return self._along_rows(space, width, kept)
        if self.evaluated_at is Memory.REGISTERS:
            each = self.plan.bind.most // (width * self.lowering.machine.warps)
            return Turns(space, width, kept, each)
        match lanes.axis:
            case Axis.FOLD:
                return OneByOne(space, 0, kept)
            case Axis.LAST:
                return row_by_row.RowByRow(space, width, kept, lanes, self.version.panel)
            case _:
                return Flat(space, how.width or width, kept, lanes)

    def _along_rows(
        self, space: Space, width: int, accumulators: tuple[Operator, ...]
    ) -> Traversal:
        lanes, rows = self.version.lanes, self.version.rows
        made = (space, width, accumulators, self.rows(), lanes.peel, rows.mixed)
        match rows.along:
            case Along.ROW if width:
                return ragged_rows.ByRow(*made, lanes)
            case Along.ROWS if width > 1:
                return ragged_rows.ByLane(*made)
            case Along.WARPS if width > 1:
                return ragged_rows.ByWarp(*made)
            case Along.SEARCH if width > 1:
                return ragged_row_search.BySearch(*made)
            case Along.COST if width > 1:
                assert self.located is not None
                scattered = row_per_lane(space.machine) * side_by_side(self.op, self.located)
                return ragged_row_search.ByCost(*made, cost_of_body(self.op.body) + SUNK, scattered)
            case Along.FILL:
                stored = [scalar_type(result) for result in self.op.body.results]
                filled = ragged_rows.FillRows(*made, self._left)
                return replace(filled, width=self.lowering.machine.lanes(stored))
            case _:
                return ragged_rows.ByPosition(*made)

    def _left(self, b: Builder, position: Position) -> list[Atom]:
        """For each read along rows, how many elements there are from where it reads on."""
        assert self.located is not None
        found = []
        for read in dict.fromkeys(reads_of_runs(self.op, self.located) or ()):
            extent = self.kernel.scalar(array_type(read.xs).shape[-1])
            found.append(b.sub(extent, self.value_at(b, position, read.indices[-1])))
        return found

    def rows(self) -> row_lookup.Rows:
        """The rows that positions are located among."""
        assert self.located is not None
        return rows_of(self.kernel, self.located)

    def elements(self, position: Position) -> Elements:
        lanes = self.version.lanes
        fold_width = lanes.width if position.alone and lanes.axis is Axis.FOLD else 1
        elements = Elements(
            self.kernel, position.flat, self.lowering.checks, fold_width
        )
        elements.env.update(zip(self.op.body.params, position.indices, strict=True))
        elements.own, elements.shape, elements.tile = position.indices, self.shape, position.tile
        elements.located, elements.row = self.located, position.row
        elements.step, elements.machine = position, self.lowering.machine
        elements.parts = self.facts.words(elements.machine)
        elements.searches = self.facts.searches(elements.machine)
        if elements.machine.threads_are_long:
            elements.even_folds = [fold for fold, _ in self.facts.even_folds]
        if position.fetches and self.facts.neighbours is not None:
            elements.furthest = self.facts.neighbours.furthest
        elements.ahead = bool(self.scratch)
        if position.is_head is not None and self.heads is not None:
            elements.env.update(dict.fromkeys(self.heads.flags, position.is_head))
        return elements

    def value_at(self, b: Builder, position: Position, atom: Atom) -> Atom:
        """The results of the body at a position, which depend only on its elements."""
        elements = self.elements(position)
        elements.emit(b, needed_for(self.op.body.lets, [atom]))
        return elements.atom(atom)


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
