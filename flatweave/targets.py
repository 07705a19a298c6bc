"""The table of targets: which machine each lowers for, and how a lowered unit is made to run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.errors import ArgumentError
from flatweave.base.plan import Plan
from flatweave.base.recording import PhaseTimer
from flatweave.base.records import record, replace
from flatweave.codegen import cuda, opencl
from flatweave.codegen.c import program as device_program
from flatweave.codegen.llvm import isa
from flatweave.codegen.llvm.unit import emit, load
from flatweave.kernel_ir.syntax import Unit
from flatweave.lower.machine import CUDA, OPENCL, Machine, cpu
from flatweave.on_machines import OnCpu, OnDevice
from flatweave.runtime.devices import cuda as cuda_devices
from flatweave.runtime.devices import cuda_libraries
from flatweave.runtime.devices import opencl as opencl_devices
from flatweave.runtime.native import assembly
from flatweave.runtime.processor import processor

if TYPE_CHECKING:
    from flatweave.codegen.c.program import Emit
    from flatweave.runtime.devices.device import Device


class Runnable(Protocol):
    """A program ready to run on its target."""

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""

    @property
    def made(self) -> frozenset[str] | None:
        """The kernels that have been made; None for all."""


Load = Callable[[Mapping[str, str], Plan, Unit, PhaseTimer], Runnable]


@record(eq=True)
class Target:
    """A name, the machine that the lowering has in mind, and text and code for its units.

    `load` makes a unit ready to run, and may ask for texts by their stage. `texts` are the stages
    that it is printed in, with what their files end in; `more` makes those that running does not
    need. `cpu` gives the name of the CPU that its code is made for here and now; "" where a driver
    decides. `numbered` is `load` for one of a target's devices by its number; None: there are
    none.
    """

    name: str
    find_machine: Callable[[], Machine | None]
    emit: Callable[[Unit], dict[str, str]]
    load: Load
    texts: Mapping[str, str]
    more: Callable[[dict[str, str]], dict[str, str]]
    cpu: Callable[[], str] = str
    numbered: Callable[[int], Load] | None = None

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
        """The results for flat arguments, none of which it writes to; raises Fault."""
        return interp.run(self.program, args[: len(self.program.fn.params)])


def _machine_of_cpu() -> Machine:
    here = isa.here()
    return cpu(here.register_bits, here.registers)


def _on(find: Callable[[int], Device], emit: Emit) -> Callable[[int], Load]:
    """How a unit is made to run on a device by its number, which the first call opens."""
    return lambda index: _on_device(functools.partial(find, index), emit)


def _on_device(find: Callable[[], Device], emit: Emit) -> Load:
    def load(text: Mapping[str, str], plan: Plan, unit: Unit, timer: PhaseTimer) -> Runnable:
        return on_device(find, emit, plan, unit, timer)

    return load


def on_device(
    find: Callable[[], Device], emit: Emit, plan: Plan, unit: Unit, timer: PhaseTimer | None = None
) -> OnDevice:
    """A unit that runs on a device, which the first call finds."""
    return OnDevice(
        find, lambda device: device_program.program_of(unit, plan, device, emit, timer), plan
    )  # fmt: skip


def _none(*given: object) -> Any:
    return {}


ON_OPENCL = _on(lambda index: opencl_devices.device(index), lambda *unit: opencl.emit(*unit))
ON_CUDA = _on(lambda index: cuda_devices.device(index), lambda *unit: cuda.emit(*unit))
TARGETS = {
    target.name: target
    for target in (
        Target(
            "cpu", _machine_of_cpu, lambda unit: {"llvm": emit(unit, isa.here())},
            lambda _, plan, unit, timer: OnCpu(load(unit, plan, timer)),
            {"llvm": "ll", "asm": "txt"}, lambda text: {"asm": assembly(text["llvm"])},
            lambda: processor().name,
        ),
        Target(
            "opencl", lambda: OPENCL, lambda unit: {"opencl": opencl.emit(unit)}, ON_OPENCL(0),
            {"opencl": "cl"}, _none, numbered=ON_OPENCL,
        ),
        Target(
            "cuda", lambda: CUDA, lambda unit: {"cuda": cuda.emit(unit)}, ON_CUDA(0),
            {"cuda": "cu", "ptx": "ptx"}, lambda text: {"ptx": cuda_libraries.ptx(text["cuda"])},
            numbered=ON_CUDA,
        ),
        Target("interp", lambda: None, _none, _none, {}, _none),
    )
}  # fmt: skip
TARGET_OF_TEXT = {stage: target.name for target in TARGETS.values() for stage in target.texts}


def target_named(name: str) -> Target:
    """The target of this name: `cuda`, or one of its devices by number, `cuda:1`."""
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    target = TARGETS.get(kind)
    if target is None or (number and not number.isdecimal()) or name.endswith(":"):
        raise ArgumentError(
            f"{name!r} is not a target.",
            remedy=f"Targets are {', '.join(TARGETS)}, auto; see FLATWEAVE_TARGET, "
            "jit(target=..).",
        )
    if not number:
        return target
    if target.numbered is None:
        raise ArgumentError(
            f"{name!r} is not a target: {kind} has no devices to choose from.",
            remedy=f"Leave the number out: target={kind!r}.",
        )
    return replace(target, load=target.numbered(int(number)))
