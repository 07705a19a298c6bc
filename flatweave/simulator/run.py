"""The simulator: runs a unit in NumPy, and finds what real machines would not forgive."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES, DType
from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.kernel_ir import host as h
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.syntax import Kernel
from flatweave.simulator.control import Event, Runner, Steps
from flatweave.simulator.counts import Counter
from flatweave.simulator.memory import Buffer, Misuse
from flatweave.simulator.order import Agent, Clock, WarpTimes, meet, nothing_seen
from flatweave.simulator.schedules import Failure, InOrder, Progress, Schedule, Shuffled
from flatweave.simulator.warp import Warp
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Op, Var

# A launch in the simulator: blocks start in order, some at a time, and run alternately.
#
# A block stops wherever one of its warps looks at what others do, or waits for it; there a
# schedule says who goes on.


PATIENCE = 100  # retries of every waiting block without any progress, before we call it a deadlock


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
    """Run a kernel, `threads` blocks at a time."""
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
        own = first + warp
        agent = Agent(number, clock.warps, clock, clock.own, WarpTimes(), own, own)
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


# The simulator: runs a unit in NumPy, slowly, and finds what real machines would not forgive.
#
#     run(unit, [4, xs])       the host's results, or a Failure as the program reports it
#
# Misuse, with the let to blame, for: reads and writes out of bounds, reads of what nobody wrote,
# races, barriers that not all warps reach, blocks that wait for ever, buffers used after they
# were given back, never given back, or written though the caller keeps them.


OUT_OF_MEMORY = 1
MOST_BYTES = 1 << 40


def run(
    unit: ir.Unit, args: Sequence[Any], threads: int = 1, seed: int | None = None,
    schedule: Schedule | None = None, counter: Counter | None = None,
) -> list[Any] | Failure:  # fmt: skip
    """The host's results for arguments that match its parameters: scalars, and arrays for buffers.
    """
    found = run_to_buffers(unit, args, threads, seed, schedule, counter)
    return found if isinstance(found, Failure) else [_result(value) for value in found]


def run_to_buffers(
    unit: ir.Unit, args: Sequence[Any], threads: int = 1, seed: int | None = None,
    schedule: Schedule | None = None, counter: Counter | None = None,
) -> list[Any] | Failure:  # fmt: skip
    """As `run`, but arrays are buffers, which know what has been written.

    `threads` blocks run at a time; a schedule orders them and their warps, or a
    seed at random.
    """
    if schedule is None:
        schedule = InOrder() if seed is None else Shuffled(seed)
    host = Host(unit, threads, schedule, counter or Counter())
    values = [_argument(param, arg) for param, arg in zip(unit.host.params, args, strict=True)]
    try:
        results = host.pure(Env(), unit.host, values)
    except Failed as stop:
        return stop.failure
    host.expect_no_leaks(results)
    return list(results)


def _argument(param: Var, arg: Any) -> Any:
    if isinstance(param.type, DType):
        return np.asarray(arg, param.type.numpy)
    assert isinstance(param.type, BufferType)
    array = np.asarray(arg)
    if array.dtype != param.type.dtype.numpy:
        raise CompilerBug(f"{param} is a buffer of {param.type.dtype}, not {array.dtype}.")
    return Buffer.of(param.name, array)


def _result(value: Any) -> Any:
    return value.data if isinstance(value, Buffer) else value[()]


class Failed(Exception):
    """The program ends with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class Host(Runner):
    """Runs the host lambda: memory with its owners, launches, failures."""

    def __init__(
        self, unit: ir.Unit, threads: int, schedule: Schedule, counter: Counter
    ) -> None:
        self.unit = unit
        self.kernels = {kernel.name: kernel for kernel in unit.complete().kernels}
        self.threads = threads
        self.schedule = schedule
        self.counter = counter
        self.allocated: list[Buffer] = []

    def other(self, env: Env, let: Let, op: Op) -> Steps:
        yield from ()
        match op:
            case h.Alloc():
                return (self._alloc(env, let, op),)  # type: ignore[return-value]
            case h.Launch(grid=grid, args=args):
                kernel, blocks = self.kernels[self._chosen(env, op)], self.number(env, grid)
                if kernel.inner is not None:
                    rows = _Rows(kernel, self.schedule, self.counter)
                    rows.run(blocks, self.atoms(env, args))
                else:
                    self.launch(kernel, blocks, self.atoms(env, args))
                return ()
            case h.Fail(condition=condition, code=code, site=site, value=value, extent=extent):
                if self.atom(env, condition):
                    numbers = self.number(env, value), self.number(env, extent)
                    raise Failed(Failure(code, site, -1, *numbers))
                return ()
            case h.HasProducts():
                return (np.asarray(False),)
            case h.Threads():
                return (np.asarray(self.threads),)
        return self._owners(env, op)

    def launch(self, kernel: ir.Kernel, blocks: int, args: Values) -> None:
        """Run a kernel; raises Failed."""
        progress = Progress(self.schedule, self.counter)
        self.counter.launch(kernel.name, blocks)
        launch(kernel, blocks, args, self.threads, progress)
        self.counter.done()
        if progress.failure is not None:
            raise Failed(progress.failure)

    def _chosen(self, env: Env, op: h.Launch) -> str:
        """The kernel that a launch runs."""
        holding = (c.kernel for c in op.variants if self.atom(env, c.condition))
        return next(holding, op.kernel)

    def number(self, env: Env, atom: Atom) -> int:
        """The value of an integer."""
        return int(self.atom(env, atom))

    def buffer(self, env: Env, var: Var) -> Buffer:
        """The buffer that a variable holds."""
        held: object = env[var]
        assert isinstance(held, Buffer)
        return held

    def _alloc(self, env: Env, let: Let, op: h.Alloc) -> Buffer:
        count = self.number(env, op.count)
        if count < 0 or count * op.dtype.bytes > MOST_BYTES:
            raise Failed(Failure(OUT_OF_MEMORY, op.site, 0, count, DTYPES.index(op.dtype)))
        self.allocated.append(self.alloc(let, op, count))
        return self.allocated[-1]

    def alloc(self, let: Let, op: h.Alloc, count: int) -> Buffer:
        """Memory for a number of elements."""
        return Buffer.fresh(let.vars[0].name, op.dtype, count, made=let.where)

    def _owners(self, env: Env, op: Op) -> Values:
        match op:
            case h.Adopt(buffer=var, donated=donated):
                buffer = self.buffer(env, var)
                if self.atom(env, donated):
                    buffer.kept_by_caller = False
                    self.allocated.append(buffer)
                return (buffer,)  # type: ignore[return-value]
            case h.Retain(buffer=var):
                buffer = self.buffer(env, var)
                buffer.inside(np.empty(0, np.int64))
                buffer.owners += 1
            case h.Free(buffer=var):
                buffer = self.buffer(env, var)
                buffer.inside(np.empty(0, np.int64))
                buffer.owners -= 0 if buffer.kept_by_caller else 1
            case h.IsUnique(buffer=var):
                buffer = self.buffer(env, var)
                return (np.asarray(buffer.owners == 1 and not buffer.kept_by_caller),)
            case h.Trim(buffer=var, count=count):
                self._trim(self.buffer(env, var), self.number(env, count))
            case _:
                return self._element(env, op)
        return ()

    def _trim(self, buffer: Buffer, count: int) -> None:
        if not 0 <= count <= buffer.data.size:
            raise Misuse(f"{buffer.name} of {buffer.data.size} is trimmed to {count}.")
        buffer.data, buffer.known = buffer.data[:count], buffer.known[:count]
        buffer.forget()

    def _element(self, env: Env, op: Op) -> Values:
        match op:
            case ir.Load(buffer=var, index=index):
                at = np.asarray([self.number(env, index)])
                return (self.buffer(env, var).load(at, None).reshape(()),)
            case ir.Store(buffer=var, index=index, value=value):
                at = np.asarray([self.number(env, index)])
                new: Value = self.atom(env, value).reshape(1)
                self.buffer(env, var).store(at, new, None)
                return ()
        raise CompilerBug(f"{op.name} cannot be simulated on the host.")

    def expect_no_leaks(self, results: Sequence[Any]) -> None:
        """Every buffer that the host made was given back or is a result."""
        for buffer in self.allocated:
            given = sum(result is buffer for result in results)
            if buffer.owners != given:
                raise CompilerBug(
                    f"{buffer.name} has {buffer.owners} owners left, and is {given} of the results."
                )


