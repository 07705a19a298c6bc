"""Memory that nobody reads any more is used again, for what is stored behind the next barrier.

    a = shared f32 64                       a = shared f32 64
    b = shared f32 64                       b = shared f32 64
    c = shared f32 64
    write a; sync; b from a; sync;   ==>    write a; sync; b from a; sync;
    c from b; sync; d from c                a from b; sync; d from a

So an algorithm may make memory for each of its steps. The same for memory of warps, behind their
own barriers, and of threads, which need none. Memory that is made inside loops stays as it is: a
barrier would have to stand between their turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import BLOCK, LEVELS, MEMORY, THREAD, ForAll, Level
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Kernel, Sync, Unit
from flatweave.terms.syntax import BufferType, Lambda, Let, Var
from flatweave.terms.traverse import Substitution, free_vars, map_field, walk_lets


def reuse_memory(unit: Unit) -> Unit:
    """The unit, its kernels with as little memory as their barriers allow."""
    unit = unit.complete()
    return Unit(unit.host, tuple(reuse_memory_of(kernel) for kernel in unit.kernels))


def reuse_memory_of(kernel: Kernel) -> Kernel:
    """A kernel with less memory."""
    if not any(isinstance(let.op, ForAll) for let in walk_lets(kernel.body)):
        return kernel
    return replace(kernel, body=_reused(kernel.body, BLOCK))


@record(frozen=False)
class _Place:
    """Memory that is made once, and the lets in which it is used, by number."""

    var: Var
    made: int
    count: int
    first: int
    last: int


def _reused(fn: Lambda, level: Level) -> Lambda:
    """Code of a level, and the code of lower levels in it."""
    lets = [_inside(let, level) for let in fn.lets]
    if any(_may_rename(let, level) for let in lets):
        return replace(fn, lets=tuple(lets))
    renaming, places = _plan(lets, level)
    made = {place.made: place for place in places}
    kept: list[Let] = []
    for number, let in enumerate(lets):
        if number in made:
            kept.append(replace(let, op=let.op.replace(count=made[number].count)))
        elif not isinstance(let.op, MEMORY[level]):
            kept.append(renaming.let(let))
    return replace(fn, lets=tuple(kept))


def _inside(let: Let, level: Level) -> Let:
    """The bodies of a let: those of for_all are code of their level, others of this one."""
    if isinstance(let.op, ForAll):
        below = LEVELS[let.op.level]
        return replace(let, op=let.op.replace(body=_reused(let.op.body, below)))

    def body(fn: Lambda) -> Lambda:
        return replace(fn, lets=tuple(_inside(inner, level) for inner in fn.lets))

    return replace(let, op=map_field(let.op, lambda atom: atom, body))


def _may_rename(let: Let, level: Level) -> bool:
    """Whether a let gives memory another name, which may outlive the first."""
    is_memory = any(isinstance(var.type, BufferType) for var in let.vars)
    return is_memory and not isinstance(let.op, (MEMORY[level], ThreadMemory))


def _plan(lets: Sequence[Let], level: Level) -> tuple[Substitution, list[_Place]]:
    """Which memory takes whose place, and what is made at all."""
    uses: dict[Var, list[int]] = {}
    for number, let in enumerate(lets):
        for var in free_vars(let.op):
            uses.setdefault(var, []).append(number)
    barriers = [
        number for number, let in enumerate(lets)
        if isinstance(let.op, Sync) and LEVELS[let.op.level] is level
    ]  # fmt: skip
    renaming, places = Substitution(), list[_Place]()
    for number, let in enumerate(lets):
        if not isinstance(let.op, MEMORY[level]) or let.vars[0] not in uses:
            continue
        var, used = let.vars[0], uses[let.vars[0]]
        wanted = _Place(var, number, let.op.count, used[0], used[-1])
        free = [place for place in places if _is_free(place, wanted, barriers, level)]
        if not free:
            places.append(wanted)
            continue
        chosen = min(free, key=lambda place: abs(place.count - wanted.count))
        renaming.mapping[var] = chosen.var
        chosen.count, chosen.last = max(chosen.count, wanted.count), wanted.last
    return renaming, places


def _is_free(place: _Place, wanted: _Place, barriers: Sequence[int], level: Level) -> bool:
    """Whether nobody uses a place any more when it is wanted, and everybody knows."""
    if place.var.type != wanted.var.type:
        return False
    if level is THREAD:
        return place.last < wanted.first
    return any(place.last < barrier < wanted.first for barrier in barriers)
