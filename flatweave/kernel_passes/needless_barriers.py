"""Barriers of a block that order nothing go away.

    for_all thread 256 (t => store s t x)           for_all thread 256 (t => store s t x)
    sync                                            for_all thread 256 (t => store k 0 y)
    for_all thread 256 (t => store k 0 y)    ==>    sync
    sync                                            for_all thread 256 (t => load s ..)
    for_all thread 256 (t => load s ..)

So do those of warps. A barrier is needed where memory that was written since the last one is used
behind it, or memory that was read is written. What each thread has for itself (`registers.py`)
needs none. Nothing is said of code that waits for other blocks, or whose control stands around
barriers.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import BLOCK, LEVELS, THREAD, WARP, ForAll, Level
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Backoff, Kernel, Load, LoadNear, Release, Sync, Unit
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, walk_lets


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
    kept: list[Let] = []
    used = _Used()
    for number, let in enumerate(lets):
        if _is_barrier(let.op, level):
            ahead = _used(_until_barrier(lets[number + 1 :], level))
            if not used.conflicts(ahead):
                continue
            used = _Used()
        else:
            used = used.and_(_used([let]))
        kept.append(let)
    return tuple(kept)


@record
class _Used:
    """The memory that some code reads and writes; `fence` where it has barriers of its own."""

    reads: frozenset[Var] = frozenset()
    writes: frozenset[Var] = frozenset()
    fence: bool = False

    def and_(self, other: _Used) -> _Used:
        """Both, one behind the other."""
        return _Used(
            self.reads | other.reads, self.writes | other.writes, self.fence or other.fence
        )

    def conflicts(self, ahead: _Used) -> bool:
        """Whether what is ahead must wait for this."""
        if self.fence or ahead.fence:
            return True
        return bool(self.writes & (ahead.reads | ahead.writes) or self.reads & ahead.writes)


def _used(lets: Sequence[Let]) -> _Used:
    """What lets use, and the code inside of them."""
    reads: set[Var] = set()
    writes: set[Var] = set()
    fence = False
    for let in walk_lets(Lambda((), tuple(lets), ())):
        buffers = [var for var in atoms_in(let.op) if _is_shared(var)]
        (reads if isinstance(let.op, Load | LoadNear) else writes).update(buffers)  # type: ignore[arg-type]
        fence = fence or isinstance(let.op, Sync)
    return _Used(frozenset(reads), frozenset(writes), fence)


def _until_barrier(lets: Sequence[Let], level: Level) -> Sequence[Let]:
    """The lets before the next barrier."""
    for number, let in enumerate(lets):
        if _is_barrier(let.op, level):
            return lets[:number]
    return lets


def _is_barrier(op: Op, level: Level) -> bool:
    return isinstance(op, Sync) and LEVELS[op.level] is level


def _is_shared(atom: Atom) -> bool:
    """Whether it is memory that several threads of a block may use."""
    return isinstance(atom.type, BufferType) and atom.type.space != THREAD.space


def _waits_for_others(op: Op) -> bool:
    """Whether an op is about other blocks."""
    return isinstance(op, Acquire | AcquireLanes | Release | LoadWhole | StoreWhole | Backoff)
