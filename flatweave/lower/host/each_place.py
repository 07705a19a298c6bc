"""One launch over the places of an array: for what is done before and after a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Let

Act = Callable[[Builder, KernelBuilder, Atom], None]


def each_place(
    low: Lowering, let: Let, suffix: str, role: Role, extent: Atom, dtypes: Sequence[DType],
    act: Act,
) -> None:  # fmt: skip
    """Launch a kernel that acts at 0, 1, .. below `extent`, on elements of these dtypes."""
    machine = low.machine
    kernel = low.kernel(let, suffix)
    b, total = kernel.body, kernel.capture(extent)
    size = index(max(1, machine.block_bytes // sum(dtype.bytes for dtype in dtypes)))
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), total)

    def step(c: Builder, position: Position, state: State) -> State:
        if position.active is None:
            act(c, kernel, position.flat)
            return state
        inside = c.inner()
        act(inside, kernel, position.flat)
        c.emit(If(position.active, inside.close([], []), Lambda((), (), ())))
        return state

    width = machine.lanes(list(dtypes))
    flat(machine, total, width).block(b, lo, hi, (), step)
    ahead = low.host.add(extent, low.host.sub(size, index(1)))
    low.launch(kernel, low.host.apply("floordiv", ahead, size), role)
