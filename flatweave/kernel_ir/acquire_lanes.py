"""AcquireLanes: the lanes of a warp look at what other blocks have published, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.kernel_ir.op import BY_LANE, IN_LANES, KernelOp, contents_misfit, dtype_in
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Type, Var, op


@op
class AcquireLanes(KernelOp):
    """buffer[index] of each lane, loaded as `acquire` does: what was written before the releases
    that they read from is seen by all lanes of the warp."""

    buffer: Var
    index: Atom
    effect: ClassVar[bool] = True
    stands = IN_LANES
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (dtype_in(self.buffer),)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit((self.buffer,))
