"""The elements of one row with which scans start, combined by one lane.

    for each element of the row
        the scans' values, from nothing on    registers, next to those of the sinks
        the sinks, with what these give

Nothing is passed on from row to row. Only the row in which a block begins goes on from what the
scans give of the elements before it, which the blocks tell each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.lanes import scan_step
from flatweave.algorithms.operator import select
from flatweave.kernel_ir.syntax import Lane
from flatweave.lower.schedule.scan_levels import record_of, with_slots
from flatweave.lower.sinks.row_elements import RowElements
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import RowOf
from flatweave.lower.traverse.steps import Position, State
from flatweave.ops import CombineRows, Prefix
from flatweave.terms.build import FALSE, Builder
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import needed_for


class RowScans(RowElements):
    """Such elements, of a sweep's rows; `before` is what scans give before the block."""

    lanes_agree = True

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[CombineRows], before: State
    ) -> None:
        super().__init__(writer, sinks)
        self.before = before
        self.width = 1

    def fold(
        self, b: Builder, row: RowOf, lo: Atom, hi: Atom, *, ahead: bool = False
    ) -> State:
        """Those from lo to hi of one row, inside of a lane."""
        anew, count = b.apply("eq", lo, row.start), len(self.neutral)
        carried: list[Atom] = []
        for slot, scan in with_slots(self.writer.scans.records):
            assert scan.inner is not None
            operator = self.writer.operator_of(scan.inner)
            before = self.before[slot + 1 : slot + len(scan.neutral)]
            first = operator.carry(b, operator.neutral)
            carried += [FALSE, *select(b, anew, first, before)]
        state = (*self.neutral, *carried)
        loop, i, known = b.iteration("i", state)
        after = self._after(loop, row, i, known)
        return loop.close_loop(lo, hi, state, after, 1)[:count]

    def _after(self, b: Builder, row: RowOf, base: Atom, known: State) -> State:
        """The state after one more element."""
        writer, count = self.writer, len(self.neutral)
        flat, carries = b.emit(Lane(base))[0], list(known[count:])
        elements = writer.elements(Position(flat, (flat,), 1, row=row))
        for let in needed_for(writer.op.body.lets, self.begun):
            scan, slot = record_of(writer.scans.records, let)
            if scan is None or scan.inner is None:
                elements.emit(b, (let,))
                continue
            assert isinstance(let.op, Prefix)
            mine, values = slice(slot + 1, slot + len(scan.neutral)), elements.atoms(scan.args[1:])
            results, carries[mine] = scan_step(
                b, writer.operator_of(scan.inner), tuple(carries[mine]), values, 1,
                exclusive=let.op.exclusive,
            )  # fmt: skip
            elements.env.update(zip(let.vars, results, strict=True))
        found = [elements.atom(atom) for atom in self.begun]
        return (*self.each(b, known[:count], found, lanewise=True), *carries)
