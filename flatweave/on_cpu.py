"""A program as machine code of the CPU: results, or what went wrong in the user's terms.

    OnCpu(program).run([n, xs])      ==>   [ys], or raises Fault with the user's line
"""

from __future__ import annotations

from typing import Any

from flatweave.array_ir.fault import fault_of
from flatweave.base.plan import Status
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.devices.arrays import Resident


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
        if Resident.exist:
            args = [arg.values() if type(arg) is Resident else arg for arg in args]
        results = self.program.run(args)
        if isinstance(results, Status):
            raise fault_of(results, self.program.plan)
        return results
