"""A traced kernel becomes a program of each target, and is made ready to run on one."""

from __future__ import annotations

from functools import partial
from typing import Any

from flatweave.base.config import config
from flatweave.base.laps import Laps
from flatweave.base.plan import Plan
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.text import print_unit
from flatweave.kernel_ir.verify import verify
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.kernel_passes.reuse_memory import reuse_memory
from flatweave.lower.machine.machine import Machine
from flatweave.on_cpu import fault_of
from flatweave.pipeline import EXTENSION, Executable, Texts, dump
from flatweave.runtime.deep import on_deep_stack
from flatweave.runtime.execute import Status
from flatweave.simulator import run as simulator
from flatweave.simulator.progress import Failure
from flatweave.targets import TARGETS, Target

WARP = 32
"""Lanes of a warp on machines whose lanes are threads."""


@record
class Written:
    """A kernel as it was traced: for no machine in particular."""

    name: str
    unit: Unit
    plan: Plan
    threads: int


def shape_of(machine: Machine, threads: int) -> BlockShape:
    """What a machine gives a block of so many threads."""
    shape = machine.block_shape
    if not machine.simt:
        return shape
    return replace(shape, warps=max(1, -(-threads // WARP)))


def unit_for(written: Written, machine: Machine) -> Unit:
    """The kernels for the warps and lanes of a machine."""
    return distribute(reuse_memory(written.unit), shape_of(machine, written.threads))


def build(written: Written, target: Target) -> Executable:
    """Compile a traced kernel for a target; the interpreter's is the simulator."""
    laps = Laps(written.name)
    if config.verify:
        verify(written.unit)
    texts = Texts()
    texts["kernel"] = partial(print_unit, written.unit)
    for other in TARGETS.values():
        for stage in other.texts:
            texts[stage] = partial(_text, written, other, stage)
    for stage in texts:
        if config.dumps(stage):
            dump(f"{written.name}.{stage}.{EXTENSION.get(stage, 'txt')}", texts[stage])
    machine = target.machine
    if machine is None:
        return Executable(Simulated(written), texts, None, written.unit, target, {})

    def compiled() -> Executable:
        with laps.stage("lower"):
            unit = unit_for(written, machine)
        runnable = target.load(texts, written.plan, unit, laps)
        return Executable(
            runnable, texts, None, unit, target, laps.seconds, cpu=target.cpu()
        )

    return on_deep_stack(compiled)


def _text(written: Written, target: Target, stage: str) -> str:
    """What a kernel becomes on a target."""
    machine = target.machine
    assert machine is not None
    emitted = target.emit(unit_for(written, machine))
    return emitted[stage] if stage in emitted else target.more(emitted)[stage]


class Simulated:
    """A kernel run by the simulator, which watches its memory."""

    made = None

    def __init__(self, written: Written) -> None:
        self.written = written

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault, and CompilerBug for races and the like."""
        return simulated(self.written, args)


def simulated(
    written: Written, args: list[Any], threads: int = 1, seed: int | None = None
) -> list[Any]:
    """The results as the simulator finds them, so many blocks at a time."""
    plan = written.plan
    found = simulator.run(written.unit, args, threads, seed)
    if isinstance(found, Failure):
        raise fault_of(Status(found.code, found.site, found.index, found.value, found.extent), plan)
    results: list[Any] = []
    rest = iter(found)
    for result in plan.results:
        value = next(rest)
        if result.extents is None:
            results.append(result.dtype.numpy.type(value))
            continue
        shape = [int(next(rest)) if extent is None else extent for extent in result.extents]
        results.append(value.reshape(shape))
    return results
