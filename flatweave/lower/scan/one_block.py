"""A scan of a launch that is one block: nothing lies before it, nobody waits for what it leaves.

The last pass begins with what the scan begins with. Where a scan of counts ends is stored for the
host, which asks how many elements were kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var


@record
class OnlyBlock:
    """What the scans of one level begin with, and for counts, by their places among these, a buffer
    for where they end."""

    first: tuple[Atom, ...]
    ends: tuple[tuple[int, Var], ...]
    last: Atom

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(dict(self.ends)[slot], self.last))[0]

    def inside(self, kernel: KernelBuilder) -> tuple[Atom, ...]:
        """What they begin with, in the kernel."""
        return tuple(kernel.capture(atom) for atom in self.first)

    def leave(self, kernel: KernelBuilder, ends: Sequence[Atom]) -> None:
        """Store where the counts end, of all scans that end so."""
        for slot, buffer in self.ends:
            kernel.body.emit(Store(kernel.buffer(buffer), self.last, ends[slot]))

    def free(self, host: Builder) -> None:
        for _, buffer in self.ends:
            host.emit(Free(buffer))


def make_only_block(
    host: Builder, records: Sequence[ScanRecord], first: Sequence[Atom], site: int
) -> OnlyBlock:
    """Room for the ends: where there are no elements, a count ends with what it begins with."""
    ends = []
    for slot, scan in with_slots(records):
        if scan.compact is not None:
            atom = first[slot]
            assert isinstance(atom.type, DType)
            buffer = host.emit(Alloc(atom.type, index(1), site))[0]
            host.emit(Store(buffer, index(0), atom))
            ends.append((slot, buffer))
    return OnlyBlock(tuple(first), tuple(ends), index(0))
