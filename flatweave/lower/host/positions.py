"""A kernel that acts at each position of an array separately, and its number of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import BlockIndex, Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import flat
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Var

At = Callable[[Builder, Atom], None]
"""The action at a position."""


def write_places(
    machine: Machine, kernel: KernelBuilder, extent: Atom, dtypes: Sequence[DType], at: At,
    steps: int = 1,
) -> None:  # fmt: skip
    """Act at 0, 1, .. below `extent`, on elements of these dtypes, `steps` registers at once."""
    width = machine.lanes(list(dtypes)) * steps
    _write_blocks(machine, kernel, extent, _block_size(machine, dtypes), width, at)


def write_steps(machine: Machine, kernel: KernelBuilder, count: Atom, at: At) -> None:
    """Act at 0, 1, .. below `count`, of which each warp takes one step: where acting is long."""
    width = machine.lanes([i64])
    _write_blocks(machine, kernel, count, index(width * machine.warps), width, at)


def _write_blocks(
    machine: Machine, kernel: KernelBuilder, extent: Atom, size: Atom, width: int, at: At
) -> None:
    b = kernel.body
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        inside = c if position.active is None else c.inner()
        at(inside, position.flat)
        if position.active is not None:
            c.emit(If(position.active, inside.close([], []), NO_BODY))
        return state

    flat(machine, extent, width).block(b, lo, hi, (), step)


def place_blocks(host: Builder, machine: Machine, extent: Atom, dtypes: Sequence[DType]) -> Atom:
    """How many blocks such a kernel takes."""
    return _blocks(host, extent, _block_size(machine, dtypes))


def step_blocks(host: Builder, machine: Machine, count: Atom) -> Atom:
    """How many blocks take one step of each warp."""
    return _blocks(host, count, index(machine.lanes([i64]) * machine.warps))


def _blocks(host: Builder, count: Atom, size: Atom) -> Atom:
    return host.ceil_div(count, size)


def _block_size(machine: Machine, dtypes: Sequence[DType]) -> Atom:
    return index(max(1, machine.block_bytes // sum(dtype.bytes for dtype in dtypes)))


# -- Copying a buffer on all cores: the start of an update of an array that is still needed --------
#
# The target may have another dtype: sums of f32 are added in f64 (`scatter/choose.py`).


def write_copy(machine: Machine, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """copy(count, source, target): target[i] = source[i], cast to its dtype, for i below count."""
    count, source, target = own
    dtypes = dtype_in(source), dtype_in(target)

    def at(b: Builder, i: Atom) -> None:
        b.emit(Store(target, i, b.cast(b.emit(Load(source, i))[0], dtypes[1])))

    steps = 2 if machine.fixed_width is None else 1
    write_places(machine, kernel, count, [max(dtypes, key=lambda d: d.bytes)], at, steps)
