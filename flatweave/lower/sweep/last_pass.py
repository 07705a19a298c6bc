"""The last pass over a block: evaluate its elements, go on from their prefixes, feed the sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.algorithms.meet import meet, on_first_warp
from flatweave.base.records import replace
from flatweave.kernel_ir.syntax import Store
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.lower.sweep.aggregates import Aggregates
from flatweave.lower.sweep.head_flags import along_head_flags
from flatweave.lower.sweep.kept_scans import KeptScans
from flatweave.lower.sweep.scanned_body import ScannedBody
from flatweave.lower.sweep.sink import LoweredSink, Share, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.flat import Flat
from flatweave.lower.traverse.in_stretches import InStretches
from flatweave.lower.traverse.position import Position, State, count_lanes
from flatweave.lower.traverse.steps import steps_of
from flatweave.lower.traverse.stretches import Stretches, stretches_of
from flatweave.lower.traverse.traversal import Traverses
from flatweave.lower.traverse.warp_share import slot_of_warp
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Lambda, Let
from flatweave.terms.traverse import needed_for


class LastPass:
    """The pass that feeds the sinks."""

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[LoweredSink], kept: KeptScans | None = None
    ) -> None:
        self.kept = kept
        self.writer = writer
        self.sinks = sinks
        self.body = ScannedBody(writer)
        self.aggregates = Aggregates(writer)

    def write(self, block: Atom, lo: Atom, hi: Atom, carried: State) -> State:
        """Evaluate the block and feed its sinks; the carries behind its last element."""
        writer, fold_step = self.writer, self.aggregates.fold_step
        combines = writer.facts.combines
        lanewise, ordered, plain = self.aggregates.arrange(combines, writer.version.combines)
        walk = along_head_flags(plain, writer.heads, writer.kernel, writer.b)
        records = (*lanewise, *ordered)
        lets = writer.heads.lets if writer.heads else writer.op.body.lets
        entered = self._enter(block, lo, hi)

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            carries, depth = state[len(first) :], writer.scans.depth
            if self.kept is not None:
                known = self.kept.emit(b, elements, position, carries)
            else:
                known = self.body.emit(b, elements, lets, depth, position, carries)
            out: list[Atom] = []
            for record in records:
                part = state[len(out) : len(out) + len(record.neutral)]
                is_ordered = record in ordered
                out.extend(fold_step(b, elements, record, part, position, is_ordered))
            inside = b.inner() if position.active is not None else b
            fed = SinkStep(b, inside, elements, position, carries)
            for sink, start in entered:
                part = state[len(out) : len(out) + len(start)]
                out.extend(sink.step(writer, fed, part))
            if position.active is not None and inside.lets:
                b.emit(If(position.active, inside.close([], []), NO_BODY))
            return (*out, *self._advance(b, elements, position, known))

        combined = [atom for k in records for atom in writer.scalars(k.neutral)]
        first = [*combined, *(atom for _, start in entered for atom in start)]
        state = (*first, *carried)
        alone = len(lanewise) == len(self.sinks) and len(state) == len(combined)
        if alone and isinstance(walk, Flat) and (apart := self._places(walk, lanewise)):
            results = self._apart(walk, lanewise, apart, lo, hi)
        elif writer.scratch is None:
            results = walk.block(writer.b, lo, hi, state, step)
        else:
            results = writer.scratch.block(writer.b, walk, lo, hi, state, step, len(first))
        if records:
            self._leave_partials(block, combines, records, results)
        at = len(combined)
        for sink, start in entered:
            if start:
                slot = slot_of_warp(writer.b, writer.lowering.machine, block)
                part = results[at : at + len(start)]
                sink.leave(writer, slot, carried, part, results[len(first) :])
            at += len(start)
        return results[len(first) :]

    def _places(
        self, walk: Flat, records: Sequence[ScanRecord]
    ) -> dict[ScanRecord, InStretches]:
        """The traversals of what decides alone, for reductions that give the place of an element;
        beside others where computing elements twice costs less than those would cost with it."""
        writer, op, found = self.writer, self.writer.op, {}
        if len(op.shape) > 1 or op.reverse or walk.width == 1 or walk.reach:
            return {}
        for number, record in enumerate(records):
            lets = needed_for(op.body.lets, record.args)
            cheap = cost_of_body(Lambda((), lets, ())) <= cost_of_body(record.fn)
            stretches = stretches_of(
                writer.lowering.machine, record.fn, writer.scalars(record.neutral), op.body.lets,
                record.args, op.body.params[0], writer.plan.bind.most,
            )  # fmt: skip
            if stretches is not None and (cheap or len(records) == 1):
                mine = replace(walk, accumulators=walk.accumulators[number : number + 1])
                found[record] = self._in_stretches(mine, stretches, record, lets)
        return found

    def _in_stretches(
        self, walk: Flat, stretches: Stretches, record: ScanRecord, lets: Sequence[Let]
    ) -> InStretches:
        """The same traversal, of what decides alone."""
        writer = self.writer

        def call(b: Builder, atoms: Sequence[Atom]) -> Sequence[Atom]:
            return writer.call(b, record.fn, atoms)

        def values(b: Builder, base: Atom, width: int) -> Sequence[Atom]:
            elements = writer.elements(walk.whole_step(b, base, width))
            elements.emit(b, lets)
            return elements.atoms(record.args)

        return InStretches(walk, stretches, call, values)

    def _apart(
        self, walk: Flat, records: Sequence[ScanRecord], apart: Mapping[ScanRecord, InStretches],
        lo: Atom, hi: Atom,
    ) -> State:  # fmt: skip
        """What a block combines to: each of some reductions by itself, the others together."""
        others = [record for record in records if record not in apart]
        numbers = [records.index(record) for record in others]
        rest = replace(walk, accumulators=tuple(walk.accumulators[k] for k in numbers))
        walks: list[tuple[Traverses, list[ScanRecord]]]
        walks = [(each, [record]) for record, each in apart.items()]
        found: dict[ScanRecord, State] = {}
        for each, together in [*walks, (rest, others)] if others else walks:
            results = self._together(each, together, lo, hi)
            for record in together:
                size = len(record.neutral)
                found[record], results = results[:size], results[size:]
        return tuple(atom for record in records for atom in found[record])

    def _together(
        self, walk: Traverses, records: Sequence[ScanRecord], lo: Atom, hi: Atom
    ) -> State:
        """What a block combines to by some reductions."""
        writer = self.writer
        lets = needed_for(writer.op.body.lets, [atom for k in records for atom in k.args])

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            self.body.emit(b, elements, lets, writer.scans.depth, position, ())
            out: list[Atom] = []
            for record in records:
                part = state[len(out) : len(out) + len(record.neutral)]
                out.extend(self.aggregates.fold_step(b, elements, record, part, position, False))
            return tuple(out)

        first = [atom for k in records for atom in writer.scalars(k.neutral)]
        return walk.block(writer.b, lo, hi, tuple(first), step)

    def _enter(self, block: Atom, lo: Atom, hi: Atom) -> list[tuple[LoweredSink, State]]:
        """The sinks, those that carry something first, with what they begin with."""
        writer = self.writer
        b, machine = writer.b, writer.lowering.machine
        leads: Atom = FALSE
        if any(sink.carries for sink in self.sinks):
            lo, _, hi = steps_of(machine).share(b, lo, hi, writer.version.width)
            leads = b.apply("eq", slot_of_warp(b, machine, block), index(0))
        share = Share(lo, hi, writer.total, leads)
        order = sorted(self.sinks, key=lambda sink: not sink.carries)
        return [(sink, sink.enter(writer, share)) for sink in order]

    def _advance(
        self, b: Builder, elements: Elements, position: Position, carries: State
    ) -> State:
        """The carries after the last pass's sinks: where the next step's kept elements go."""
        after = list(carries)
        for slot, record in with_slots(self.writer.scans.records):
            if record.compact is not None:
                flag = self.body.flag(b, elements, record, position, last=True)
                after[slot] = b.add(carries[slot], count_lanes(b, flag, position.width))
        return tuple(after)

    def _leave_partials(
        self, block: Atom, combines: Sequence[ScanRecord], records: Sequence[ScanRecord],
        results: State,
    ) -> None:  # fmt: skip
        """What the block's elements combine to, warps in order."""
        writer = self.writer
        warps = writer.lowering.machine.warps
        reducing = [sink for sink in self.sinks if sink.partials]
        buffers = [
            writer.kernel.buffer(buffer)
            for record in records
            for buffer in reducing[combines.index(record)].partials
        ]
        values = results[: len(buffers)]

        def leave(b: Builder) -> None:
            for buffer, value in zip(buffers, values, strict=True):
                b.emit(Store(buffer, block, value))

        if warps == 1:
            return leave(writer.b)
        values = meet(writer.b, writer.joint_operator(records), values, warps)[1]
        on_first_warp(writer.b, leave)
