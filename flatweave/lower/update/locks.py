"""Combining elements under locks: for elements that no instruction swaps whole.

    locks[j mod 4096]   held while dest[j] = dest[j] fn value
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import u32
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.memory_ops import LockedUpdate
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.fill import fill
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.update.arrays import Update
from flatweave.ops import ScatterReduce
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var

STRIPES = 4096
FREE = Const(0, u32)


@record
class Locked:
    """Arrays of elements of any size, and the locks that places share."""

    dest: tuple[Var, ...]
    extent: Atom
    fn: Lambda
    locks: Var

    def update(self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]) -> None:
        """Combine the element while nobody else can."""
        kernel = elements.kernel
        buffers = tuple(kernel.buffer(buffer) for buffer in self.dest)
        fn = elements.function(b, self.fn)
        locks = kernel.buffer(self.locks)
        b.emit(LockedUpdate(fn, locks, STRIPES, buffers, place, tuple(values)))

    def finish(self, lowering: Lowering, let: Let) -> None:
        """Nobody needs the locks any more."""
        lowering.host.emit(Free(self.locks))


class ByLocks(Update):
    """The element under a lock: it may be of any size."""

    name = "locks"

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> Locked:
        locks = lowering.host.emit(Alloc(u32, index(STRIPES), lowering.site()))[0]
        fill(lowering, let, locks, index(STRIPES), FREE, FREE)
        return Locked(dest, extent, sink.fn, locks)
