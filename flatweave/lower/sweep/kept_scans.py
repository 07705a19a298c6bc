"""A scan whose elements are evaluated once, and stay in the registers of threads meanwhile.

    first, for each step k    x = f elements;  kept[k] = all of the warp's up to x;  live[k] = x
    look back                 what lies before the warp
    then, for each step k     y = before fn kept[k], and what the sinks want of y and live[k]

So memory is read once, the operator is taken once more for each element instead of a second scan,
and all loads of a thread are under way at once. Steps lie along memory, so that nothing is
transposed: lanes meet by shuffles.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import scan_step
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.kernel_ir.thread_memory import ThreadMemory
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.in_registers import kept_of
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.position import Position, State, while_active
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Var


class KeptScans:
    """What each thread of a block keeps of its elements."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.kept = kept_of(writer.facts)
        assert self.kept is not None
        self.each = writer.plan.tiling.most // (
            writer.plan.tiling.width * writer.lowering.machine.warps
        )
        self.prefixes = [
            [self._room(atom) for atom in record.neutral] for record in self.kept.records
        ]
        self.live = {var: self._room(var) for var in self.kept.live}

    def _room(self, atom: Atom) -> Var:
        dtype, width = scalar_type(atom), self.writer.plan.tiling.width
        return self.writer.b.emit(ThreadMemory(dtype, self.each, width))[0]

    def aggregate(self, lo: Atom, hi: Atom) -> State:
        """Evaluate this warp's elements, and keep them; what they combine to."""
        writer, kept = self.writer, self.kept
        assert kept is not None

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            elements.emit(b, kept.before)
            for var, buffer in self.live.items():
                self._keep(b, buffer, position, elements.atom(var))
            after: list[Atom] = []
            for record, buffers in zip(kept.records, self.prefixes, strict=True):
                assert record.prefix is not None
                exclusive: bool = record.prefix.op.exclusive  # type: ignore[attr-defined]
                operator = writer.operator(record.fn, record.neutral)
                part = state[len(after) : len(after) + len(buffers)]
                args = elements.atoms(record.args)
                values = while_active(b, args, operator.neutral, position)
                found, last = scan_step(
                    b, operator, part, values, position.width, exclusive=exclusive
                )
                for buffer, value in zip(buffers, found, strict=True):
                    self._keep(b, buffer, position, value)
                after += last
            return tuple(after)

        neutral = [atom for record in kept.records for atom in writer.scalars(record.neutral)]
        return writer.traverse(()).block(writer.b, lo, hi, tuple(neutral), step)

    def _keep(self, b: Builder, buffer: Var, position: Position, value: Atom) -> None:
        assert position.turn is not None
        b.emit(Store(buffer, position.turn, value))

    def emit(
        self, b: Builder, elements: Elements, position: Position, before: State
    ) -> State:
        """One step's elements again, going on from what lies before the warp; that."""
        kept, at = self.kept, position.turn
        assert kept is not None
        assert at is not None
        for var, buffer in self.live.items():
            elements.env[var] = b.emit(Load(buffer, at))[0]
        start = 0
        for record, buffers in zip(kept.records, self.prefixes, strict=True):
            assert record.prefix is not None
            operator = self.writer.operator(record.fn, record.neutral)
            alone = tuple(b.emit(Load(buffer, at))[0] for buffer in buffers)
            found = operator.combine(b, before[start : start + len(buffers)], alone)
            elements.env.update(zip(record.prefix.vars, found, strict=True))
            start += len(buffers)
        elements.emit(b, kept.behind)
        return before
