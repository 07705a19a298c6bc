"""A launch in the simulator: blocks start in order, some at a time, and take turns where they wait.

Without a seed a block runs until it waits or is done, and warps run in order from barrier to
barrier; with one, blocks and warps take turns at random wherever they look at each other's work.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.syntax import Kernel
from flatweave.simulator.access import Failure, Progress
from flatweave.simulator.control import Event
from flatweave.simulator.memory import Agent, BlockTimes, Buffer, WarpTimes
from flatweave.simulator.warp import Warp
from flatweave.terms.batch import Env

PATIENCE = 1000  # turns of every waiting block without any progress, before we call it a deadlock

Turns = Generator[Event, None, None]


def launch(
    kernel: Kernel, grid: int, args: Sequence[Any], threads: int, rng: np.random.Generator | None
) -> Failure | None:
    """Run a kernel; what it reported, if it did."""
    progress = Progress({})
    for arg in args:
        if isinstance(arg, Buffer):
            arg.forget()
    running: list[Turns] = []
    started, finished, waits = 0, 0, 0
    while finished < grid:
        while started < grid and len(running) < threads:
            running.append(_block(kernel, started, grid, args, progress, rng))
            started += 1
        chosen = 0 if rng is None else int(rng.integers(len(running)))
        seen = progress.events
        try:
            event = next(running[chosen])
        except StopIteration:
            running.pop(chosen)
            finished += 1
            waits = 0
            continue
        waits = 0 if progress.events != seen else waits + 1
        if event is Event.WAIT:
            running.append(running.pop(chosen))
        if waits > PATIENCE * len(running):
            raise CompilerBug(f"deadlock: {len(running)} blocks of {kernel.name} wait for ever.")
    return progress.failure


def _block(
    kernel: Kernel, number: int, grid: int, args: Sequence[Any], progress: Progress,
    rng: np.random.Generator | None,
) -> Turns:  # fmt: skip
    """The warps of a block from barrier to barrier; stops wherever one looks or waits."""
    times = BlockTimes(np.zeros(grid, np.int64))
    env = Env()
    env.values.update(zip(kernel.params, args, strict=True))
    agents = [_agent(number, warp, kernel.warps, times) for warp in range(kernel.warps)]
    warps = [
        Warp(agent, progress, warp).call(env, kernel.body, ()) for warp, agent in enumerate(agents)
    ]
    ready, arrived, done = list(range(kernel.warps)), 0, 0
    while done < kernel.warps:
        if not ready:
            if arrived < kernel.warps:
                raise CompilerBug(
                    f"a barrier of {kernel.name} that {done} of {kernel.warps} warps never reach."
                )
            ready, arrived = list(range(kernel.warps)), 0
            times.epoch += 1
        at = 0 if rng is None else int(rng.integers(len(ready)))
        try:
            event = next(warps[ready[at]])
        except StopIteration:
            ready.pop(at)
            done += 1
            continue
        if event is Event.SYNC:
            ready.pop(at)
            arrived += 1
            continue
        if event is Event.WAIT:
            ready.append(ready.pop(at))
        yield event


def _agent(block: int, warp: int, warps: int, times: BlockTimes) -> Agent:
    """A warp that the machine has."""
    number = block * warps + warp
    return Agent(block, f"block {block}, warp {warp}", warps, times, WarpTimes(), number, number)
