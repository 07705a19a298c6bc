"""Copying a buffer on all cores: what an update of an array that is still needed begins with."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.kernel_ir.syntax import BlockIndex, Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import BufferType, Lambda, Var


def write_copy(machine: Machine, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """copy(count, source, target): target[i] = source[i] for i below count."""
    b, (count, source, target) = kernel.body, own
    assert isinstance(source.type, BufferType)
    dtype = source.type.dtype
    size = index(max(1, machine.block_bytes // dtype.bytes))
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), count)

    def step(c: Builder, position: Position, state: State) -> State:
        value = c.emit(Load(source, position.flat))[0]
        inside = c if position.active is None else c.inner()
        inside.emit(Store(target, position.flat, value))
        if position.active is not None:
            c.emit(If(position.active, inside.close([], []), Lambda((), (), ())))
        return state

    width = machine.lanes([dtype]) * (2 if machine.fixed_width is None else 1)
    flat(machine, count, width).block(b, lo, hi, (), step)
