"""by_row: one kernel, whose code is the host program of a row inside a loop over a block's rows.

    launch rows blocks ..                     kernel rows ..
                                                  for i in the rows of this block
    y = by_row n (i => body)        ==>               at_row i
                                                      .. body, lowered as a program is ..
                                                      copy_to ys (i * m) y m

Its arrays are buffers of the thread; what the host of the whole program launches for all rows, it
launches for this one: kernels of its own, as one block. Rows share nothing, so that blocks of rows
differ in when they run and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Alloc, AtRow, CopyTo, Free, Role
from flatweave.kernel_ir.syntax import BlockIndex, Load, Store
from flatweave.lower.by_row.machine import ALONE, machine_of_a_row
from flatweave.lower.host.context import Lowering, Program
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.scope import HostArray, HostScope
from flatweave.ops import ByRow
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars

BLOCKS = 1024
"""Blocks of rows, for so many rows or more: rows of unlike lengths are spread evenly."""
WHY = "its rows are done one after the other, each from its first step to its last"

LowerBody = Callable[[Lowering, Lambda], Sequence[Atom]]


def lower_by_row(lowering: Lowering, let: Let, op: ByRow, body: LowerBody) -> None:
    """Emit the launch for all rows and bind the results; `body` lowers the body of a row."""
    host, scope = lowering.host, lowering.scope
    count = scope.scalar(op.count)
    targets = []
    for var in let.vars:
        shape = tuple(scope.scalar(extent) for extent in array_type(var).shape)
        dtype = array_type(var).dtype
        targets.append(host.emit(Alloc(dtype, host.product(shape), lowering.site()), "rows")[0])
        scope.bind(var, HostArray(targets[-1], shape))
    ahead = host.add(count, index(BLOCKS - 1))
    size = host.apply("floordiv", ahead, index(BLOCKS))
    size = host.apply("maximum", size, index(1))
    blocks = host.ceil_div(count, size)
    needs = [*lowering.reads(op), *targets, count, size]
    offsets = [scope.array(atom).buffer for atom in op.offsets]
    written = _Rows(lowering, op, targets, offsets, count, size, body)
    kernel = lowering.later(
        let, "_by_row", needs, lambda kernel, own: written.write(kernel), why=WHY
    )
    lowering.launch(kernel, blocks, Role.VARIANT)


class _Rows:
    """The kernel of a block of rows."""

    def __init__(
        self, lowering: Lowering, op: ByRow, targets: Sequence[Var], offsets: Sequence[Var],
        count: Atom, size: Atom, body: LowerBody,
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.op = op
        self.targets = targets
        self.offsets = offsets
        self.count = count
        self.size = size
        self.body = body

    def write(self, kernel: KernelBuilder) -> None:
        """The loop over the rows of a block."""
        outside = self.lowering
        program = Program(
            machine_of_a_row(outside.machine), outside.checks, outside.program.lower_lets, ALONE, {}
        )  # fmt: skip
        program.names = kernel.body.names
        program.sites = kernel.sites.shared()
        inside = Lowering(program, kernel.body, self._scope(kernel))
        inside.where = outside.where
        b = kernel.body
        size, count = kernel.capture(self.size), kernel.capture(self.count)
        first = b.mul(b.emit(BlockIndex())[0], size)
        last = b.apply("minimum", b.add(first, size), count)
        turn = inside.inner()
        row = turn.host.param("i", i64, count)
        self._row(kernel, turn, row)
        b.emit(For(first, last, index(1), turn.host.close([row], []), ()))
        kernel.inner = (*program.kernels, *(later.made for later in program.later))

    def _scope(self, kernel: KernelBuilder) -> HostScope:
        """What the body reads, inside the kernel."""
        scope = HostScope()
        for var in free_vars(self.op.fn):
            if isinstance(var.type, ArrayType):
                scope.bind(var, HostArray(*kernel.array(var)))
            else:
                scope.bind(var, kernel.scalar(var))
        return scope

    def _row(self, kernel: KernelBuilder, turn: Lowering, row: Var) -> None:
        """One row: its program, then its results to where they belong."""
        turn.host.emit(AtRow(row))
        turn.scope.bind(self.op.fn.params[0], row)
        results = self.body(turn, self.op.fn)
        found = zip(self.op.fn.results, results, self.targets, self.op.groups, strict=True)
        for atom, value, target, group in found:
            into = kernel.buffer(target)
            if not isinstance(atom.type, ArrayType):
                turn.host.emit(Store(into, row, value))
                continue
            shape = turn.scope.array(atom).shape
            assert isinstance(value, Var)
            start = self._start(kernel, turn.host, row, group, shape)
            turn.host.emit(CopyTo(into, start, value, turn.host.product(shape)))
            turn.host.emit(Free(value))

    def _start(
        self, kernel: KernelBuilder, b: Builder, row: Atom, group: int, shape: Sequence[Atom]
    ) -> Atom:
        if group < 0:
            return b.mul(row, b.product(shape))
        offsets = kernel.buffer(self.offsets[group])
        return b.mul(b.emit(Load(offsets, row))[0], b.product(shape[1:]))
