"""All passes over a block of a sweep, in order."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.lower.scan.look_back import Chain
from flatweave.lower.scan.two_pass import slot_of_warp, store_aggregate
from flatweave.lower.schedule.plan import Evaluation, How
from flatweave.lower.schedule.scan_levels import with_slots
from flatweave.lower.sinks.single_evaluation import SingleEvaluation
from flatweave.lower.sweep.last_pass import LastPass
from flatweave.lower.sweep.prefixes import Prefixes
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.saved_bits import room_for_bits
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var


class Passes:
    """The passes of one kernel."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.prefixes = Prefixes(writer)
        self.last_pass = LastPass(writer)

    def write(self) -> None:
        self.write_block(*self.writer.block())

    def write_block(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """All passes over one block."""
        writer = self.writer
        if writer.plan.evaluation is Evaluation.ONCE:
            return self._keep(block, lo, hi)
        for record, how in writer.hows().items():
            if how is How.SAVED:
                writer.saved_bits[record] = room_for_bits(writer.b, writer.plan.tiling, lo)
        carried = self.prefixes.find(block, lo, hi)
        self.last_pass.write(block, lo, hi, carried, self.last_pass.write_combining(carried))

    def _keep(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """The last pass comes first; what it kept is moved when what came before is known."""
        writer = self.writer
        (chain,), (records,) = writer.outputs.chains, writer.scans.levels
        assert isinstance(chain, Chain)
        kept = SingleEvaluation(writer.kernel, writer.outputs.compacts, writer.plan.tiling.most)
        writer.ends.extend(index(kept.room) for _ in records)
        counts = self.last_pass.write(block, lo, hi, tuple(index(0) for _ in records), kept)
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
        slot = slot_of_warp(writer.b, writer.low.machine, block)
        store_aggregate(writer.b, writer.kernel, aggregates, slot, values)
