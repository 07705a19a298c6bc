"""A scan of a launch that is one block: nothing lies before it, nobody waits for what it leaves.

The last pass begins with what the scan begins with; where it ends is stored for the host, which
asks how many elements were kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.syntax import Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var


@record
class OnlyBlock:
    """What the scans of one level begin with, and a buffer for where each of them ends."""

    first: tuple[Atom, ...]
    prefixes: tuple[Var, ...]
    last: Atom

    def inside(self, kernel: KernelBuilder) -> tuple[Atom, ...]:
        """What they begin with, in the kernel."""
        return tuple(kernel.capture(atom) for atom in self.first)

    def leave(self, kernel: KernelBuilder, ends: Sequence[Atom]) -> None:
        """Store where they end."""
        for buffer, end in zip(self.prefixes, ends, strict=True):
            kernel.body.emit(Store(kernel.buffer(buffer), self.last, end))

    def free(self, host: Builder) -> None:
        for buffer in self.prefixes:
            host.emit(Free(buffer))


def make_only_block(host: Builder, first: Sequence[Atom], site: int) -> OnlyBlock:
    """Room for the ends: where there are no elements, a scan ends with what it begins with."""
    prefixes = []
    for atom in first:
        assert isinstance(atom.type, DType)
        prefixes.append(host.emit(Alloc(atom.type, index(1), site))[0])
        host.emit(Store(prefixes[-1], index(0), atom))
    return OnlyBlock(tuple(first), tuple(prefixes), index(0))
