"""What the elements of a block combine to: the first passes over it, before its prefix is known."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.lanes import reduce_step
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.scan.segmented import reduce_from_last_head
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.sweep.scanned_body import ScannedBody
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State, count_lanes, while_active
from flatweave.lower.traverse.traversal import Traversal
from flatweave.nest.schedule import How, RFactor
from flatweave.terms.build import Builder
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, types_of
from flatweave.terms.traverse import needed_for


class Aggregates:
    """The passes over one block that do nothing but combine its elements."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.body = ScannedBody(writer)

    def reduce_level(
        self, level: int, records: Sequence[ScanRecord], lo: Atom, hi: Atom, carried: State
    ) -> State:
        """The aggregate of the block for one chain; the chains before it are known."""
        writer = self.writer
        plan = writer.plan.levels[level]
        how, *others = plan.factors
        by_heads = [records[k] for k in plan.from_heads]
        rest = [k for k in records if k not in by_heads]
        found = self._reduce(level, rest, how, lo, hi, carried) if rest else {}
        left = iter(others)

        def reduce(inner: Sequence[ScanRecord], first: Atom) -> dict[ScanRecord, State]:
            return self._reduce(0, inner, next(left), first, hi, ())

        b, walk, value_at = writer.b, writer.traverse(()), writer.value_at
        found.update(reduce_from_last_head(b, walk, by_heads, lo, hi, value_at, reduce))
        return tuple(atom for record in records for atom in found[record])

    def _reduce(
        self, level: int, records: Sequence[ScanRecord], how: RFactor, lo: Atom, hi: Atom,
        carried: State,
    ) -> dict[ScanRecord, State]:  # fmt: skip
        """What the elements lo to hi combine to for some records of one chain."""
        writer = self.writer
        lanewise, ordered, walk = self.arrange(records, how)
        lets = needed_for(writer.op.body.lets, [a for k in records for a in k.args])

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            start = sum(len(k.neutral) for k in (*lanewise, *ordered))
            known = self.body.emit(b, elements, lets, level, position, state[start:])
            out: list[Atom] = []
            for record in (*lanewise, *ordered):
                part = state[len(out) : len(out) + len(record.neutral)]
                out.extend(self.fold_step(b, elements, record, part, position, record in ordered))
            return (*out, *known)

        first = [
            atom for k in (*lanewise, *ordered) for atom in writer.scalars(k.carried.neutral)
        ]
        results = walk.block(writer.b, lo, hi, (*first, *carried), step)
        by_link: dict[ScanRecord, State] = {}
        start = 0
        for record in (*lanewise, *ordered):
            by_link[record] = results[start : start + len(record.neutral)]
            start += len(record.neutral)
        return by_link

    def arrange(
        self, records: Sequence[ScanRecord], plan: RFactor
    ) -> tuple[list[ScanRecord], list[ScanRecord], Traversal]:
        """What each lane accumulates, what is combined across lanes at each step; the traversal."""
        writer = self.writer
        pairs = list(zip(records, plan.hows, strict=True))
        lanewise = [k for k, how in pairs if how in (How.LANEWISE, How.BLOCKED)]
        ordered = [k for k, how in pairs if k not in lanewise]
        walk = writer.traverse([writer.operator_on_carries(k) for k in lanewise], plan)
        return lanewise, ordered, walk

    def fold_step(
        self, b: Builder, elements: Elements, record: ScanRecord, state: State, position: Position,
        ordered: bool,
    ) -> State:  # fmt: skip
        """One step's elements folded into the state of a record or reduction."""
        writer = self.writer
        if record.compact is not None:
            flag = self.body.flag(b, elements, record, position, last=False)
            if record in writer.saved_bits:
                writer.saved_bits[record].note(b, position, flag)
            return (b.add(state[0], count_lanes(b, flag, position.width)),)
        operator = writer.operator_on_carries(record)
        values = elements.atoms(record.args)
        if record.wide is not None:
            values = cast_each(b, values, types_of(record.wide.neutral))
        values = while_active(b, values, operator.neutral, position)
        return reduce_step(b, operator, state, values, position.width if ordered else 1)
