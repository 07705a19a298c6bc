"""A kernel run by the simulator, which watches its memory: what is wrong is the user's to mend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.fault import Fault, fault_of
from flatweave.base.errors import IndexOutOfBounds, KernelError, UserError
from flatweave.base.records import record, replace
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.kernel_ir.syntax import Unit
from flatweave.lower.call_kernel import unit_for
from flatweave.lower.machine.machine import CUDA, Machine
from flatweave.ops import KernelProgram
from flatweave.simulator.counts import Counter
from flatweave.simulator.faults import Misuse
from flatweave.simulator.memory import Buffer
from flatweave.simulator.progress import Failure
from flatweave.simulator.run import run_to_buffers
from flatweave.simulator.schedules import InOrder, Schedule, Shuffled
from flatweave.simulator.watching import Watching


@record
class Way:
    """How a simulation goes: so many blocks at a time, in which order, and who counts.

    With `threads`, the kernel is run as a `machine` runs it, distributed to so many of a block: its
    warps have 32 lanes in lock step, and a thread may stand for several of the for_alls.
    """

    blocks: int = 1
    schedule: Schedule = InOrder()
    threads: int | None = None
    counter: Counter = Counter()
    machine: Machine = CUDA


def schedule_for(seed: int | None, schedule: Schedule | None) -> Schedule:
    """The order that a user asks for."""
    if schedule is not None:
        return schedule
    return InOrder() if seed is None else Shuffled(seed)


class Simulated:
    """A kernel that the simulator runs whenever it is called."""

    made = None

    def __init__(self, written: KernelProgram) -> None:
        self.written = written

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault, and KernelError for races and the like."""
        return simulate(self.written, args)


def simulate(written: KernelProgram, args: Sequence[Any]) -> list[Any]:
    """The results of a kernel in a program, block by block in order."""
    return simulated(written, args, Way())


def unit_of(written: KernelProgram, way: Way) -> Unit:
    """The kernel as it was written, or for blocks of so many threads."""
    if way.threads is None:
        whole: Unit = written.unit
        return whole
    return unit_for(replace(written, threads=way.threads), way.machine)


def simulated(written: KernelProgram, args: Sequence[Any], way: Way) -> list[Any]:
    """The results as the simulator finds them."""
    if way.threads is not None:  # the sites are those of the kernel for that machine
        written = written.on(way.machine)
    unit = unit_of(written, way)
    try:
        found = run_to_buffers(
            unit, args, way.blocks, schedule=way.schedule, counter=way.counter
        )
        if isinstance(found, Failure):
            raise fault_of(found, written.plan)
    except Misuse as misuse:
        raise _of_user(misuse) from None
    return _results(written, found)


def watched(written: KernelProgram, args: Sequence[Any]) -> Watching:
    """Who reads and writes what in a run of the simulator, block by block in order."""
    watching = Watching()
    try:
        simulated(written, args, Way(counter=watching))
    except Fault as fault:
        raise user_error(fault) from None
    return watching


def _results(written: KernelProgram, found: list[Any]) -> list[Any]:
    """Numbers, and arrays in their shapes, every element of which somebody has written."""
    results: list[Any] = []
    rest = iter(found)
    for result in written.plan.results:
        value = next(rest)
        if result.extents is None:
            results.append(result.dtype.numpy.type(value))
            continue
        assert isinstance(value, Buffer)
        shape = [int(next(rest)) if extent is None else extent for extent in result.extents]
        _expect_whole(written.name, value)
        results.append(value.data.reshape(shape))
    return results


def _expect_whole(name: str, result: Buffer) -> None:
    """Refuse a result with holes."""
    holes = np.flatnonzero(~result.known)
    if holes.size:
        raise KernelError(
            f"a result of {name} has holes: nobody has written {holes.size} of its "
            f"{result.known.size} elements, number {holes[0]} the first of them.",
            where=result.made,
            remedy="A push array must put each element once.",
        )


def _of_user(misuse: Misuse) -> UserError:
    """What is wrong with a user's kernel."""
    error = IndexOutOfBounds if misuse.bounds else KernelError
    where = misuse.where or misuse.origin
    return error(
        misuse.message,
        where=where,
        origins=misuse.origins() if where is not misuse.origin else (),
        remedy=misuse.remedy,
    )
