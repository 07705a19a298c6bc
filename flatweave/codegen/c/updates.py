"""Updates of one element by any function in C: compare-and-swap of its word, or under a lock.

    atomic_update f xs i [y]     seen = word; for (;;) { found = swap(word, seen, f(seen, y)); .. }
    locked_update f locks ..     for (done = 0; !done;) if (swap(lock, 0, 1) == 0) { ..; done = 1; }

Lanes of a warp run in lock step: one that left the loop with the lock would wait at its end for
neighbours that spin on that lock. So an iteration takes the lock, updates and releases it, or does
nothing.
"""

from __future__ import annotations

from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.atomics import GLOBAL, Swap, space_of
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.memory import from_memory, to_memory
from flatweave.codegen.c.values import buffer_dtype, stored
from flatweave.kernel_ir.updates import AtomicUpdate, LockedUpdate
from flatweave.terms.syntax import BufferType, Let, Var


def emit_atomic_update(e: CEmitter, let: Let) -> None:
    """A compare-and-swap loop."""
    op: AtomicUpdate = let.op  # type: ignore[assignment]
    _in_lanes(e, let)
    if len(op.values_) != 1:
        raise CompilerBug("an element of two words has no swap here", where=let.where)
    dtype = buffer_dtype(op.buffer)
    swap = Swap(dtype, space_of(e.dialect, op.buffer))
    e.open("{")
    for line in swap.begin(f"{e.names.of(op.buffer)} + {e.atom(op.index)}"):
        e.line(line)
    e.open("for (;;) {")
    old = e.temporary(dtype, swap.old, "old")
    made = e.run(op.fn, [old, e.atom(op.values_[0])])[0]
    e.line(f"const {swap.word} found = {swap.attempt(made)};")
    e.line("if (found == seen) break;")
    e.line("seen = found;")
    e.close()
    e.close()


def emit_locked_update(e: CEmitter, let: Let) -> None:
    """A spinlock for each stripe; one lane at a time is inside."""
    op: LockedUpdate = let.op  # type: ignore[assignment]
    _in_lanes(e, let)
    shared = _is_shared(op.locks)
    if any(_is_shared(buffer) != shared for buffer in op.buffers):
        raise CompilerBug("locks in other memory than what they protect", where=let.where)
    space = e.dialect.shared_space if shared else GLOBAL
    fence = e.dialect.shared_fence if shared else "FW_FENCE();"
    at = e.atom(op.index)
    e.open("{")
    e.line(f"{space} uint32_t *lock = {e.names.of(op.locks)} + ({at} & {op.stripes - 1});")
    e.open("for (int done = 0; !done;) {")
    e.open("if (FW_SWAP32(lock, 0U, 1U) == 0U) {")
    e.line(fence)
    old = []
    for buffer in op.buffers:
        dtype = buffer_dtype(buffer)
        text = f"((volatile {space} {stored(dtype).c} *){e.names.of(buffer)})[{at}]"
        old.append(e.temporary(dtype, from_memory(dtype, text), "old"))
    made = e.run(op.fn, [*old, *(e.atom(value) for value in op.values_)])
    for buffer, value in zip(op.buffers, made, strict=True):
        e.line(f"{e.names.of(buffer)}[{at}] = {to_memory(buffer_dtype(buffer), value)};")
    e.line(fence)
    e.line("FW_SWAP32(lock, 1U, 0U);")
    e.line("done = 1;")
    e.close()
    e.close()
    e.close()


def _is_shared(buffer: Var) -> bool:
    return isinstance(buffer.type, BufferType) and buffer.type.space == "shared"


def _in_lanes(e: CEmitter, let: Let) -> None:
    """Refuse uniform code, where every lane of a warp would do the update."""
    if not e.in_lanes:
        raise CompilerBug("an atomic update in uniform code", where=let.where)


HANDLERS: Handlers = {
    AtomicUpdate: emit_atomic_update,
    LockedUpdate: emit_locked_update,
}
