"""Copying a buffer on all cores: what an update of an array that is still needed begins with."""

from __future__ import annotations

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.syntax import BlockIndex, Kernel, Load, Store
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.walk import Walk
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.control import If
from flatweave.terms.syntax import BufferType, Lambda


def copy_kernel(machine: Machine, names: Names, name: str, dtype: DType) -> Kernel:
    """copy(count, source, target): target[i] = source[i] for i below count."""
    b = Builder(names)
    count = b.param("count", i64)
    source = b.param("source", BufferType(dtype))
    target = b.param("target", BufferType(dtype))
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
    Walk(machine, (count,), count, width, False, False, ()).block(b, lo, hi, (), step)
    return Kernel(name, (count, source, target), b.close([], []), machine.warps)
