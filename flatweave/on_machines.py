"""A program on the CPU or a device: results, or what went wrong in the user's terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flatweave.array_ir.syntax import MEMORY, fault_of
from flatweave.base.errors import UserError
from flatweave.base.locks import Lock
from flatweave.base.plan import Plan, Status
from flatweave.base.source import user_location
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.devices.arrays import Resident

if TYPE_CHECKING:
    from flatweave.runtime.devices.device import Device
    from flatweave.runtime.devices.launches import Keep
    from flatweave.runtime.devices.programs import HostProgram

# -- on cpu ---------------------------------------------------------------------------------------
#
# A program as machine code of the CPU: results, or what went wrong in the user's terms.
#
#     OnCpu(program).run([n, xs])      ==>   [ys], or raises Fault with the user's line


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


# -- on device ------------------------------------------------------------------------------------
#
# A program whose kernels run on a device: results, or what went wrong in the user's terms.
#
#     OnDevice(find, load, plan).run([n, xs])      ==>   [ys], or raises Fault with the user's line
#
# The device is found, and the program loaded there, when it first runs.


class OnDevice:
    """A program on a device; `keep`, if given, receives newly compiled kernels."""

    def __init__(
        self, find: Callable[[], Device], load: Callable[[Device], HostProgram], plan: Plan
    ) -> None:
        self.plan = plan
        self.keep: Keep | None = None
        self._find = find
        self._load = load
        self._lock = Lock()
        self._program: HostProgram | None = None

    @property
    def program(self) -> HostProgram:
        """The program on its device, which is found for it."""
        if self._program is None:
            with self._lock:
                if self._program is None:
                    made = self._load(self._find())
                    made.kernels.keep = self.keep
                    self._program = made
        return self._program

    @property
    def made(self) -> frozenset[str]:
        """The kernels that the device has compiled."""
        return self._program.kernels.made if self._program is not None else frozenset()

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault, or what the device says at the user's
        line."""
        try:
            program = self._program or self.program
            results = program.run(args)
        except UserError as failure:
            failure.where = failure.where or user_location()
            raise
        if isinstance(results, Status):
            fault = fault_of(results, self.plan)
            if fault.code == MEMORY:
                fault.message = program.device.held()
            raise fault
        return results
