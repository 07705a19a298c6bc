"""A sort of elements each of which comes before the one before it: from the last to the first.

    9 7 4 1     1 4 7 9
"""

from __future__ import annotations

from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.places import place_blocks, write_places
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.ops import RadixSort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Let, Var


def turned(lowering: Lowering, let: Let, op: RadixSort, total: Atom) -> list[Var]:
    """The buffers of the elements, the last one first."""
    machine, host = lowering.machine, lowering.host
    source = [lowering.scope.array(x).buffer for x in op.xs]
    target = [lowering.alloc_like(x, total) for x in op.xs]
    dtypes = [array_type(x).dtype for x in op.xs]

    def write(kernel: KernelBuilder) -> None:
        count = kernel.capture(total)
        moves = [(kernel.buffer(x), kernel.buffer(y)) for x, y in zip(source, target, strict=True)]

        def at(b: Builder, i: Atom) -> None:
            behind = b.sub(b.sub(count, index(1)), i)
            for old, new in moves:
                b.emit(Store(new, i, b.emit(Load(old, behind))[0]))

        write_places(machine, kernel, count, dtypes, at)

    needs = [*source, *target, total]
    kernel = lowering.later(let, "_turned", needs, lambda kernel, own: write(kernel))
    lowering.launch(kernel, place_blocks(host, machine, total, dtypes), Role.VARIANT)
    return target
