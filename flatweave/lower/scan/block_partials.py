"""What blocks leave in slots, scanned by one warp in one launch: for hosts that share no memory.

    prefixes[0] = first;  prefixes[t + 1] = prefixes[t] fn aggregates[t]     for t below count

It gives the second step of the two-pass scan all its prefixes, and a reduction its result, the last
of them. The order is that of the slots, whatever the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import replace
from flatweave.kernel_ir.collectives import LastLane, ScanLanes
from flatweave.kernel_ir.host import Alloc, Role
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var

Part = tuple[Lambda, tuple[Atom, ...]]
"""An operator of the program and its neutral elements."""


def scan_block_partials(
    lowering: Lowering, let: Let, parts: Sequence[Part], aggregates: Sequence[Var], count: Atom,
    first: Sequence[Atom] = (),
) -> tuple[Var, ...]:  # fmt: skip
    """Launch the scan of `count` slots; the buffers of the prefixes, one slot longer.

    It begins with the neutral elements where no `first` is given.
    """
    room = lowering.host.add(count, index(1))
    prefixes = tuple(_buffer_like(lowering, buffer, room) for buffer in aggregates)
    kernel = lowering.kernel(let, "_partials")
    kernel.warps = 1
    first = first or [atom for _, neutral in parts for atom in neutral]
    _PartialsScan(lowering, kernel, parts, aggregates, prefixes).write(kernel.capture(count), first)
    lowering.launch(kernel, index(1), Role.PARTIALS)
    return prefixes


def _buffer_like(lowering: Lowering, buffer: Var, count: Atom) -> Var:
    assert isinstance(buffer.type, BufferType)
    return lowering.host.emit(Alloc(buffer.type.dtype, count, lowering.site()))[0]


class _PartialsScan:
    """The kernel that scans slots."""

    def __init__(
        self, lowering: Lowering, kernel: KernelBuilder, parts: Sequence[Part],
        aggregates: Sequence[Var], prefixes: Sequence[Var],
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.kernel = kernel
        self.parts = parts
        self.aggregates = [kernel.buffer(buffer) for buffer in aggregates]
        self.prefixes = [kernel.buffer(buffer) for buffer in prefixes]

    def write(self, count: Atom, begin: Sequence[Atom]) -> None:
        b = self.kernel.body
        machine = replace(self.lowering.machine, warps=1)
        first = tuple(self.kernel.scalar(atom) for atom in begin)
        for buffer, atom in zip(self.prefixes, first, strict=True):
            b.emit(Store(buffer, index(0), atom))
        walk = flat(machine, count, machine.lanes([i64]))
        walk.block(b, index(0), count, first, self._step)

    def _step(self, b: Builder, position: Position, state: State) -> State:
        """The prefixes of one step's slots; the carry is the last one."""
        ends: list[Atom] = []
        last: list[Atom] = []
        for fn, neutral in self.parts:
            start, stop = len(ends), len(ends) + len(neutral)
            values = self._values(b, position, start, stop, neutral)
            if position.width > 1:
                idle = tuple(self.kernel.scalar(atom) for atom in neutral)
                values = b.emit(ScanLanes(self._elements().function(b, fn), idle, values))
            ends.extend(self._elements().call(b, fn, [*state[start:stop], *values]))
        last.extend(b.emit(LastLane(tuple(ends))) if position.width > 1 else ends)
        inside = b.inner() if position.active is not None else b
        place = inside.add(position.flat, index(1))
        for buffer, value in zip(self.prefixes, ends, strict=True):
            inside.emit(Store(buffer, place, value))
        if position.active is not None:
            b.emit(If(position.active, inside.close([], []), NO_BODY))
        return tuple(last)

    def _values(
        self, b: Builder, position: Position, start: int, stop: int, neutral: Sequence[Atom]
    ) -> tuple[Atom, ...]:
        values = [b.emit(Load(buffer, position.flat))[0] for buffer in self.aggregates[start:stop]]
        if position.active is None:
            return tuple(values)
        idle = [self.kernel.scalar(atom) for atom in neutral]
        pairs = zip(values, idle, strict=True)
        return tuple(b.apply("select", position.active, v, n) for v, n in pairs)

    def _elements(self) -> Elements:
        return Elements(self.kernel, index(0), self.lowering.checks)
