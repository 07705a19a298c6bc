"""Phases of a block in which one warp has all the work become code of that warp.

    sync                                    sync
    for_all thread 32 (i => f)              for_all warp 1 (w =>
    sync                           ==>          for_all thread 32 (i => f)
    for_all thread 16 (i => g)                  sync level=warp
    sync                                        for_all thread 16 (i => g))
                                            sync

A barrier of the block waits for all its warps, that of a warp costs next to nothing. It is put only
where it is proven to be enough: all that stands between the first and the last of some barriers is
loops over no more threads than a warp has, whose number is known, and so all of it is done by one
warp. The first and the last barrier stay: what other warps do stands before and behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import BLOCK, LEVELS, THREAD, ForAll
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Kernel, Shared, Sync, Unit
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Const, Lambda, Let, Var
from flatweave.terms.traverse import map_field


def warp_phases(unit: Unit, shape: BlockShape) -> Unit:
    """The unit, with barriers of warps where they are enough; as it is for a machine that has none,
    or whose warps meet at those of the block."""
    if not (shape.simt and shape.warps_meet_alone):
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(warp_phases_of(kernel, shape.width) for kernel in unit.kernels))


def warp_phases_of(kernel: Kernel, width: int) -> Kernel:
    """A kernel with fewer barriers of the block."""
    lets = _phases(kernel.body.lets, width, whole=True)
    return replace(kernel, body=replace(kernel.body, lets=lets))


@record
class _Phase:
    """What stands between two barriers, and the second one, if there is one."""

    lets: tuple[Let, ...]
    sync: Let | None


def _phases(lets: Sequence[Let], width: int, *, whole: bool) -> tuple[Let, ...]:
    """Code of a block; if it is the `whole` of a kernel, nothing is before or behind it."""
    parts = _between_barriers([_inside(let, width) for let in lets])
    made: list[Let] = []
    run: list[_Phase] = []
    for number, phase in enumerate(parts):
        begins = whole or number > 0
        ends = whole or phase.sync is not None
        if begins and ends and _is_of_one_warp(phase, width):
            run.append(phase)
            continue
        made += _joined(run)
        run = []
        made += _flat(phase)
    return (*made, *_joined(run))


def _inside(let: Let, width: int) -> Let:
    """The bodies of a let that are code of the block, too."""
    if isinstance(let.op, ForAll):
        return let

    def body(fn: Lambda) -> Lambda:
        return replace(fn, lets=_phases(fn.lets, width, whole=False))

    return replace(let, op=map_field(let.op, lambda atom: atom, body))


def _between_barriers(lets: Sequence[Let]) -> list[_Phase]:
    found: list[_Phase] = []
    now: list[Let] = []
    for let in lets:
        if isinstance(let.op, Sync) and LEVELS[let.op.level] is BLOCK:
            found.append(_Phase(tuple(now), let))
            now = []
        else:
            now.append(let)
    return [*found, _Phase(tuple(now), None)]


def _is_of_one_warp(phase: _Phase, width: int) -> bool:
    """Whether one warp does all that a phase does; memory and scalars are everybody's."""
    return all(
        isinstance(let.op, Shared | ThreadMemory | Apply | Cast) or _is_small(let.op, width)
        for let in phase.lets
    )  # fmt: skip


def _is_small(op: object, width: int) -> bool:
    """Whether a loop has a thread of one warp for each turn."""
    return (
        isinstance(op, ForAll) and LEVELS[op.level] is THREAD
        and isinstance(op.count, Const) and op.count.value <= width
    )  # fmt: skip


def _flat(phase: _Phase) -> list[Let]:
    return [*phase.lets, *([] if phase.sync is None else [phase.sync])]


def _joined(run: Sequence[_Phase]) -> list[Let]:
    """Phases of one warp as code of it; what waits for the block is only the last barrier."""
    if sum(any(isinstance(let.op, ForAll) for let in phase.lets) for phase in run) < 2:
        return [let for phase in run for let in _flat(phase)]
    outside = [let for phase in run for let in phase.lets if not isinstance(let.op, ForAll)]
    inside: list[Let] = []
    for phase in run:
        work = [let for let in phase.lets if isinstance(let.op, ForAll)]
        if work and inside:
            inside.append(Let((), Sync("warp"), work[0].where))
        inside += work
    warp = Lambda((_number_of_the_warp(run),), tuple(inside), ())
    made = [*outside, Let((), ForAll("warp", index(1), warp), inside[0].where)]
    last = run[-1].sync
    return made if last is None else [*made, last]


def _number_of_the_warp(run: Sequence[_Phase]) -> Var:
    """A variable for the number of the warp, named after the first loop's own."""
    first = next(let.op for phase in run for let in phase.lets if isinstance(let.op, ForAll))
    return Var(f"{first.body.params[0].name}_warp", i64)
