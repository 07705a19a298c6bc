"""What lies before a block and a warp, combined: by look-back, or known from launches before."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.look_back import Before, go_on
from flatweave.algorithms.meet import by_first_warp, meet
from flatweave.algorithms.operator import Operator
from flatweave.algorithms.slots import Slots
from flatweave.algorithms.window import lanes_look_back
from flatweave.algorithms.words import Words
from flatweave.base.dtypes import i64
from flatweave.base.records import replace
from flatweave.kernel_ir.arrays import dtypes_of
from flatweave.lower.scan.called_operator import called
from flatweave.lower.scan.look_back import Chain, WordChain
from flatweave.lower.scan.one_block import OnlyBlock
from flatweave.lower.scan.two_pass import KnownPrefixes, load_prefix
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.sweep.aggregates import Aggregates
from flatweave.lower.sweep.kept_scans import KeptScans
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import State
from flatweave.lower.traverse.warp_share import slot_of_warp
from flatweave.passes.operators import is_exact
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


class Prefixes:
    """How this warp learns where its elements start and end in each scan."""

    def __init__(self, writer: KernelWriter, kept: KeptScans | None) -> None:
        self.writer = writer
        self.aggregates = Aggregates(writer)
        self.kept = kept

    def find(self, block: Atom, lo: Atom, hi: Atom) -> State:
        """For each chain, all elements before those of this warp combined."""
        writer = self.writer
        carried: State = ()
        for level, chain in enumerate(writer.chains):
            records = writer.scans.levels[level]
            if isinstance(chain, KnownPrefixes):
                slot = slot_of_warp(writer.b, writer.lowering.machine, block)
                prefix = load_prefix(writer.b, writer.kernel, chain, slot)
                end = load_prefix(writer.b, writer.kernel, chain, writer.b.add(slot, index(1)))
            elif isinstance(chain, OnlyBlock):
                prefix = chain.inside(writer.kernel)
                end = tuple(writer.total for _ in prefix)  # more than this it cannot keep
            else:
                if self.kept is not None:
                    mine = self.kept.aggregate(level, lo, hi, carried)
                else:
                    mine = self.aggregates.reduce_level(level, records, lo, hi, carried)
                prefix, end = self.go_on(chain, block, records, mine)
            carried = (*carried, *prefix)
            writer.ends.extend(end)
        return carried

    def go_on(
        self, chain: Chain | WordChain, block: Atom, records: Sequence[ScanRecord], mine: State
    ) -> tuple[State, State]:
        """Where this warp's elements start and end in the single-pass scan."""
        writer = self.writer
        warps, operator = writer.lowering.machine.warps, writer.joint_operator(records)
        types = dtypes_of(writer.b, mine)

        join = called(writer.b, [record.carried.fn for record in records], types, operator.combine)
        slots = chain.inside(writer.kernel)
        if warps == 1:
            return go_on(writer.b, slots, block, mine, join)
        before, whole = meet(writer.b, operator, mine, warps)
        look = self._by_lanes(records, slots, block, replace(operator, combine=join))
        of_block = by_first_warp(
            writer.b, types, lambda b: go_on(b, slots, block, whole, join, look)[0]
        )
        prefix = operator.combine(writer.b, of_block, before)
        return prefix, operator.combine(writer.b, prefix, mine)

    def _by_lanes(
        self, records: Sequence[ScanRecord], slots: Slots | Words, block: Atom,
        operator: Operator,
    ) -> Before | None:  # fmt: skip
        """What looks back by all lanes of a warp, where these may meet without other warps."""
        machine = self.writer.lowering.machine
        if not machine.warps_meet_alone:
            return None
        exact, width = all(is_exact(record.carried.fn) for record in records), machine.lanes([i64])
        return lanes_look_back(self.writer.b, slots, block, operator, width, exact=exact)
