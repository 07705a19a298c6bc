"""Filling a buffer by a launch: on machines whose host cannot write to it at no cost."""

from __future__ import annotations

from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.each_place import each_place
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Let, Var


def fill(lowering: Lowering, let: Let, buffer: Var, count: Atom, first: Atom, others: Atom) -> None:
    """buffer[0] = first; buffer[t] = others for the t from 1 on below `count`."""
    assert isinstance(buffer.type, BufferType)

    def act(b: Builder, kernel: KernelBuilder, t: Atom) -> None:
        begins, follows = kernel.capture(first), kernel.capture(others)
        value = b.apply("select", b.apply("eq", t, index(0)), begins, follows)
        b.emit(Store(kernel.buffer(buffer), t, value))

    each_place(lowering, let, "_fill", Role.FILL, count, [buffer.type.dtype], act)
