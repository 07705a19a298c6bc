"""A kernel that acts at each place of an array by itself, and how many blocks it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom

At = Callable[[Builder, Atom], None]
"""What is done at a place."""


def write_places(
    machine: Machine, kernel: KernelBuilder, extent: Atom, dtypes: Sequence[DType], at: At,
    steps: int = 1,
) -> None:  # fmt: skip
    """Act at 0, 1, .. below `extent`, on elements of these dtypes, `steps` registers at once."""
    b, size = kernel.body, _block_size(machine, dtypes)
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        inside = c if position.active is None else c.inner()
        at(inside, position.flat)
        if position.active is not None:
            c.emit(If(position.active, inside.close([], []), NO_BODY))
        return state

    flat(machine, extent, machine.lanes(list(dtypes)) * steps).block(b, lo, hi, (), step)


def place_blocks(host: Builder, machine: Machine, extent: Atom, dtypes: Sequence[DType]) -> Atom:
    """How many blocks such a kernel takes."""
    size = _block_size(machine, dtypes)
    return host.apply("floordiv", host.add(extent, host.sub(size, index(1))), size)


def _block_size(machine: Machine, dtypes: Sequence[DType]) -> Atom:
    return index(max(1, machine.block_bytes // sum(dtype.bytes for dtype in dtypes)))
