"""A traced kernel becomes a program of each target, and is made ready to run on one."""

from __future__ import annotations

from functools import partial

from flatweave.base.config import config
from flatweave.base.laps import Laps
from flatweave.kernel.programs.simulated import Simulated
from flatweave.kernel_ir.text import print_unit
from flatweave.kernel_ir.verify import verify
from flatweave.lower.call_kernel import unit_for
from flatweave.ops import KernelProgram
from flatweave.pipeline import EXTENSION, Executable, Texts, dump
from flatweave.runtime.deep_stack import on_deep_stack
from flatweave.targets import TARGETS, Target


def build(written: KernelProgram, target: Target) -> Executable:
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


def _text(written: KernelProgram, target: Target, stage: str) -> str:
    """What a kernel becomes on a target."""
    machine = target.machine
    assert machine is not None
    emitted = target.emit(unit_for(written, machine))
    return emitted[stage] if stage in emitted else target.more(emitted)[stage]
