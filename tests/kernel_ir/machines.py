"""One unit with levels on every machine: as written, distributed in the simulator, LLVM, PoCL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.plan import Param, Plan, Result
from flatweave.codegen import cuda, opencl
from flatweave.codegen.c.program import program_of
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import verify
from flatweave.kernel_passes.barriers import reuse_memory
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.opencl import opened
from flatweave.simulator.run import run
from flatweave.terms.syntax import BufferType
from tests.codegen.llvm_programs import run_host

CPU_SHAPES = [BlockShape(1, width, simt=False, memory=1 << 20) for width in (1, 8, 32)]
CUDA_SHAPES = [BlockShape(warps, 32) for warps in (1, 4, 8)]
OPENCL_SHAPES = [BlockShape(warps, 32, warps_meet_alone=False) for warps in (1, 4, 8)]
ALL_SHAPES = [*CPU_SHAPES, *CUDA_SHAPES, *OPENCL_SHAPES[1:]]

Results = Sequence[tuple[DType, int]]
"""The dtype and the length of each array that a unit gives."""


def distributed(unit: Unit, shape: BlockShape) -> Unit:
    """The unit for a machine, verified."""
    made = distribute(reuse_memory(unit), shape)
    verify(made)
    return made


def simulated(unit: Unit, args: Sequence[Any], seed: int | None = 0) -> list[np.ndarray]:
    """What the simulator gives, which also looks for races."""
    verify(unit)
    found = run(unit, list(args), threads=2, seed=seed)
    assert isinstance(found, list)
    return found


def on_cpu(
    unit: Unit, shape: BlockShape, args: Sequence[Any], results: Results
) -> list[np.ndarray]:
    """What machine code gives."""
    made = distributed(unit, shape)
    out = run_host(made.host, made.kernels, list(args))
    assert out.status == 0
    return [out.array(2 * k, *result) for k, result in enumerate(results)]


@cache
def quick_device() -> Device:
    """The device, with a compiler that optimises nothing."""
    return opened(options=["-cl-opt-disable"])


class OnOpenCl:
    """A unit compiled once by PoCL, for runs with any arguments."""

    def __init__(self, unit: Unit, shape: BlockShape, dtypes: Sequence[DType]) -> None:
        made = distributed(unit, shape)
        params = []
        for var in unit.host.params:
            is_buffer = isinstance(var.type, BufferType)
            params.append(Param(var.type.dtype if is_buffer else var.type, is_buffer))  # type: ignore[union-attr]
        self.made, self.params, self.dtypes = made, tuple(params), dtypes
        self.device = quick_device()

    def run(self, args: Sequence[Any], lengths: Sequence[int]) -> list[np.ndarray]:
        """What the device gives: arrays of these lengths."""
        results = tuple(
            Result(dtype, (n,)) for dtype, n in zip(self.dtypes, lengths, strict=True)
        )
        plan = Plan(self.params, results, ())
        program = program_of(self.made, plan, self.device, opencl.emit)
        return [np.asarray(x) for x in program.run(list(args))]


def cuda_text(unit: Unit, shape: BlockShape) -> str:
    """The CUDA C of a unit."""
    return cuda.emit(distributed(unit, shape))
