"""Filling a buffer by a launch: on machines whose host cannot write to it at no cost."""

from __future__ import annotations

from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import BlockIndex, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var


def fill(low: Lowering, let: Let, buffer: Var, count: Atom, first: Atom, others: Atom) -> None:
    """buffer[0] = first; buffer[t] = others for the t from 1 on below `count`."""
    assert isinstance(buffer.type, BufferType)
    dtype, machine = buffer.type.dtype, low.machine
    kernel = low.kernel(let, "_fill")
    target, room = kernel.buffer(buffer), kernel.capture(count)
    first, others = kernel.capture(first), kernel.capture(others)
    size = index(max(1, machine.block_bytes // dtype.bytes))
    b = kernel.body
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), room)

    def step(c: Builder, position: Position, state: State) -> State:
        value = others
        if first != others:
            value = c.apply("select", c.apply("eq", position.flat, index(0)), first, others)
        inside = c if position.active is None else c.inner()
        inside.emit(Store(target, position.flat, value))
        if position.active is not None:
            c.emit(If(position.active, inside.close([], []), Lambda((), (), ())))
        return state

    walk = flat(machine, room, machine.lanes([dtype]))
    walk.block(b, lo, hi, (), step)
    ahead = low.host.sub(size, index(1))
    low.launch(kernel, low.host.apply("floordiv", low.host.add(count, ahead), size), Role.FILL)
