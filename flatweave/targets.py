"""The table of targets: which machine each lowers for, and how a lowered unit is made to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from flatweave.array_ir import interp
from flatweave.array_ir.fault import fault_of
from flatweave.array_ir.syntax import Program
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.laps import Laps
from flatweave.base.plan import Plan, Status
from flatweave.base.records import record
from flatweave.codegen import cuda, llvm, opencl
from flatweave.codegen.c.program import Emit, program_of
from flatweave.codegen.llvm import isa
from flatweave.kernel_ir.syntax import Unit
from flatweave.lower.machine.machine import CUDA, OPENCL, Machine, cpu
from flatweave.on_cpu import OnCpu
from flatweave.runtime.devices import nvrtc
from flatweave.runtime.devices.device import Device, HostProgram
from flatweave.runtime.devices.opencl import device as opencl_device
from flatweave.runtime.native import assembly
from flatweave.runtime.processor import processor


class Runnable(Protocol):
    """A program ready to run on its target."""

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""

    @property
    def made(self) -> frozenset[str] | None:
        """The kernels that have been made; None for all."""


@record(eq=True)
class Target:
    """A name, the machine that the lowering has in mind, and text and code for its units.

    `load` makes a unit ready to run, and may ask for texts by their stage. `texts` are the stages
    that it is printed in, with what their files end in; `more` makes those that running does not
    need. `cpu` gives the name of the CPU that its code is made for here and now; "" where a driver
    decides.
    """

    name: str
    find_machine: Callable[[], Machine | None]
    emit: Callable[[Unit], dict[str, str]]
    load: Callable[[Mapping[str, str], Plan, Unit, Laps], Runnable]
    texts: Mapping[str, str]
    more: Callable[[dict[str, str]], dict[str, str]]
    cpu: Callable[[], str] = str

    @property
    def machine(self) -> Machine | None:
        """The machine here and now; None for the interpreter, which runs what was traced."""
        return self.find_machine()


class Interpreted:
    """A program run by the reference interpreter."""

    made = None

    def __init__(self, program: Program) -> None:
        self.program = program

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        return interp.run(self.program, args)


class OnDevice:
    """A program whose kernels run on a device, which the first call finds."""

    def __init__(
        self, find: Callable[[], Device], emit: Emit, plan: Plan, unit: Unit,
        laps: Laps | None = None,
    ) -> None:  # fmt: skip
        self.plan = plan
        self._program: HostProgram | None = None

        def loaded() -> HostProgram:
            return program_of(unit, plan, find(), emit, laps)

        self._load = loaded

    @property
    def made(self) -> frozenset[str]:
        """The kernels that the device has compiled."""
        return self._program.kernels.made if self._program is not None else frozenset()

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault, or Unsupported."""
        if self._program is None:
            self._program = self._load()
        results = self._program.run(args)
        if isinstance(results, Status):
            raise fault_of(results, self.plan)
        return results


def _machine_of_cpu() -> Machine:
    here = isa.here()
    return cpu(here.register_bits, here.registers)


def _emit_cpu(unit: Unit) -> dict[str, str]:
    return {"llvm": llvm.emit(unit, isa.here())}


def _load_cpu(text: Mapping[str, str], plan: Plan, unit: Unit, laps: Laps) -> Runnable:
    return OnCpu(llvm.load(unit, plan, laps))


def _cpu() -> str:
    return processor().name


def _assembly(text: dict[str, str]) -> dict[str, str]:
    return {"asm": assembly(text["llvm"])}


def _emit_opencl(unit: Unit) -> dict[str, str]:
    return {"opencl": opencl.emit(unit)}


def _load_opencl(text: Mapping[str, str], plan: Plan, unit: Unit, laps: Laps) -> Runnable:
    return OnDevice(opencl_device, opencl.emit, plan, unit, laps)


def _emit_cuda(unit: Unit) -> dict[str, str]:
    return {"cuda": cuda.emit(unit)}


def _load_cuda(text: Mapping[str, str], plan: Plan, unit: Unit, laps: Laps) -> Runnable:
    return OnDevice(_no_cuda, cuda.emit, plan, unit, laps)


def _no_cuda() -> Device:
    raise Unsupported(
        "Programs are printed and compiled for CUDA, but not run on it yet.",
        remedy='Read f.stages(..).text["cuda"]; run with target="cpu" or target="opencl".',
    )


def _ptx(text: dict[str, str]) -> dict[str, str]:
    return {"ptx": nvrtc.ptx(text["cuda"])}


def _none(*given: object) -> Any:
    return {}


TARGETS = {
    target.name: target
    for target in (
        Target(
            "cpu", _machine_of_cpu, _emit_cpu, _load_cpu, {"llvm": "ll", "asm": "txt"},
            _assembly, _cpu,
        ),
        Target("opencl", lambda: OPENCL, _emit_opencl, _load_opencl, {"opencl": "cl"}, _none),
        Target("cuda", lambda: CUDA, _emit_cuda, _load_cuda, {"cuda": "cu", "ptx": "ptx"}, _ptx),
        Target("interp", lambda: None, _none, _none, {}, _none),
    )
}  # fmt: skip
TARGET_OF_TEXT = {stage: target.name for target in TARGETS.values() for stage in target.texts}


def target_named(name: str) -> Target:
    """The target of this name."""
    if not isinstance(name, str) or name not in TARGETS:
        raise ArgumentError(
            f"{name!r} is not a target.",
            remedy="Targets are " + ", ".join(TARGETS) + "; see FLATWEAVE_TARGET, jit(target=..).",
        )
    return TARGETS[name]
