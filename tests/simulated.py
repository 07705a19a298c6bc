"""Programs for CUDA run by the simulator: what a GPU would run, without one.

    TEST_SIMULATED=cuda TEST_TARGETS=cuda pytest -m needs_cuda tests/language

Plans and kernels are those of the machine; the simulator runs them in NumPy, and finds races.
Small inputs only: an element takes some 10 us.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from flatweave.base.plan import Plan
from flatweave.base.recording import PhaseTimer
from flatweave.base.records import replace
from flatweave.kernel_ir.syntax import Unit
from flatweave.targets import TARGETS, Runnable
from tests.codegen.device_programs import simulated


class Simulated:
    """A program of a device, run by the simulator."""

    def __init__(self, plan: Plan, unit: Unit) -> None:
        self.lowered = SimpleNamespace(plan=plan, unit=unit)
        self.made = None

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        return simulated(self.lowered, args, threads=2, seed=0)  # type: ignore[arg-type]


def _load(text: Mapping[str, str], plan: Plan, unit: Unit, timer: PhaseTimer) -> Runnable:
    return Simulated(plan, unit)


def simulate(name: str) -> SimpleNamespace:
    """From now on a target's programs are simulated; what stands for the module of its devices."""
    TARGETS[name] = replace(TARGETS[name], load=_load)
    device = SimpleNamespace(waits_for_faults=True)
    return SimpleNamespace(device=lambda: device)
