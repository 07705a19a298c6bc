"""Programs of devices that an earlier process compiled run again without the compiler.

    build(program, "cuda", "..", compiled)      found under its trace: the host's steps, and texts
                                                whose binaries are kept, too; or made by compiled()

As programs of the CPU are (`recall.py`): the host with what a call must know, and apart from it the
text of each group of kernels, once a run has needed it. Which device it is makes no difference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.base.plan import Plan
from flatweave.codegen.c.host_steps import host_steps
from flatweave.kernel_ir.host import parts_of
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import parse_unit, print_unit
from flatweave.on_machines import OnDevice
from flatweave.recall import Content, Kept, Recalled, add_sites, put, recalled
from flatweave.runtime.devices.cuda import device as cuda_device
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.launches import Fits, Kernels, Launchable
from flatweave.runtime.devices.opencl import device as opencl_device
from flatweave.runtime.devices.programs import HostProgram
from flatweave.runtime.image import Unfit

FIND = {"cuda": cuda_device, "opencl": opencl_device}


def build(program: Program, target: str, choices: str, compiled: Callable[[], Any]) -> Any:
    """The executable of a program: recalled, or made by the compiler."""
    kind, _, number = target.partition(":")
    if kind not in FIND or not (number or "0").isdecimal():
        return compiled()
    kept = KeptOnDevice(program, f"{kind} {choices}")
    find = functools.partial(FIND[kind], int(number or 0))
    found = kept.recalled_for(find, compiled)
    if found is not None:
        return found
    made = compiled()
    if isinstance(made.runnable, OnDevice) and made.unit is not None:
        kept.keep_host(made.runnable, made.unit)
    return made


class KeptOnDevice(Kept):
    """What is on disk of one program."""

    def keep_host(self, runnable: OnDevice, unit: Unit) -> None:
        """Keep a program that was compiled, and each group of its kernels as it is made."""
        plan = runnable.plan
        try:
            content = print_unit(Unit(unit.host, ())), self.plain_plan(plan)
        except Unfit:
            return
        put(self.name, content)
        runnable.keep = lambda names, made: self.keep_kernels(plan, names, made)

    def keep_kernels(
        self, plan: Plan, names: Sequence[str], made: Mapping[str, Launchable]
    ) -> None:
        """Store kernels that were compiled together, and the sites where they report errors."""
        kernels = tuple(
            (
                name, each.text, each.name, each.threads, each.claims, each.reports,
                each.fits and each.fits.parts,
            )
            for name, each in made.items()
        )  # fmt: skip
        try:
            put(self.group_name(names), (kernels, self.plain_sites(plan)))
        except Unfit:
            return

    def recalled_for(
        self, find: Callable[[], Device], compiled: Callable[[], Any]
    ) -> RecalledOnDevice | None:
        """The program, if it is there; `compiled` makes it anew."""
        def read(content: Content) -> RecalledOnDevice:
            host, plan = content
            return RecalledOnDevice(self, find, self.plan_of(plan), parse_unit(host), compiled)

        return recalled(self.name, read)

    def recalled_kernels(
        self, plan: Plan, names: Sequence[str], device: Device
    ) -> dict[str, Launchable] | None:
        """Kernels that are made together, if they are there."""
        def read(content: Content) -> dict[str, Launchable]:
            kernels, sites = content
            found = {
                name: Launchable(
                    text, device.load(text), symbol, threads, claims, reports, fits and Fits(*fits)
                )
                for name, text, symbol, threads, claims, reports, fits in kernels
            }
            add_sites(plan, self.sites(sites))
            return found

        return recalled(self.group_name(names), read)


class RecalledOnDevice(Recalled):
    """A program that an earlier process compiled."""

    def __init__(
        self, kept: KeptOnDevice, find: Callable[[], Device], plan: Plan, unit: Unit,
        compiled: Callable[[], Any],
    ) -> None:  # fmt: skip
        groups = parts_of(unit.host).groups

        def load(device: Device) -> HostProgram:
            kernels = Kernels(groups, lambda names: self._kernels_of(names, device))
            return HostProgram(device, kernels, host_steps(unit, plan), plan)

        super().__init__(kept, "", plan, lambda _: OnDevice(find, load, plan), compiled)  # type: ignore[arg-type,return-value]
        self._kept_here = kept

    def _kernels_of(self, names: Sequence[str], device: Device) -> dict[str, Launchable]:
        """Kernels that are made together: recalled, or made by the compiler and kept."""
        found = self._kept_here.recalled_kernels(self._plan, names, device)
        if found is None:
            assert self.whole
            program: HostProgram = self._made.program
            found = {name: program.kernels[name] for name in names}
            add_sites(self._plan, program.plan.sites)
            self._kept_here.keep_kernels(self._plan, names, found)
        return found
