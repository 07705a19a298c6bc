"""A unit becomes a program of machine code: the host now, a branch's kernels when they are needed.

    host's module    fw_main, which finds kernels in a table
    other modules    the kernels that run whatever happens, made with the host; then those of each
                     branch: written, emitted and compiled at their first launch

A kernel that no call needs costs nothing. What is made later is made under the switches of the time
when the program was compiled. LLVM's work is chosen by how often code runs: kernels are optimised,
the host only where it has a hot loop of its own (`level.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.config import config
from flatweave.base.laps import Laps
from flatweave.base.plan import Plan
from flatweave.codegen.llvm.isa import here
from flatweave.codegen.llvm.unit.emit import emit_host, emit_kernels
from flatweave.codegen.llvm.unit.level import level_of
from flatweave.codegen.llvm.unit.parts import parts_of
from flatweave.kernel_ir.syntax import Unit
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.deep import check_wanted, on_deep_stack
from flatweave.runtime.later import Made, Table
from flatweave.runtime.native import compile_text


def load(unit: Unit, plan: Plan, laps: Laps) -> CpuProgram:
    """The program; `laps` go on while kernels are made."""
    parts, switches = parts_of(unit.host), config.current

    def made(names: Sequence[str]) -> Made:
        with config.scoped(cpu=switches.cpu, no_cache=switches.no_cache):
            return on_deep_stack(lambda: make_kernels(unit, names, laps))

    table = Table(parts.groups, made)
    if parts.first:
        table.make(1)
    with laps.stage("emit"):
        text = emit_host(unit, parts, here())
    check_wanted()
    with laps.stage("compile"):
        code = compile_text(text, level=level_of(unit.host))
    return CpuProgram(code, plan, table)


def make_kernels(unit: Unit, names: Sequence[str], laps: Laps) -> Made:
    """The machine code of some kernels, and the symbol of each."""
    with laps.stage("lower"):
        kernels = [unit.kernel(name) for name in names]
    check_wanted()
    with laps.stage("emit"):
        text, symbols = emit_kernels(kernels, here())
    check_wanted()
    with laps.stage("compile"):
        return compile_text(text), symbols
