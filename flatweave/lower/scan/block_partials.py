"""What blocks leave, one value each, scanned by one block: for hosts that share no memory.

    prefixes[0] = first;  prefixes[t + 1] = prefixes[t] fn aggregates[t]     for t below count

It gives the second step of the two-pass scan all its prefixes, a sort the places of its digits, and
a reduction its result, the last of the prefixes. The order is that of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from flatweave.algorithms.by_warps import scan_by_warps
from flatweave.algorithms.operator import together
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.arrays import Values, for_all, read
from flatweave.kernel_ir.hierarchy import WARP
from flatweave.kernel_ir.host import Alloc, Role
from flatweave.kernel_ir.syntax import Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.operators import operator_in
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var

Part = tuple[Lambda, tuple[Atom, ...]]
"""An operator of the program and its neutral elements."""


def scan_block_partials(
    lowering: Lowering, let: Let, parts: Sequence[Part], aggregates: Sequence[Var], count: Atom,
    first: Sequence[Atom] = (),
) -> tuple[Var, ...]:  # fmt: skip
    """Launch the scan of `count` values; the buffers of the prefixes, one element longer.

    It begins with the neutral elements where no `first` is given.
    """
    room = lowering.host.add(count, index(1))
    prefixes = tuple(_buffer_like(lowering, buffer, room) for buffer in aggregates)

    def write(kernel: KernelBuilder) -> None:
        _write(lowering, kernel, parts, aggregates, prefixes, count, first)

    if lowering.machine.shares_memory:  # in branches of the program, which may not run
        scalars = [lowering.scope.scalar(x) for x in (*first, *(x for _, ne in parts for x in ne))]
        reads = [read for fn, _ in parts for read in lowering.reads(fn)]
        needs = [*aggregates, *prefixes, count, *scalars, *reads]
        later = lowering.later(let, "_partials", needs, lambda kernel, own: write(kernel))
        lowering.launch(later, index(1), Role.PARTIALS)
        return prefixes
    kernel = lowering.kernel(let, "_partials")
    write(kernel)
    lowering.launch(kernel, index(1), Role.PARTIALS)
    return prefixes


def _buffer_like(lowering: Lowering, buffer: Var, count: Atom) -> Var:
    assert isinstance(buffer.type, BufferType)
    return lowering.host.emit(Alloc(buffer.type.dtype, count, lowering.site()))[0]


def _write(
    lowering: Lowering, kernel: KernelBuilder, parts: Sequence[Part], aggregates: Sequence[Var],
    prefixes: Sequence[Var], count: Atom, first: Sequence[Atom],
) -> None:  # fmt: skip
    """The kernel."""
    b, machine = kernel.body, lowering.machine
    xs = read([kernel.buffer(buffer) for buffer in aggregates], kernel.capture(count))
    target = [kernel.buffer(buffer) for buffer in prefixes]
    operators = [operator_in(kernel, fn, neutral, lowering.checks) for fn, neutral in parts]
    operator = reduce(together, operators)
    before = tuple(kernel.scalar(atom) for atom in first) or operator.neutral

    def put(c: Builder, at: Atom, values: Values) -> None:
        for buffer, value in zip(target, values, strict=True):
            c.emit(Store(buffer, at, value))

    for_all(b, WARP, 1, lambda c, _: put(c, index(0), before))
    scan_by_warps(
        b, operator, xs, machine.warps_of(machine.lanes([i64])),
        lambda c, i, values: put(c, c.add(i, index(1)), values), before,
    )  # fmt: skip
