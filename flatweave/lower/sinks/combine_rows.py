"""Segments that are rows, combined: the result of row r goes to place r."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flatweave.base.errors import CompilerBug
from flatweave.lower.kernel.elements import rows_of
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.sinks.carry_out import segmented_buffers
from flatweave.lower.sinks.combine_segments import SegmentSink
from flatweave.lower.sinks.fold_rows import write_rows
from flatweave.lower.sinks.segment_rows import RowAt, filled_rows, located_rows, results_of
from flatweave.lower.sinks.segments import Places
from flatweave.lower.sweep.sink import HostSweep, LoweredSink, Share
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position
from flatweave.ops import Prefix
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import needed_for


class CombineRowsSink(SegmentSink):
    """Rows without elements have the neutral one, so there is a block to fill them."""

    least_blocks: ClassVar[int] = 1

    def allocate(self, sweep: HostSweep) -> None:
        room = sweep.lowering.scope.scalar(self.sink.rows)
        self.segmented = segmented_buffers(sweep.lowering, self.sink, room, sweep.blocks)

    def places(self, writer: KernelWriter, share: Share) -> Places:
        b, machine = writer.b, writer.lowering.machine
        results = results_of(writer.kernel, self.sink, self.segmented)
        if writer.heads is None:
            row = self.taken[0]
            return filled_rows(b, machine, results, row, self._row_at(writer, row), share)
        located = rows_of(writer.kernel, writer.heads.located)
        return located_rows(b, machine, results, located, share)

    def _row_at(self, writer: KernelWriter, row: Atom) -> RowAt:
        """What emits the row of any position."""
        lets = needed_for(writer.op.body.lets, [row])
        if any(isinstance(let.op, Prefix) for let in lets):
            raise CompilerBug("the row of combine_rows depends on a prefix.")

        def at(b: Builder, flat: Atom) -> Atom:
            shape = [writer.kernel.scalar(extent) for extent in writer.op.shape]
            elements = writer.elements(Position(flat, b.unravel(flat, shape), 1, alone=True))
            elements.emit(b, lets)
            return elements.atom(row)

        return at

    def bind(self, sweep: HostSweep) -> None:
        scope = sweep.lowering.scope
        extent = scope.scalar(self.sink.rows)
        for var, buffer in zip(self.vars, self.segmented.results, strict=True):
            scope.bind(var, HostArray(buffer, (extent,)))

    def write_alone(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        write_rows(writer, [s for s in sinks if isinstance(s, SegmentSink)])
