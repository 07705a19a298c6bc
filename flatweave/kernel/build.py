"""A Python function becomes a kernel: traced, tried by the simulator, built for each target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Fault, fault_of
from flatweave.base.config import config
from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import (
    ArgumentError,
    IndexOutOfBounds,
    KernelError,
    NestingError,
    UserError,
)
from flatweave.base.plan import Plan, Result
from flatweave.base.recording import PhaseTimer
from flatweave.base.records import record, replace
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.number_formats import STORED, is_short
from flatweave.frontend.values.tree import Tree, flatten, unflatten
from flatweave.kernel.chunks import flatten as one_row
from flatweave.kernel.code import Extent, KernelTrace, extent_of, finish, number
from flatweave.kernel.elements import kind_of_dtype
from flatweave.kernel.pulls import Pull, element_seen, rows, total
from flatweave.kernel.pushes import Push
from flatweave.kernel.stores import Memory, read, written
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import print_unit, verify
from flatweave.lower.calls import unit_for
from flatweave.lower.kernel_builder import param_of
from flatweave.lower.machine import CUDA, Machine
from flatweave.ops import KernelProgram
from flatweave.pipeline import EXTENSION, Executable, Texts, dump
from flatweave.runtime.lazy_import import on_deep_stack
from flatweave.simulator.counts import Counter, Watching
from flatweave.simulator.memory import Buffer, Misuse
from flatweave.simulator.run import run_to_buffers
from flatweave.simulator.schedules import Failure, InOrder, Schedule, Shuffled
from flatweave.targets import TARGETS, Target
from flatweave.terms.syntax import Atom, BufferType, Const, Var

# A kernel run by the simulator, which watches its memory: its faults are the user's errors.


@record
class Way:
    """How a simulation runs: the number of blocks at a time, their order, and the counter.

    With `threads`, the kernel is distributed to that many threads of a block, as on `machine`: its
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
    """The kernel as it was written, or for blocks of `way.threads` threads."""
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


# A Python function becomes a kernel: it is run once, on pull arrays and numbers.
#
# Parameters of the host are, for each argument, its extents and then its buffer, or the number.


@record
class Held:
    """One array or number that a kernel gives: its atoms on the host, and what the runtime must
    know of it."""

    atoms: tuple[Atom, ...]
    described: Result


def trace_kernel(
    name: str, body: Callable[[list[Any]], Any], leaves: Sequence[Leaf], machine: Machine,
    threads: int, checks: bool = True,
) -> tuple[KernelProgram, Tree]:  # fmt: skip
    """The kernel that `body` writes, and the structure of its results."""
    made = KernelTrace(name, machine, threads, checks)
    with made.running():
        args = [_argument(made, leaf) for leaf in leaves]
        found, outer = flatten(body(args))
        results = unflatten(outer, [_result(made, value) for value in found])
    held, tree = flatten(results)
    unit, tried = finish(made, [atom for each in held for atom in each.atoms])
    params = tuple(param_of(var.type) for var in made.params)
    plan = Plan(params, tuple(each.described for each in held), made.sites.rows)

    def again(other: Machine) -> KernelProgram:
        return trace_kernel(name, body, leaves, other, threads, checks)[0]

    return KernelProgram(name, unit, plan, threads, simulate, machine, again, tried), tree


def tree_on_host(written: KernelProgram, tree: Tree) -> Tree:
    """The structure of the results, whose words of floats of 16 bits are floats for the host."""
    found, around = flatten(unflatten(tree, written.plan.results), is_short)
    return flatten(unflatten(
        around, [STORED[leaf.element](leaf.words) if is_short(leaf) else leaf for leaf in found]
    ))[1]  # fmt: skip


def _argument(made: KernelTrace, leaf: Leaf) -> Any:
    """The array or number that stands for an argument; of rank n, arrays of arrays."""
    hint = "".join(c if c.isalnum() else "_" for c in leaf.name) or "x"
    kind = kind_of_dtype(leaf.dtype)
    (dtype,) = kind.dtypes
    if not leaf.shape:
        return kind.value([made.scalar_param(hint, dtype)])
    extents: list[Extent] = []
    for extent in leaf.shape:
        n = made.scalar_param("n", i64)
        made.root.natural.add(n)
        made.root.extents.add(n)
        made.hints[n] = extent
        extents.append(Tracer(n, made.root))
    buffer = made.root.bind(hint, BufferType(dtype))
    made.params.append(buffer)
    flat = read((buffer,), kind, total(tuple(extents)))
    if len(extents) == 1:
        return flat
    return rows(tuple(extents), lambda *at: flat.at(_ravel(at, extents)))


