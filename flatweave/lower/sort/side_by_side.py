"""Short rows, many at once: each lane has a row of its own, in registers.

    row 0   3 1 2        lane 0 of  x0 x1 x2    3 1 2    1 3 2    1 2 3    1 2 3
    row 1   5 4          lane 1                 5 4 -    4 5 -    4 5 -    4 5 -

Neighbours are exchanged where the second one comes first, those at even places and those at odd
ones in turn: as often as there are elements, after which these are in order. Equal ones never pass
each other. Places behind the end of a row have keys that come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flatweave.base.dtypes import i32
from flatweave.kernel_ir.host import Retain, Role
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.places import place_blocks, write_places
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.kernel.scope import HostArray
from flatweave.ops import SortRows
from flatweave.ops.rows import array_type, scalar_type
from flatweave.ops.sorts import SHORT
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Let, Var, constant

LENGTHS = (2, 4, 8, SHORT)
"""Places of a row that there is code for."""


def lower_sort_rows(lowering: Lowering, let: Let, op: SortRows) -> None:
    """Emit the launch and bind the results; rows of one element are in order."""
    host, total = lowering.host, lowering.scope.array(op.xs[0]).shape[0]
    alone, inside = lowering.inner(optional=True), lowering.inner(optional=True)
    source = [lowering.scope.array(x).buffer for x in op.xs]
    for buffer in source:
        alone.host.emit(Retain(buffer))
    target = [inside.alloc_like(x, total) for x in op.xs]
    _Rows(inside, let, op, total, target).launch()
    some = host.apply("gt", lowering.scope.scalar(op.length), index(1))
    bodies = inside.host.close([], target), alone.host.close([], source)
    found = host.emit(If(some, *bodies), "buffer")
    for var, buffer in zip(let.vars, found, strict=True):
        lowering.scope.bind(var, HostArray(buffer, (total,)))


class _Rows:
    """One sort of rows."""

    def __init__(
        self, lowering: Lowering, let: Let, op: SortRows, total: Atom, target: Sequence[Var]
    ) -> None:
        self.lowering = lowering
        self.let = let
        self.op = op
        self.total = total
        self.target = target
        scope = lowering.scope
        self.source = [scope.array(x).buffer for x in op.xs]
        self.offsets = [scope.array(x).buffer for x in op.offsets]
        self.length = scope.scalar(op.length)
        some = lowering.host.apply("gt", total, index(0))
        self.rows = lowering.host.apply("select", some, scope.scalar(op.rows), index(0))
        self.dtypes = [*(array_type(x).dtype for x in op.xs), i32]

    def launch(self) -> None:
        """One launch, of the code for the longest row."""
        lowering, host = self.lowering, self.lowering.host
        reads = lowering.reads(self.op.fn)
        needs = [*reads, *self.source, *self.target, *self.offsets]
        needs += [self.length, self.rows, self.total]
        made = [
            lowering.later(self.let, f"_of_{places}", needs, partial(self._write, places))
            for places in LENGTHS
        ]
        fits = [host.apply("le", self.length, index(places)) for places in LENGTHS]
        *others, last = zip(fits, made, strict=True)
        blocks = place_blocks(host, lowering.machine, self.rows, self.dtypes * SHORT)
        lowering.launch_first(others, last[1], blocks, Role.VARIANT)

    def _write(self, places: int, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        machine, rows = self.lowering.machine, kernel.capture(self.rows)
        write_places(
            machine, kernel, rows, self.dtypes * SHORT, partial(self._row, kernel, places)
        )

    def _row(self, kernel: KernelBuilder, places: int, b: Builder, row: Atom) -> None:
        """The row of each lane."""
        start, length = self._span(b, kernel, row)
        there = [b.apply("lt", index(k), length) for k in range(places)]
        last = b.sub(kernel.capture(self.total), index(1))
        carried = []
        for k in range(places):
            at = b.apply("minimum", b.add(start, index(k)), last)
            elements = [b.emit(Load(kernel.buffer(x), at))[0] for x in self.source]
            keys = Elements(kernel, at, self.lowering.checks).call(b, self.op.fn, elements)
            carried.append(self._carried(b, there[k], keys, elements))
        many = len(self.op.fn.results)
        for turn in range(places):
            for k in range(turn % 2, places - 1, 2):
                carried[k], carried[k + 1] = _exchanged(b, many, carried[k], carried[k + 1])
        for k, moved in enumerate(carried):
            inside, place = b.inner(), b.add(start, index(k))
            for buffer, value in zip(self.target, moved[many:], strict=True):
                inside.emit(Store(kernel.buffer(buffer), place, value))
            b.emit(If(there[k], inside.close([], []), NO_BODY))

    def _span(self, b: Builder, kernel: KernelBuilder, row: Atom) -> tuple[Atom, Atom]:
        """Where a row begins, and how long it is."""
        if not self.offsets:
            length = kernel.capture(self.length)
            return b.mul(row, length), length
        offsets = kernel.buffer(self.offsets[0])
        start = b.emit(Load(offsets, row))[0]
        return start, b.sub(b.emit(Load(offsets, b.add(row, index(1))))[0], start)

    def _carried(
        self, b: Builder, there: Atom, keys: Sequence[Atom], elements: Sequence[Atom]
    ) -> list[Atom]:
        """The keys of an element, and the element; what is a key itself is the same atom."""
        most = [constant(-1, scalar_type(key)) for key in keys]
        found = [b.apply("select", there, *each) for each in zip(keys, most, strict=True)]
        alike = dict(zip(keys, found, strict=True))
        return [*found, *(alike.get(x, x) for x in elements)]


def _exchanged(
    b: Builder, many: int, one: Sequence[Atom], other: Sequence[Atom]
) -> tuple[list[Atom], list[Atom]]:
    """Two elements, of which each begins with `many` keys, the one that comes first in front."""
    less: Atom = b.apply("lt", other[many - 1], one[many - 1])
    for k in reversed(range(many - 1)):
        tie = b.apply("and", b.apply("eq", other[k], one[k]), less)
        less = b.apply("or", b.apply("lt", other[k], one[k]), tie)
    pairs = dict.fromkeys(zip(one, other, strict=True))
    chosen = {
        pair: (b.apply("select", less, pair[1], pair[0]), b.apply("select", less, *pair))
        for pair in pairs
    }
    found = [chosen[pair] for pair in zip(one, other, strict=True)]
    return [first for first, _ in found], [second for _, second in found]
