"""The body of a sweep with its scans: one step's prefixes, and what is carried to the next step."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.lanes import scan_step, segmented_scan_step
from flatweave.algorithms.operator import select
from flatweave.kernel_ir.syntax import Lane
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.scan_levels import ScanRecord, record_of
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State, while_active
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Let


def closes(b: Builder, start: Atom, position: Position) -> Atom:
    """Whether an element closes the segment before it: a start that has something before it."""
    behind = b.apply("and", start, b.apply("ne", position.flat, index(0)))
    return while_active(b, (behind,), (FALSE,), position)[0]


def _begins_row(b: Builder, start: Atom, position: Position) -> Atom | None:
    """Whether a step begins its row, where `start` says that an element is the first of its row: no
    lane but the step's first can be that, so that the step is an ordinary scan from nothing on."""
    made, along = b.definition(start), position.indices[-1]
    if not (isinstance(made, Apply) and made.fn == "eq" and made.args == (along, index(0))):
        return None
    lanes = b.definition(along)
    if not isinstance(lanes, Lane) or lanes.reverse:
        return None
    return b.apply("eq", lanes.base, index(0))


class ScannedBody:
    """One step of a sweep's body, its scans going on from what is carried."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer

    def emit(
        self, b: Builder, elements: Elements, lets: Sequence[Let], levels: int,
        position: Position, carries: State,
    ) -> State:  # fmt: skip
        """Emit lets of the body, scanning the records of the first `levels` chains; new carries."""
        known = [record for records in self.writer.scans.levels[:levels] for record in records]
        after = list(carries)
        for let in lets:
            record, slot = record_of(known, let)
            if record is None:
                elements.emit(b, (let,))
                continue
            part = carries[slot : slot + len(record.neutral)]
            values, last = self._scan(b, elements, record, part, position)
            elements.env.update(zip(let.vars, values, strict=True))
            after[slot : slot + len(record.neutral)] = last
        return tuple(after)

    def _scan(
        self, b: Builder, elements: Elements, record: ScanRecord, carry: State, position: Position
    ) -> tuple[State, State]:
        """Prefixes of one step's elements, going on from `carry`; and the carry behind them."""
        writer = self.writer
        assert record.prefix is not None
        exclusive: bool = record.prefix.op.exclusive  # type: ignore[attr-defined]
        operator = writer.operator_of(record)
        values = while_active(b, elements.atoms(record.args), operator.neutral, position)
        if record.inner is None:
            return scan_step(b, operator, carry, values, position.width, exclusive=exclusive)
        alone = writer.operator_of(record.inner)
        branches = writer.lowering.machine.warps == 1
        first = _begins_row(b, values[0], position) if branches else None
        if first is not None:
            before = select(b, first, alone.carry(b, alone.neutral), carry[1:])
            results, last = scan_step(
                b, alone, before, values[1:], position.width, exclusive=exclusive
            )
        else:
            results, last = segmented_scan_step(
                b, alone, carry[1:], values[0], values[1:], position.width,
                exclusive=exclusive, branches=branches,
            )  # fmt: skip
        return results, (carry[0], *last)

    def flag(
        self, b: Builder, elements: Elements, record: ScanRecord, position: Position, *, last: bool
    ) -> Atom:
        """Whether an element counts for a record that counts, as it was saved or as it is."""
        writer = self.writer
        saved = None
        if last and record in writer.saved_bits:
            saved = writer.saved_bits[record].recall(b, position)
        if saved is not None:
            return saved
        (flag,) = elements.atoms(record.args)
        if record.closing:
            return closes(b, flag, position)
        return while_active(b, (flag,), (FALSE,), position)[0]