def _ravel(at: Sequence[Any], extents: Sequence[Extent]) -> Any:
    place = at[0]
    for i, extent in zip(at[1:], extents[1:], strict=True):
        place = place * extent + i
    return place


def _result(made: KernelTrace, value: Any) -> Any:
    """What a kernel returns, in memory: an array for each leaf of its elements."""
    if isinstance(value, Memory):
        value = value.pull()
    if isinstance(value, Pull | Push):
        made.returned = value.made
        shape, flat = _shape(value)
        own = flat.memory if isinstance(flat, Pull) else None
        if own is not None and own.buffers[0] in made.buffers:  # the kernel's
            return _memory(own, shape)
        found = written(flat, barrier=False)
        if len(found) > 1:
            return tuple(_memory(each, ()) for each in found)
        return _memory(found[0], shape)
    try:
        leaf = number(value, "a result")
    except ArgumentError:
        raise ArgumentError.here(
            f"{made.name} returns {kind_of(value)}, which is no array and no number.",
            "Return pull or push arrays, numbers, or tuples of them.",
        ) from None  # fmt: skip
    leaf = cast(leaf, leaf.element)
    return Held((leaf.atom,), Result(leaf.element, None))


def _memory(found: Memory, shape: tuple[Extent, ...]) -> Any:
    """An array for each leaf of the elements in memory, of this shape if they have another than
    one row."""
    extents = tuple(map(extent_of, shape or (found.length,)))
    held = [
        _held(buffer, dtype, extents)
        for buffer, dtype in zip(found.buffers, found.kind.dtypes, strict=True)
    ]
    return unflatten(found.kind.tree, held)


def _held(buffer: Var, dtype: DType, extents: tuple[Atom, ...]) -> Held:
    known = tuple(int(e.value) if isinstance(e, Const) else None for e in extents)
    found = tuple(extent for extent in extents if isinstance(extent, Var))
    return Held((buffer, *found), Result(dtype, known))


def _shape(value: Pull | Push) -> tuple[tuple[Extent, ...], Pull | Push]:
    """The extents of an array of arrays, and its numbers in order."""
    if isinstance(value, Push):
        is_one = value.known_length is not None and value.arrays == 1
        return (value.length,) if is_one else (), value
    element = element_seen(value)
    if not isinstance(element, Pull):
        if isinstance(element, Push):
            raise NestingError.here(
                "a kernel returns an array of push arrays.",
                "Give each to a block: pconcat(arrays).",
            )
        return (value.length,), value
    inner, _ = _shape(element)
    return (value.length, *inner), _shape(one_row(value))[1]


# A traced kernel becomes a program of each target, and is made ready to run on one.


def build(written: KernelProgram, target: Target) -> Executable:
    """Compile a traced kernel for a target; the interpreter's is the simulator."""
    timer = PhaseTimer(written.name)
    if config.verify:
        verify(written.unit)
    texts = Texts()
    texts["kernel"] = partial(print_unit, written.unit)
    for other in TARGETS.values():
        for stage in other.texts:
            texts[stage] = partial(_text, written, other, stage)
    for stage in texts:
        if config.dumps(stage):
            dump(f"{written.name}.{stage}.{EXTENSION.get(stage, 'txt')}", texts[stage])
    machine = target.machine
    if machine is None:
        return Executable(Simulated(written), texts, None, written.unit, target, {})

    def compiled() -> Executable:
        with timer.stage("lower"):
            unit = unit_for(written, machine)
        runnable = target.load(texts, written.plan, unit, timer)
        return Executable(
            runnable, texts, None, unit, target, timer.seconds, cpu=target.cpu()
        )

    return on_deep_stack(compiled)


def _text(written: KernelProgram, target: Target, stage: str) -> str:
    """What a kernel becomes on a target."""
    machine = target.machine
    assert machine is not None
    emitted = target.emit(unit_for(written, machine))
    return emitted[stage] if stage in emitted else target.more(emitted)[stage]
