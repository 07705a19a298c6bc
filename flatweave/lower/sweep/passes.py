"""All passes over a block of a sweep, in order."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.lower.scan.look_back import Chain, WordChain
from flatweave.lower.scan.one_block import OnlyBlock
from flatweave.lower.scan.two_pass import store_aggregate
from flatweave.lower.schedule.scan_levels import with_slots
from flatweave.lower.sweep.kept_scans import KeptScans
from flatweave.lower.sweep.last_pass import LastPass
from flatweave.lower.sweep.prefixes import Prefixes
from flatweave.lower.sweep.single_evaluation import SingleEvaluation
from flatweave.lower.sweep.sink import LoweredSink
from flatweave.lower.sweep.write_combining import WriteCombining
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.lower.traverse.saved_bits import room_for_bits
from flatweave.lower.traverse.warp_share import slot_of_warp
from flatweave.nest.schedule import Axis, How, Memory
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var


class Passes:
    """The passes of one kernel."""

    def __init__(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        self.writer = writer
        self.compacts = {sink.number: sink.compacted for sink in sinks if sink.compacted}
        kept = KeptScans(writer) if writer.evaluated_at is Memory.REGISTERS else None
        self.prefixes = Prefixes(writer, kept)
        self.last_pass = LastPass(writer, sinks, kept)

    def write(self) -> None:
        self.write_block(*self.writer.block())

    def write_block(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """All passes over one block."""
        writer = self.writer
        if writer.evaluated_at is Memory.SCRATCH:
            return self._keep(block, lo, hi)
        width, most = writer.version.width, writer.plan.bind.most
        for record, how in writer.hows().items():
            if how is How.SAVED:
                writer.saved_bits[record] = room_for_bits(writer.b, width, most, lo)
        carried = self.prefixes.find(block, lo, hi)
        writer.scratch = self._write_combining(carried)
        ends = list(self.last_pass.write(block, lo, hi, carried))
        for chain in writer.chains:
            if isinstance(chain, OnlyBlock):
                chain.leave(writer.kernel, ends)
                ends = ends[len(chain.first) :]

    def _write_combining(self, carried: State) -> WriteCombining | None:
        """Scratch memory for kept elements that go around the caches."""
        writer = self.writer
        in_order = writer.version.lanes.axis is not Axis.LAST
        if not (writer.streaming and self.compacts and in_order):
            return None
        slots = {k: writer.scans.slot_of_count(k) for k in self.compacts}
        return WriteCombining(writer.kernel, self.compacts, slots, carried)

    def _keep(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """The last pass comes first; what it kept is moved when what came before is known."""
        writer = self.writer
        (chain,), (records,) = writer.chains, writer.scans.levels
        assert isinstance(chain, Chain | WordChain)
        kept = SingleEvaluation(writer.kernel, self.compacts, writer.plan.bind.most)
        writer.scratch = kept
        writer.ends.extend(index(kept.room) for _ in records)
        counts = self.last_pass.write(block, lo, hi, tuple(index(0) for _ in records))
        starts, _ = self.prefixes.go_on(chain, block, records, counts)
        for slot, record in with_slots(records):
            kept.move(writer.b, record, starts[slot], counts[slot], writer.streaming)

    def write_aggregates(self, level: int, aggregates: Sequence[Var]) -> None:
        """The first launch of a two-pass scan: what each warp's elements combine to."""
        writer = self.writer
        block, lo, hi = writer.block()
        carried = self.prefixes.find(block, lo, hi)
        records = writer.scans.levels[level]
        values = self.prefixes.aggregates.reduce_level(level, records, lo, hi, carried)
        slot = slot_of_warp(writer.b, writer.lowering.machine, block)
        store_aggregate(writer.b, writer.kernel, aggregates, slot, values)
