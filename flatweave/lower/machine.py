"""The numbers that make one lowering fit each machine (decision: one algorithm, every machine)."""

from __future__ import annotations

from dataclasses import dataclass

from flatweave.base.dtypes import DType
from flatweave.lower.locate import LANES
from flatweave.ops import Sweep
from flatweave.ops.rows import scalar_type
from flatweave.passes.cost import cost_of_body
from flatweave.terms.syntax import ArrayType
from flatweave.terms.traverse import free_vars

KIB = 1024
WIDEST = 64
"""Lanes of the widest step: their flags fit one machine word."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the lowering asks of a target; sizes in bytes.

    `masked_tail`: a warp's last step runs with some lanes idle (GPU) instead of lane by lane (CPU).
    `tiles`: square tiles turned in registers are cheap, so that each lane may have its own run.
    `forward_progress`: a block may wait for an earlier one, so a scan needs one pass only.
    `block_work`: the operations that pay for a block. `shares_memory`: the host reads and writes
    buffers itself at no cost; where it does not, what blocks leave behind is combined by a launch.
    `swap_bytes`: what one compare-and-swap can replace.
    """

    name: str
    vector_bytes: int
    fixed_width: int | None
    warps: int
    block_bytes: int
    masked_tail: bool
    forward_progress: bool
    atomics: bool
    tiles: bool
    streaming_from: int | None
    blocks_wanted: int
    block_work: int = 32 * KIB
    shares_memory: bool = True
    swap_bytes: int = 8

    def lanes(self, dtypes: list[DType]) -> int:
        """Lanes that fill one register with the widest of `dtypes`."""
        if self.fixed_width is not None:
            return self.fixed_width
        return max(1, self.vector_bytes // max([dtype.bytes for dtype in dtypes] or [8]))


@dataclass(frozen=True, slots=True)
class Tiling:
    """How one sweep is divided: lanes of a step, and least and most elements of a block."""

    width: int
    least: int
    most: int


def element_dtypes(sweep: Sweep) -> list[DType]:
    """The dtypes of all that a sweep reads from arrays or hands to its sinks."""
    read = [var.type.dtype for var in free_vars(sweep) if isinstance(var.type, ArrayType)]
    return [*read, *(scalar_type(result) for result in sweep.body.results)]


def choose_tiling(
    machine: Machine, sweep: Sweep, *, in_order: bool, along_rows: bool = False
) -> Tiling:
    """Lanes of a step, and the least and most elements of a block, from what the body costs."""
    cost = max(1, cost_of_body(sweep.body))
    dtypes = element_dtypes(sweep)
    width = machine.lanes(dtypes)
    if machine.fixed_width is None:
        width = min(WIDEST, width * _registers(cost, in_order=in_order))
        width = LANES if along_rows else width
    bytes_each = max(1, sum(dtype.bytes for dtype in dtypes))
    step = width * machine.warps
    most = max(step, machine.block_bytes // bytes_each // step * step)
    least = min(most, max(step, machine.block_work // cost // step * step))
    return Tiling(width, least, most)


def _registers(cost: int, *, in_order: bool) -> int:
    """Registers for each value of a step: independent work hides latency until they run out."""
    if in_order:
        return 4 if cost <= 8 else 2 if cost <= 16 else 1
    return 4 if cost < 40 else 2


CPU_AVX512 = Machine(
    name="cpu",
    vector_bytes=64,
    fixed_width=None,
    warps=1,
    block_bytes=256 * KIB,
    masked_tail=False,
    forward_progress=True,
    atomics=False,
    tiles=True,
    streaming_from=4 * KIB * KIB,
    blocks_wanted=64,
    swap_bytes=16,
)
OPENCL = Machine(
    name="opencl",
    vector_bytes=64,
    fixed_width=32,
    warps=4,
    block_bytes=256 * KIB,
    masked_tail=True,
    forward_progress=False,
    atomics=True,
    tiles=False,
    streaming_from=None,
    blocks_wanted=64,
    block_work=8 * KIB,
    shares_memory=False,
)
CUDA = Machine(
    name="cuda",
    vector_bytes=128,
    fixed_width=32,
    warps=8,
    block_bytes=128 * KIB,
    masked_tail=True,
    forward_progress=True,
    atomics=True,
    tiles=False,
    streaming_from=None,
    blocks_wanted=1024,
    block_work=8 * KIB,
    shares_memory=False,
)
