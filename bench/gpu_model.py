"""What a launch takes on a GPU, from counts: the largest of five times, and a constant.

    seconds(work, H100)          (0.00071, "memory")

    memory      sectors that are accessed at least once, at the speed of a copy
    second cache    all sectors of all warps, at its published rate
    issue       instructions of warps, four a clock on each multiprocessor
    shared      passes over the banks of shared memory, one a clock on each multiprocessor
    latency     one warp alone, times how often the device is filled: 4 cycles for an instruction,
                and what it waits for

Only published figures are in it; nothing was fitted to a time of ours. Sources:
- NVIDIA's A100 and H100 Tensor Core GPU architecture papers (2020, 2022): multiprocessors,
  bandwidth, 64 warps, 65,536 registers and shared memory of a multiprocessor, four schedulers that
  issue an instruction a clock each. The clock is the rate of f32 over 2 x 128 x (64 on the A100)
  lanes of each multiprocessor: 19.5 and 66.9 Tflop/s.
- Ultrasonics Sonochemistry 99 (2023) 106546, table 3: 5,120 bytes a clock from the second cache,
  128 bytes a clock of shared memory for each multiprocessor; 4 cycles for arithmetic, 20 until
  shared memory answers, 400 until global memory does. A shuffle is taken to be as slow as shared
  memory.
- A copy moves 0.9 of the bandwidth, and a launch takes 2.5 us: assumptions, named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SECTOR = 32  # bytes
COPY = 0.9
LAUNCH = 2.5e-6  # seconds
ARITHMETIC = 4  # cycles
WAITS = {"shared": 20, "shuffle": 20, "global": 400}  # cycles
L2_BYTES = 5120  # a clock
SCHEDULERS = 4
REGISTERS, WARPS, BLOCKS = 65536, 64, 32  # of a multiprocessor


@dataclass(frozen=True)
class Gpu:
    """A device's published figures: hertz, bytes in a second, bytes."""

    name: str
    multiprocessors: int
    clock: float
    bandwidth: float
    shared_bytes: int

    @property
    def copy(self) -> float:
        """Bytes that a copy reads and writes in a second."""
        return COPY * self.bandwidth


A100 = Gpu("A100", 108, 1.41e9, 1.555e12, 164 << 10)
H100 = Gpu("H100", 132, 1.98e9, 3.35e12, 228 << 10)
H200 = Gpu("H200", 132, 1.98e9, 4.8e12, 228 << 10)


@dataclass(frozen=True)
class Work:
    """What a launch does, in all: counts of the interpreter and of the assembler."""

    name: str
    grid: float
    threads: int
    instructions: float
    distinct: float
    sectors: float
    passes: float
    waits: Mapping[str, float]
    registers: int
    shared: int

    @property
    def warps(self) -> int:
        """Of a block."""
        return -(-self.threads // 32)


def resident(work: Work, gpu: Gpu) -> int:
    """Blocks that a multiprocessor holds at once (the CUDA programming guide's table of limits)."""
    each = -(-work.registers // 8) * 8 * 32 * work.warps
    limits = [BLOCKS, WARPS // work.warps, REGISTERS // max(1, each)]
    if work.shared:
        limits.append(gpu.shared_bytes // (work.shared + 1024))
    return max(1, min(limits))


def bounds(work: Work, gpu: Gpu) -> dict[str, float]:
    """Seconds that each of the five takes, were it alone."""
    clocks = gpu.clock * gpu.multiprocessors
    warps = max(1.0, work.grid * work.warps)
    alone = (
        ARITHMETIC * work.instructions
        + sum(WAITS[kind] * count for kind, count in work.waits.items())
    ) / warps
    fills = max(1.0, work.grid / (gpu.multiprocessors * resident(work, gpu)))
    return {
        "memory": work.distinct * SECTOR / gpu.copy,
        "second cache": work.sectors * SECTOR / (L2_BYTES * gpu.clock),
        "issue": work.instructions / (SCHEDULERS * clocks),
        "shared": work.passes / clocks,
        "latency": fills * alone / gpu.clock,
    }


def seconds(work: Work, gpu: Gpu) -> tuple[float, str]:
    """The time of a launch, and what bounds it."""
    found = bounds(work, gpu)
    most = max(found, key=lambda name: found[name])
    return found[most] + LAUNCH, most
