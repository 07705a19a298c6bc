"""A launch in the simulator: blocks start in order, some at a time, and take turns.

A block stops wherever one of its warps looks at what others do, or waits for it; there a schedule
says who goes on.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from flatweave.kernel_ir.syntax import Kernel
from flatweave.simulator.agents import Agent, WarpTimes
from flatweave.simulator.clocks import Clock, meet, nothing_seen
from flatweave.simulator.control import Event
from flatweave.simulator.faults import Misuse
from flatweave.simulator.memory import Buffer
from flatweave.simulator.progress import Progress
from flatweave.simulator.warp import Warp
from flatweave.terms.batch import Env, Value

PATIENCE = 100  # turns of every waiting block without any progress, before we call it a deadlock


class Running:
    """A block of a launch, or a warp of a block, that has begun."""

    def __init__(self, number: int, steps: Generator[Event, None, Any], progress: Progress) -> None:
        self.number = number
        self.turns = self.in_vain = 0
        self._steps = steps
        self._progress = progress
        self._waited = -1

    @property
    def waits(self) -> bool:
        """Whether nothing has happened since it last looked."""
        return self._waited == self._progress.events

    def go_on(self) -> Event | None:
        """Where it stops next; None where it ends."""
        self.turns += 1
        event = next(self._steps, None)
        if event is Event.WAIT:
            self.in_vain = self.in_vain + 1 if self.waits else 0
            self._waited = self._progress.events
        return event


def launch(
    kernel: Kernel, grid: int, args: Sequence[Any], at_once: int, progress: Progress
) -> None:
    """Run a kernel, so many blocks at a time."""
    for arg in args:
        if isinstance(arg, Buffer):
            arg.forget()
    seen = nothing_seen(grid * kernel.warps)
    running: list[Running] = []
    started = 0
    while started < grid or running:
        while started < grid and len(running) < at_once:
            steps = _block(kernel, started, seen, args, progress)
            running.append(Running(started, steps, progress))
            started += 1
        chosen = progress.schedule.block(running)
        event = running[chosen].go_on()
        if event is None:
            running.pop(chosen)
            progress.events += 1
        elif event is Event.WAIT:
            running.append(running.pop(chosen))
            if all(block.waits and block.in_vain > PATIENCE for block in running):
                raise Misuse(
                    f"deadlock: {len(running)} blocks of {kernel.name} wait for ever.",
                    remedy="A block may wait only for what blocks before it do.",
                )


def _block(
    kernel: Kernel, number: int, seen: Value, args: Sequence[Any], progress: Progress
) -> Generator[Event, None, None]:
    """The warps of a block from barrier to barrier; stops wherever one looks or waits."""
    env = Env()
    env.values.update(zip(kernel.params, args, strict=True))
    first = number * kernel.warps
    clocks = [Clock(first + warp, kernel.warps, seen) for warp in range(kernel.warps)]
    ready = []
    for warp, clock in enumerate(clocks):
        agent = _agent(number, first + warp, clock)
        steps = Warp(agent, progress, warp).call(env, kernel.body, ())
        ready.append(Running(warp, steps, progress))
    arrived: list[Running] = []
    while ready or arrived:
        if not ready:
            if len(arrived) < kernel.warps:
                raise Misuse(
                    f"a barrier of {kernel.name} that {kernel.warps - len(arrived)} of "
                    f"{kernel.warps} warps never reach.",
                    remedy="Let all warps of a block come to it equally often.",
                )
            ready, arrived = sorted(arrived, key=lambda warp: warp.number), []
            meet(clocks)
            progress.counts.barrier(block=number)
            progress.events += 1
        at = progress.schedule.warp(ready)
        event = ready[at].go_on()
        if event is None:
            ready.pop(at)
        elif event is Event.SYNC:
            arrived.append(ready.pop(at))
        elif event is Event.WAIT:
            ready.append(ready.pop(at))
            yield Event.WAIT if all(warp.waits for warp in ready) else Event.LOOK
        else:
            yield event


def _agent(block: int, number: int, clock: Clock) -> Agent:
    """A warp that the machine has."""
    return Agent(block, clock.warps, clock, clock.own, WarpTimes(), number, number)
