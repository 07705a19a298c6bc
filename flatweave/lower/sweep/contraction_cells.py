"""The computation at the points of a contraction, inside its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.base.records import replace
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.ops import Index
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Let, Var
from flatweave.terms.traverse import free_vars, needed_for


class Cells:
    """The parts of the fold's body that depend on rows, on lanes, and on both."""

    def __init__(self, writer: KernelWriter, found: Contraction) -> None:
        self.writer = writer
        self.found = found
        self.around: dict[Var, Atom] = {}
        self.fn = found.op.fn
        self.neutral = writer.scalars(found.op.neutral)
        self.common, self.of_row, self.of_lane, self.of_cell = (
            tuple(map(_inside, lets))
            for lets in (found.common, found.of_row, found.of_lane, found.of_cell)
        )

    def enter(self, b: Builder, at: Sequence[Atom]) -> Atom:
        """Compute the values that depend only on the position of leading axes: the number of steps
        of the fold there, and such inputs of its body."""
        found = self.found
        elements = self._elements(dict(zip(found.leading, at, strict=True)))
        elements.emit(b, list(map(_inside, found.before)))
        self.around = dict(elements.env)
        return elements.atom(found.op.extent)

    def row_values(self, b: Builder, row: Atom, k: Atom) -> Sequence[Atom]:
        """The values of a row that cells use at a step of the fold."""
        found = self.found
        return self._values(b, {found.row: row, found.step: k}, self.of_row, found.row_values)

    def lane_values(self, b: Builder, lane: Atom, k: Atom) -> Sequence[Atom]:
        """The values of a lane that cells use at a step of the fold."""
        found = self.found
        return self._values(b, {found.lane: lane, found.step: k}, self.of_lane, found.lane_values)

    def transposed(
        self, b: Builder, lane: Atom, k: Atom, width: int
    ) -> Iterator[Sequence[Atom]]:
        """The same of lanes that are adjacent along the fold: from a lane and a step on, of `width`
        lanes, one step after the other."""
        found, squares = self.found, {}
        for let in self.of_lane:
            if isinstance(let.op, Index):
                buffer, shape = self.writer.kernel.array(let.op.xs)
                base = b.ravel((lane, k), shape)
                squares[let] = b.emit(LoadTile(buffer, base, shape[1], width))
        lets = needed_for((*self.common, *self.of_lane), found.lane_values)
        lanes = b.emit(Lane(lane))[0]
        for column in range(width):
            elements = self._elements({found.lane: lanes, found.step: b.add(k, index(column))})
            elements.env.update((let.vars[0], each[column]) for let, each in squares.items())
            elements.emit(b, [let for let in lets if let not in squares])
            yield elements.atoms(found.lane_values)

    def _values(
        self, b: Builder, known: dict[Var, Atom], lets: Sequence[Let], wanted: Sequence[Var]
    ) -> Sequence[Atom]:
        elements = self._elements(known)
        elements.emit(b, needed_for((*self.common, *lets), wanted))
        return elements.atoms(wanted)

    def fold(
        self, b: Builder, lane: Atom, k: Atom, of_lane: Sequence[Atom], rows: Sequence[Atom],
        of_rows: Sequence[Sequence[Atom]], known: Sequence[Atom],
    ) -> Sequence[Atom]:  # fmt: skip
        """The results of some rows after one more step, from those `known`, by the values of a lane
        and of the rows."""
        found, fold, each = self.found, self.found.op, len(self.neutral)
        needed = {v for let in self.of_cell for v in free_vars(let.op)} | set(fold.body.results)
        shared = self._elements({found.lane: lane, found.step: k})
        shared.emit(b, needed_for(self.common, tuple(needed)))
        shared.env.update(zip(found.lane_values, of_lane, strict=True))
        out: list[Atom] = []
        for number, (row, values) in enumerate(zip(rows, of_rows, strict=True)):
            elements = self._elements({**shared.env, found.row: row})
            elements.env.update(zip(found.row_values, values, strict=True))
            elements.emit(b, self.of_cell)
            computed = elements.atoms(fold.body.results)
            before = known[number * each : (number + 1) * each]
            out.extend(elements.call(b, fold.fn, [*before, *computed]))
        return out

    def join(self, b: Builder, operands: Sequence[Atom]) -> Sequence[Atom]:
        """The operator of the fold."""
        return self._elements({}).call(b, self.fn, operands)

    def _elements(self, known: dict[Var, Atom]) -> Elements:
        elements = Elements(self.writer.kernel, index(0), self.writer.lowering.checks)
        elements.env.update({**self.around, **known})
        return elements


def _inside(let: Let) -> Let:
    """A let whose reads are known to be in bounds: the host checked them."""
    op = let.op
    return Let(let.vars, replace(op, checked=False), let.where) if isinstance(op, Index) else let
