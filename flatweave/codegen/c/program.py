"""A unit becomes a program of a device: its host in Python, its kernels when they are launched.

    launch k ..     the first time: the kernels of k's group (`kernel_ir/parts.py`) are written and
                    emitted as one text, which the device's compiler makes a module of

A kernel that no call needs costs nothing. What is made later is made under the switches of the time
when the program was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.config import config
from flatweave.base.laps import Laps
from flatweave.base.plan import Plan
from flatweave.base.progress import shown
from flatweave.codegen.c.host_steps import host_steps
from flatweave.codegen.c.kernel import kernel_symbol, shape_of
from flatweave.kernel_ir.parts import parts_of
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.runtime.deep import check_wanted, on_deep_stack
from flatweave.runtime.devices.device import Device, Module
from flatweave.runtime.devices.kernels import Kernels, Launchable
from flatweave.runtime.devices.programs import HostProgram

Emit = Callable[[Unit], str]


def program_of(
    unit: Unit, plan: Plan, device: Device, emit: Emit, laps: Laps | None = None
) -> HostProgram:
    """The program; `laps` go on while kernels are made."""
    switches, laps = config.current, laps or Laps("kernels")

    def make(names: Sequence[str]) -> dict[str, Launchable]:
        with config.scoped(no_cache=switches.no_cache), shown(laps) as look:
            made = on_deep_stack(lambda: _made(unit, names, device, emit, laps), look)
        laps.tell()
        return made

    kernels = Kernels(parts_of(unit.host).groups, make)
    return HostProgram(device, kernels, host_steps(unit, plan), plan)


def _made(
    unit: Unit, names: Sequence[str], device: Device, emit: Emit, laps: Laps
) -> dict[str, Launchable]:
    kernels: list[Kernel] = []
    laps.expect(len(names))
    for name in names:
        with laps.stage("lower"):
            kernels.append(unit.kernel(name))
        check_wanted()
    with laps.stage("emit"):
        text = emit(Unit(unit.host, tuple(kernels)))
    check_wanted()
    with laps.stage("compile"):
        module = device.load(text)
    laps.finish(len(names))
    return {kernel.name: _launchable(kernel, text, module) for kernel in kernels}


def _launchable(kernel: Kernel, text: str, module: Module) -> Launchable:
    shape = shape_of(kernel)
    name = kernel_symbol(kernel.name)
    return Launchable(text, module, name, shape.threads, shape.claims, shape.reports)
