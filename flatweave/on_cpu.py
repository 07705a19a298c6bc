"""A program as machine code of the CPU: results, or what went wrong in the user's terms.

    OnCpu(program).run([n, xs])      ==>   [ys], or raises Fault with the user's line
"""

from __future__ import annotations

from typing import Any

from flatweave.array_ir.fault import INDEX, NEGATIVE, Fault, index_fault, memory_fault
from flatweave.base.dtypes import DTYPES
from flatweave.base.plan import OUT_OF_MEMORY, Plan
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.execute import Status


class OnCpu:
    """A program as machine code."""

    def __init__(self, program: CpuProgram) -> None:
        self.program = program

    @property
    def made(self) -> frozenset[str]:
        """The kernels that there is machine code for."""
        return self.program.native.table.made

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        results = self.program.run(args)
        if isinstance(results, Status):
            raise fault_of(results, self.program.plan)
        return results


def fault_of(status: Status, plan: Plan) -> Exception:
    """What a failed run reports, with the place in the user's program."""
    site = plan.sites[status.site]
    if status.code == OUT_OF_MEMORY and status.value < 0:
        return Fault(NEGATIVE, value=status.value, where=site.where)
    if status.code == OUT_OF_MEMORY:
        return memory_fault(status.value, DTYPES[status.extent], site.where)
    if site.kind == INDEX:
        axis = site.axis or int(site.message or 0)
        fault = index_fault(status.index, status.value, status.extent, axis)
        fault.where = site.where
        return fault
    values = (status.value, status.extent)[: site.count]
    return Fault(site.kind, status.index, values=values, message=site.message, where=site.where)
