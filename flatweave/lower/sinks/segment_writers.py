"""Which writer each sink of a sweep has that combines segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flatweave.base.errors import CompilerBug
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements, rows_of
from flatweave.lower.schedule.head_flags import HeadFlags
from flatweave.lower.schedule.scan_levels import ScanLevels
from flatweave.lower.sinks.elementwise import slot_of_compact
from flatweave.lower.sinks.outputs import Segmented
from flatweave.lower.sinks.segment_rows import RowAt, Share, filled_rows, located_rows, results_of
from flatweave.lower.sinks.segments import Consecutive, Places, SegmentWriter
from flatweave.lower.traverse.position import Position
from flatweave.ops import CombineRows, CombineSegments, Prefix, Sweep
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import needed_for


@dataclass(frozen=True, eq=False)
class SegmentWriters:
    """What the writers of one kernel have in common."""

    low: Lowering
    op: Sweep
    kernel: KernelBuilder
    elements: Callable[[Position], Elements]
    share: Share

    def make(
        self, b: Builder, segments: Mapping[int, Segmented], scans: ScanLevels,
        ends: Sequence[Atom], heads: HeadFlags | None,
    ) -> list[SegmentWriter]:  # fmt: skip
        """A writer for each sink; `ends` says how many segments are closed behind the share."""
        writers = []
        for k, buffers in segments.items():
            sink, taken = self.op.sinks[k], self.op.portions()[k]
            assert isinstance(sink, CombineRows | CombineSegments)
            if isinstance(sink, CombineRows):
                places = self._rows(b, sink, buffers, taken[0], heads)
            else:
                slot = slot_of_compact(scans, k)
                places = Consecutive(slot, ends[slot])
            writers.append(SegmentWriter(self.low, self.kernel, sink, taken, buffers, places))
        return writers

    def _rows(
        self, b: Builder, sink: CombineRows, buffers: Segmented, row: Atom,
        heads: HeadFlags | None,
    ) -> Places:  # fmt: skip
        machine, results = self.low.machine, results_of(self.kernel, sink, buffers)
        if heads is None:
            return filled_rows(b, machine, results, row, self._row_at(row), self.share)
        located = rows_of(self.kernel, heads.located)
        return located_rows(b, machine, results, located, self.share)

    def _row_at(self, row: Atom) -> RowAt:
        """What emits the row of any position."""
        lets = needed_for(self.op.body.lets, [row])
        if any(isinstance(let.op, Prefix) for let in lets):
            raise CompilerBug("the row of combine_rows depends on a prefix.")

        def at(b: Builder, flat: Atom) -> Atom:
            shape = [self.kernel.scalar(extent) for extent in self.op.shape]
            elements = self.elements(Position(flat, b.unravel(flat, shape), 1, alone=True))
            elements.emit(b, lets)
            return elements.atom(row)

        return at
