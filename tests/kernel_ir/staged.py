"""Units whose one kernel is written by staged arrays, for the tests of these and of algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir.hierarchy import Pull, read
from flatweave.kernel_ir.host import Alloc, Launch
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.syntax import Atom, BufferType, Lambda, Var

Write = Callable[[Builder, Atom, list[Pull], list[Var]], None]


def staged(
    write: Write, ins: Sequence[DType], outs: Sequence[DType], blocks: int = 1, length: int = 0,
    then: tuple[Write, int] | None = None,
) -> Unit:  # fmt: skip
    """host(n, m, xs..) gives arrays of m elements that `write(b, n, pulls of xs, buffers)` fills.

    With a `length` the pulls have that many elements, which is known when the kernel is written.
    `then` writes a second kernel, and says how many blocks it has.
    """
    names = Names()
    parts = [(write, blocks)] + ([then] if then else [])
    kernels = [
        _kernel(names, f"staged{k or ''}", part, ins, outs, length)
        for k, (part, _) in enumerate(parts)
    ]
    host = Builder(names)
    n, m = host.param("n", i64), host.param("m", i64)
    given = [host.param("x", BufferType(dtype)) for dtype in ins]
    made = [host.emit(Alloc(dtype, m, 0))[0] for dtype in outs]
    for kernel, (_, grid) in zip(kernels, parts, strict=True):
        host.emit(Launch(kernel.name, index(grid), (n, *given, *made)))
    return Unit(Lambda((n, m, *given), tuple(host.lets), tuple(made)), tuple(kernels))


def _kernel(
    names: Names, name: str, write: Write, ins: Sequence[DType], outs: Sequence[DType], length: int
) -> Kernel:
    """One kernel, on all arrays."""
    b = Builder(names)
    n = b.param("n", i64)
    xs = [b.param("x", BufferType(dtype)) for dtype in ins]
    ys = [b.param("y", BufferType(dtype)) for dtype in outs]
    extent = index(length) if length else n
    write(b, extent, [read([x], extent) for x in xs], ys)
    return Kernel(name, (n, *xs, *ys), b.close([], []))
