"""ThreadMemory: memory of each thread of a block, from one loop over threads to the next."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.kernel_ir.op import KernelOp, count_misfits
from flatweave.terms.syntax import BufferType, Type, op


@op
class ThreadMemory(KernelOp):
    """Memory for `count` elements of each thread: registers, on machines whose lanes are threads.

    It stands in code of a block or warp, for loops over no more threads than that has: thread t of
    each is the same one. `width` is how many lanes a warp has.
    """

    dtype: DType
    count: int
    width: int
    stands = frozenset({"block", "warp"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "local"),)

    def misfits(self) -> Iterator[str]:
        return count_misfits(self.count)
