"""A kernel as it was traced, and what it becomes for the warps and lanes of a machine."""

from __future__ import annotations

from flatweave.base.plan import Plan
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.kernel_passes.reuse_memory import reuse_memory
from flatweave.lower.machine.machine import Machine

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