class _Rows(Host):
    """Runs a kernel whose code is that of a host, block by block."""

    def __init__(self, kernel: ir.Kernel, schedule: Schedule, counter: Counter) -> None:
        super().__init__(ir.Unit(kernel.body, kernel.inner or ()), 1, schedule, counter)
        self.kernel = kernel
        self.block = self.row = 0

    def run(self, blocks: int, args: Sequence[Any]) -> None:
        """All blocks; an error names its row."""
        fn = Lambda(self.kernel.params, self.kernel.body.lets, ())
        for self.block in range(blocks):
            try:
                self.pure(Env(), fn, args)
            except Failed as stop:
                raise Failed(replace(stop.failure, index=self.row)) from None
        self.expect_no_leaks(())

    def other(self, env: Env, let: Let, op: Op) -> Steps:
        match op:
            case ir.BlockIndex():
                yield from ()
                return (np.asarray(self.block),)
            case h.AtRow(row=row):
                self.row = self.number(env, row)
                return ()
            case h.CopyTo(target=target, offset=offset, source=source, count=count):
                places = np.arange(self.number(env, count))
                values = self.buffer(env, source).load(places, None)
                self.buffer(env, target).store(self.number(env, offset) + places, values, None)
                return ()
        return (yield from super().other(env, let, op))
