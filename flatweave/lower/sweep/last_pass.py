"""The last pass over a block: evaluate its elements, go on from their prefixes, feed the sinks."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.kernel_ir.syntax import Store
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.scan.two_pass import slot_of_warp
from flatweave.lower.scan.warps import meet, on_first_warp
from flatweave.lower.schedule.plan import Lanes
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.lower.sinks.elementwise import SinkWriter, slot_of_compact
from flatweave.lower.sinks.segment_rows import Share
from flatweave.lower.sinks.segment_writers import SegmentWriters
from flatweave.lower.sinks.segments import SegmentWriter, closes
from flatweave.lower.sinks.single_evaluation import SingleEvaluation
from flatweave.lower.sinks.write_combining import WriteCombining
from flatweave.lower.sweep.aggregates import Aggregates
from flatweave.lower.sweep.head_flags import along_head_flags
from flatweave.lower.sweep.scanned_body import ScannedBody
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State, count_lanes
from flatweave.lower.traverse.warp_share import warp_share
from flatweave.ops import Combine
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


class LastPass:
    """The pass that feeds the sinks."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.body = ScannedBody(writer)
        self.aggregates = Aggregates(writer)

    def write(
        self, block: Atom, lo: Atom, hi: Atom, carried: State,
        staging: WriteCombining | SingleEvaluation | None,
    ) -> State:  # fmt: skip
        """Evaluate the block and feed its sinks; the carries behind its last element."""
        writer = self.writer
        combines = writer.facts.combines
        lanewise, ordered, plain = self.aggregates.arrange(combines, writer.plan.combines)
        walk = along_head_flags(plain, writer.heads, writer.kernel, writer.b)
        records = (*lanewise, *ordered)
        segments = self._segments(block, lo, hi)
        lets = writer.heads.lets if writer.heads else writer.op.body.lets
        sinks = SinkWriter(
            writer.op, writer.scans, writer.outputs, writer.kernel, writer.total, writer.streaming,
            writer.ends, staging,
        )  # fmt: skip

        fold_step = self.aggregates.fold_step

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            carries, depth = state[len(first) :], writer.scans.depth
            known = self.body.emit(b, elements, lets, depth, position, carries)
            out: list[Atom] = []
            for record in records:
                part = state[len(out) : len(out) + len(record.neutral)]
                is_ordered = record in ordered
                out.extend(fold_step(b, elements, record, part, position, is_ordered))
            for segment in segments:
                part = state[len(out) : len(out) + segment.size]
                close = self._closing(b, elements, position, segment.start)
                out.extend(segment.step(b, elements, position, close, part, carries))
            sinks.write(b, elements, position, carries)
            return (*out, *self._advance(b, elements, position, known))

        combined = [atom for k in records for atom in writer.scalars(k.neutral)]
        first = [*combined, *(atom for segment in segments for atom in segment.enter())]
        if staging is None:
            results = walk.block(writer.b, lo, hi, (*first, *carried), step)
        else:
            results = staging.block(
                writer.b, walk, lo, hi, (*first, *carried), step, carries=len(first)
            )
        if records:
            self._leave_partials(block, combines, records, results)
        start = len(combined)
        for segment in segments:
            slot = slot_of_warp(writer.b, writer.low.machine, block)
            part = results[start : start + segment.size]
            segment.leave(writer.b, slot, carried, part, results[len(first) :])
            start += segment.size
        return results[len(first) :]

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

    def _closing(
        self, b: Builder, elements: Elements, position: Position, start: Atom
    ) -> Atom:
        """Which elements close a segment before them, given what says that they start one."""
        records = (k for k in self.writer.scans.records if k.closing and k.args == (start,))
        for record in records:
            return self.body.flag(b, elements, record, position, last=True)
        return closes(b, elements.atom(start), position)

    def _segments(self, block: Atom, lo: Atom, hi: Atom) -> list[SegmentWriter]:
        """The writers of the sinks that combine segments."""
        writer = self.writer
        if not writer.outputs.segments:
            return []
        b, machine = writer.b, writer.low.machine
        if machine.simt:
            lo, _, hi = warp_share(b, machine, lo, hi, writer.traversal.width)
        leads = b.apply("eq", slot_of_warp(b, machine, block), index(0))
        share, outputs = Share(lo, hi, writer.total, leads), writer.outputs.segments
        maker = SegmentWriters(writer.low, writer.op, writer.kernel, writer.elements, share)
        return maker.make(b, outputs, writer.scans, writer.ends, writer.heads)

    def write_combining(self, carried: State) -> WriteCombining | None:
        """Stages for kept elements where they go around the caches."""
        writer = self.writer
        compacts = writer.outputs.compacts
        if not (writer.streaming and compacts) or writer.traversal.lanes is Lanes.ROW_BY_ROW:
            return None
        slots = {k: slot_of_compact(writer.scans, k) for k in compacts}
        return WriteCombining(writer.kernel, compacts, slots, carried)

    def _leave_partials(
        self, block: Atom, combines: Sequence[ScanRecord], records: Sequence[ScanRecord],
        results: State,
    ) -> None:  # fmt: skip
        """What the block's elements combine to, warps in order."""
        writer = self.writer
        warps = writer.low.machine.warps
        of_sink = [k for k, sink in enumerate(writer.op.sinks) if isinstance(sink, Combine)]
        buffers = [
            writer.kernel.buffer(buffer)
            for record in records
            for buffer in writer.outputs.partials[of_sink[combines.index(record)]]
        ]
        values = results[: len(buffers)]

        def leave(b: Builder) -> None:
            for buffer, value in zip(buffers, values, strict=True):
                b.emit(Store(buffer, block, value))

        if warps == 1:
            return leave(writer.b)
        neutral = writer.scalars([atom for record in records for atom in record.neutral])
        values = meet(writer.b, warps, writer.operator(records), neutral, values)[1]
        on_first_warp(writer.b, leave)
