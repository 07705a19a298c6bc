"""Barriers of a block: remove those that order nothing; reuse memory after the others."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import BLOCK, LEVELS, MEMORY, THREAD, WARP, ForAll, Level
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole, ThreadMemory
from flatweave.kernel_ir.syntax import (
    Acquire,
    Backoff,
    Kernel,
    Load,
    LoadNear,
    Release,
    Shared,
    Sync,
    Unit,
)
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import index
from flatweave.terms.control import Apply, Cast, For
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import (
    Substitution,
    atoms_in,
    free_vars,
    walk_lets,
    with_bodies,
    with_lets,
)

# -- Barriers of a block that order nothing go away ------------------------------------------------
#
#     for_all thread 256 (t => store s t x)           for_all thread 256 (t => store s t x)
#     sync                                            for_all thread 256 (t => store k 0 y)
#     for_all thread 256 (t => store k 0 y)    ==>    sync
#     sync                                            for_all thread 256 (t => load s ..)
#     for_all thread 256 (t => load s ..)
#
# The same holds for barriers of warps. A barrier is needed if code after it, up to the next one,
# uses memory that was written since the last one, or writes memory that was read since. After a
# loop's body come the body again and what follows the loop: a step that fills two tiles and reads
# both keeps the barriers before and after the reads. Private memory of a thread (`registers.py`)
# needs none. Nothing is assumed about code that waits for other blocks, or about `if` and `while`
# that contain barriers.


def needless_barriers(unit: Unit, shape: BlockShape) -> Unit:
    """The unit without them; as it is where there is one thread of a block and no barrier."""
    if not shape.simt:
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(needless_barriers_of(kernel) for kernel in unit.kernels))


def needless_barriers_of(kernel: Kernel) -> Kernel:
    """A kernel with fewer barriers of the block."""
    if any(_waits_for_others(let.op) for let in walk_lets(kernel.body)):
        return kernel
    lets = [_in_warps(let) for let in kernel.body.lets]
    return replace(kernel, body=replace(kernel.body, lets=_needed(lets, BLOCK)))


def _in_warps(let: Let) -> Let:
    """Code of warps with fewer of theirs."""
    op = let.op
    if not isinstance(op, ForAll) or LEVELS[op.level] is not WARP:
        return let
    return replace(let, op=op.replace(body=replace(op.body, lets=_needed(op.body.lets, WARP))))


def _needed(lets: Sequence[Let], level: Level) -> tuple[Let, ...]:
    """Code of a level with the barriers that are needed."""
    return _kept(lets, level, _Used(), _Used())[0]


def _kept(
    lets: Sequence[Let], level: Level, before: _Used, after: _Used, again: bool = False
) -> tuple[tuple[Let, ...], _Used]:
    """Code with the barriers that are needed, and what it has used since the last of them.

    `before` are the uses between the last barrier and the code, `after` those between the code and
    the next barrier; `again`: the code follows itself. A barrier is judged with those in place
    that are kept so far or come after it.
    """
    kept: list[Let] = []
    used = before

    def ahead_of(number: int) -> _Used:
        found, ends = _ahead(lets[number + 1 :], level)
        if ends:
            return found
        return found.and_(after).and_(_ahead(kept, level)[0] if again else _Used())

    for number, let in enumerate(lets):
        if _is_barrier(let.op, level):
            if not used.conflicts(ahead_of(number)):
                continue
            used = _Used()
        elif (body := _loop_with_barriers(let, level)) is not None:
            first = used.and_(_ahead(body.lets[::-1], level)[0])
            inside, last = _kept(body.lets, level, first, ahead_of(number), again=True)
            let = replace(let, op=let.op.replace(body=replace(body, lets=inside)))
            used = used.and_(last)
        else:
            used = used.and_(_used([let], level))
        kept.append(let)
    return tuple(kept), used


@record
class _Used:
    """The memory that some code reads and writes; `fence` if the code contains barriers."""

    reads: frozenset[Var] = frozenset()
    writes: frozenset[Var] = frozenset()
    fence: bool = False

    def and_(self, other: _Used) -> _Used:
        """Both, in sequence."""
        return _Used(
            self.reads | other.reads, self.writes | other.writes, self.fence or other.fence
        )

    def conflicts(self, ahead: _Used) -> bool:
        """Whether what is ahead must wait for this."""
        if self.fence or ahead.fence:
            return True
        return bool(self.writes & (ahead.reads | ahead.writes) or self.reads & ahead.writes)


def _used(lets: Sequence[Let], level: Level) -> _Used:
    """What lets use, and the code inside of them."""
    reads, writes, fence = set[Var](), set[Var](), False
    for let in walk_lets(Lambda((), tuple(lets), ())):
        buffers = [var for var in atoms_in(let.op) if _is_shared(var)]
        (reads if isinstance(let.op, Load | LoadNear) else writes).update(buffers)  # type: ignore[arg-type]
        fence = fence or _is_barrier(let.op, level)
    return _Used(frozenset(reads), frozenset(writes), fence)


def _ahead(lets: Sequence[Let], level: Level) -> tuple[_Used, bool]:
    """What lets use before the next barrier, and whether there is one; a loop may not run at all.
    Of lets in reverse: what they use after the last one."""
    used = _Used()
    for let in lets:
        if _is_barrier(let.op, level):
            return used, True
        if (body := _loop_with_barriers(let, level)) is None:
            used = used.and_(_used([let], level))
        else:
            for inside in (body.lets, body.lets[::-1]):
                used = used.and_(_ahead(inside, level)[0])
    return used, False


def _loop_with_barriers(let: Let, level: Level) -> Lambda | None:
    """The body of a loop that contains barriers."""
    match let.op:
        case For(body=body) if any(_is_barrier(inner.op, level) for inner in walk_lets(body)):
            return body
    return None


def _is_barrier(op: Op, level: Level) -> bool:
    return isinstance(op, Sync) and LEVELS[op.level] is level


def _is_shared(atom: Atom) -> bool:
    """Whether it is memory that several threads of a block may use."""
    return isinstance(atom.type, BufferType) and atom.type.space != THREAD.space


def _waits_for_others(op: Op) -> bool:
    """Whether an op is about other blocks."""
    return isinstance(op, Acquire | AcquireLanes | Release | LoadWhole | StoreWhole | Backoff)


# -- Phases of a block in which one warp has all the work become code of that warp -----------------
#
#     sync                                    sync
#     for_all thread 32 (i => f)              for_all warp 1 (w =>
#     sync                           ==>          for_all thread 32 (i => f)
#     for_all thread 16 (i => g)                  sync level=warp
#     sync                                        for_all thread 16 (i => g))
#                                             sync
#
# A barrier of the block waits for all its warps; a barrier of a warp costs next to nothing. The
# pass uses a warp barrier only where it is proven to suffice: the code between the first and the
# last of some barriers consists of loops over a known number of threads, at most a warp's. So one
# warp does it all. The first and the last barrier stay: other warps work before and after them.


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
    """Code of a block; if it is the `whole` of a kernel, no code precedes or follows it."""
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
    return with_bodies(let, lambda fn: with_lets(fn, _phases(fn.lets, width, whole=False)))


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
    """Whether one warp does all work of a phase; memory and scalars belong to all warps."""
    return all(
        isinstance(let.op, Shared | ThreadMemory | Apply | Cast) or _is_small(let.op, width)
        for let in phase.lets
    )  # fmt: skip


def _is_small(op: object, width: int) -> bool:
    """Whether one warp has a thread for each iteration of a loop."""
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


# -- Dead memory is reused for stores after the next barrier ---------------------------------------
#
#     a = shared f32 64                       a = shared f32 64
#     b = shared f32 64                       b = shared f32 64
#     c = shared f32 64
#     write a; sync; b from a; sync;   ==>    write a; sync; b from a; sync;
#     c from b; sync; d from c                a from b; sync; d from a
#
# So an algorithm may allocate memory for each of its steps. The same holds for memory of warps,
# after barriers of the warp, and of threads, which need none. Memory allocated inside loops stays
# as it is: reuse would need a barrier between iterations.


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
    lets = [_inside_of(let, level) for let in fn.lets]
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


def _inside_of(let: Let, level: Level) -> Let:
    """The bodies of a let: those of for_all are code of their level, others of this one."""
    if isinstance(let.op, ForAll):
        below = LEVELS[let.op.level]
        return replace(let, op=let.op.replace(body=_reused(let.op.body, below)))
    return with_bodies(
        let, lambda fn: with_lets(fn, (_inside_of(inner, level) for inner in fn.lets))
    )


def _may_rename(let: Let, level: Level) -> bool:
    """Whether a let gives memory another name, which may outlive the first."""
    is_memory = any(isinstance(var.type, BufferType) for var in let.vars)
    return is_memory and not isinstance(let.op, (MEMORY[level], ThreadMemory))


def _plan(lets: Sequence[Let], level: Level) -> tuple[Substitution, list[_Place]]:
    """Which allocation each memory reuses, and the allocations that remain."""
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
    """Whether an allocation is dead before it is wanted, with a barrier in between."""
    if place.var.type != wanted.var.type:
        return False
    if level is THREAD:
        return place.last < wanted.first
    return any(place.last < barrier < wanted.first for barrier in barriers)
