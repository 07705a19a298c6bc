"""A scan whose elements are evaluated once, and stay in the registers of threads meanwhile.

    first, for each step k    x = f elements;  kept[k] = all of the warp's up to x;  live[k] = x
    look back                 the prefix before the warp; each further level repeats both lines
    then, for each step k     y = before fn kept[k], and what the sinks want of y and live[k]

So memory is read once, and one more application of the operator for each element replaces a second
scan. All loads of a thread are in flight at once. Steps run along memory, so nothing is transposed:
lanes exchange values by shuffles.

Where prefixes restart at flags, the prefix before the warp applies to the elements before the first
flag. Of the flags, only the index of that element is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.lanes import EMPTY, scan_step, segmented_scan_step
from flatweave.algorithms.operator import select
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.lower.element_functions import Elements
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.lower.schedule.tiling import kept_of
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State, while_active
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, Var, scalar_type, types_of


class KeptScans:
    """The values that each thread of a block stores of its elements."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        kept = kept_of(writer.facts)
        assert kept is not None
        self.kept, self.width = kept, writer.version.width
        self.each = writer.plan.bind.most // (self.width * writer.lowering.machine.warps)
        records = writer.scans.records
        self.prefixes = {
            record: [self._room(atom) for atom in _values_of(record).neutral] for record in records
        }
        self.live = [{var: self._room(var) for var in live} for live in kept.live]
        self.firsts: dict[ScanRecord, Atom] = {}

    def _room(self, atom: Atom) -> Var:
        return self.writer.b.emit(ThreadMemory(scalar_type(atom), self.each, self.width))[0]

    @property
    def _all(self) -> Atom:
        """How many elements a warp has room for."""
        return index(self.each * self.width)

    def aggregate(self, level: int, lo: Atom, hi: Atom, carried: State) -> State:
        """Evaluate this warp's elements as far as a level needs them, from the prefixes of the
        levels below; store them and return their aggregate."""
        writer, records = self.writer, self.kept.levels[level]

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            self._recall(b, elements, position, level, carried)
            elements.emit(b, self.kept.before[level])
            for var, buffer in self.live[level].items():
                self._keep(b, buffer, position, elements.atom(var))
            after: list[Atom] = []
            for record in records:
                part = state[len(after) : len(after) + len(record.neutral)]
                found, last = self._scan(b, elements, record, part, position)
                for buffer, value in zip(self.prefixes[record], found, strict=True):
                    self._keep(b, buffer, position, value)
                after += last
            return tuple(after)

        first = [atom for record in records for atom in self._begin(record)]
        state = writer.traverse(()).block(writer.b, lo, hi, tuple(first), step)
        return self._combined(records, state)

    def _begin(self, record: ScanRecord) -> State:
        """Before all elements of a warp, none of which has a flag yet."""
        if record.inner is None:
            return self.writer.scalars(record.neutral)
        return self._all, *self.writer.scalars(record.inner.neutral)

    def _scan(
        self, b: Builder, elements: Elements, record: ScanRecord, known: State, position: Position
    ) -> tuple[State, State]:
        """The prefixes of a step within the warp, and the warp's prefix after the step."""
        assert record.prefix is not None
        exclusive: bool = record.prefix.op.exclusive  # type: ignore[attr-defined]
        operator = self.writer.operator(record.fn, record.neutral)
        values = while_active(b, elements.atoms(record.args), operator.neutral, position)
        width = position.width
        if record.inner is None:
            return scan_step(b, operator, known, values, width, exclusive=exclusive)
        alone = self.writer.operator(record.inner.fn, record.inner.neutral)
        found, last = segmented_scan_step(
            b, alone, known[1:], values[0], values[1:], width, exclusive=exclusive, branches=False
        )
        starts = b.emit(Ballot(values[0]))[0]
        here = b.add(self._number(b, position), b.cast(b.apply("ctz", starts), i64))
        here = b.apply("select", b.apply("ne", starts, EMPTY), here, self._all)
        return found, (b.apply("minimum", known[0], here), *last)

    def _number(self, b: Builder, position: Position) -> Atom:
        """The number of a step's first element among those of the warp."""
        assert position.turn is not None
        return b.mul(position.turn, index(self.width))

    def _combined(self, records: Sequence[ScanRecord], state: State) -> State:
        """The values that a warp publishes: for prefixes that restart at flags, whether one did."""
        b, out = self.writer.b, list(state)
        for slot, record in with_slots(records):
            if record.inner is not None:
                self.firsts[record] = state[slot]
                out[slot] = b.apply("lt", state[slot], self._all)
            each = slice(slot, slot + len(record.neutral))
            out[each] = cast_each(b, out[each], types_of(record.carried.neutral))
        return tuple(out)

    def _keep(self, b: Builder, buffer: Var, position: Position, value: Atom) -> None:
        assert position.turn is not None
        b.emit(Store(buffer, position.turn, value))

    def emit(
        self, b: Builder, elements: Elements, position: Position, before: State
    ) -> State:
        """Emit one step's elements again, from the prefix before the warp; return that prefix."""
        self._recall(b, elements, position, len(self.kept.levels), before)
        elements.emit(b, self.kept.behind)
        return before

    def _recall(
        self, b: Builder, elements: Elements, position: Position, level: int, before: State
    ) -> None:
        """Reload a step's values below a level; its prefixes continue from those `before`."""
        at = position.turn
        assert at is not None
        for live in self.live[:level]:
            for var, buffer in live.items():
                elements.env[var] = b.emit(Load(buffer, at))[0]
        known = [record for records in self.kept.levels[:level] for record in records]
        for slot, record in with_slots(known):
            assert record.prefix is not None
            part = before[slot : slot + len(record.neutral)]
            alone = tuple(b.emit(Load(buffer, at))[0] for buffer in self.prefixes[record])
            found = self._join(b, record, position, part, alone)
            elements.env.update(zip(record.prefix.vars, found, strict=True))

    def _join(
        self, b: Builder, record: ScanRecord, position: Position, before: State, alone: State
    ) -> State:
        """The prefix before the warp combined with the prefix in it."""
        values = _values_of(record)
        operator = self.writer.operator(values.fn, values.neutral)
        known = cast_each(b, before[-len(alone) :], types_of(values.neutral))
        found = operator.combine(b, known, alone)
        if record.inner is None:
            return found
        number = b.emit(Lane(self._number(b, position)))[0]
        return select(b, b.apply("lt", number, self.firsts[record]), found, alone)


def _values_of(record: ScanRecord) -> ScanRecord:
    """The scan of elements, without the flags at which it restarts."""
    return record.inner or record
