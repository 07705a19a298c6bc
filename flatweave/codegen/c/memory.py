"""Memory in C: loads and stores, shared memory, reports, and updates by any function."""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, i64, stored
from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.dialect import GLOBAL, REPORT, Swap, atomic_helper, scalar_type, space_of
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.hierarchy import Local
from flatweave.kernel_ir.memory_ops import (
    AcquireLanes,
    Atomic,
    AtomicUpdate,
    LoadWhole,
    LockedUpdate,
    Prefetch,
    StoreInTurn,
    StoreWhole,
    ThreadMemory,
)
from flatweave.terms.syntax import Atom, BufferType, Let, Op, Var

# Memory in C: loads, stores, shared memory, atomics, the chain's loads and stores, reports.
#
# x: bool = load flags i       const bool x = (flags[i] != 0);      a bool takes a byte
# store ys i x  (uniform)      if (fw_lane == 0) { ys[i] = x; }     one lane of the warp


def to_memory(dtype: DType, text: str) -> str:
    """A value as it is stored."""
    return f"(uint8_t){text}" if dtype is bool_ else text


def from_memory(dtype: DType, text: str) -> str:
    """A stored value as it is used."""
    return f"({text} != 0)" if dtype is bool_ else text


def emit_load(e: CEmitter, let: Let, op: k.Load) -> None:
    """buffer[index]"""
    text = f"{e.names.of(op.buffer)}[{e.index(op.index)}]"
    e.define(let.vars[0], from_memory(dtype_in(op.buffer), text))


def emit_load_near(e: CEmitter, let: Let, op: k.LoadNear) -> None:
    """buffer[base + offset]"""
    base, offset = e.index(op.base), e.index(op.offset)
    place = f"{base} + {offset}"
    if e.narrowed.fits is not None:
        place = f"(int32_t)((uint32_t){base} + (uint32_t){offset})"
    text = f"{e.names.of(op.buffer)}[{place}]"
    e.define(let.vars[0], from_memory(dtype_in(op.buffer), text))


def emit_prefetch(e: CEmitter, let: Let, _: Op) -> None:
    """Nothing: the threads of a GPU wait for memory while others run."""


def emit_store(e: CEmitter, let: Let, op: k.Store) -> None:
    """buffer[index] = value"""
    value = to_memory(dtype_in(op.buffer), e.atom(op.value))
    e.one_lane(f"{e.names.of(op.buffer)}[{e.index(op.index)}] = {value};")


def emit_in_turn(e: CEmitter, let: Let, op: StoreInTurn) -> None:
    """buffer[index * count + k] = values[k]"""
    name, dtype, first = e.names.of(op.buffer), dtype_in(op.buffer), e.index(op.index)
    for number, atom in enumerate(op.values_):
        place = f"{first} * {len(op.values_)} + {number}"
        e.one_lane(f"{name}[{place}] = {to_memory(dtype, e.atom(atom))};")


def emit_shared(e: CEmitter, let: Let, op: k.Shared) -> None:
    """An array of the block, stated at the kernel's head."""
    var = let.vars[0]
    e.declare_shared(e.names.of(var), op.dtype, op.count)


def emit_local(e: CEmitter, let: Let, op: Local | ThreadMemory) -> None:
    """An array of the thread."""
    e.line(f"{stored(op.dtype).c} {e.names.of(let.vars[0])}[{op.count}];")


def emit_atomic(e: CEmitter, let: Let, op: Atomic) -> None:
    """An atomic update, which gives the old value."""
    if not e.in_lanes:
        raise CompilerBug("an atomic update in uniform code", where=let.where)
    dtype = dtype_in(op.buffer)
    space = space_of(e.dialect, op.buffer)
    name, helpers = atomic_helper(e.dialect, op.fn, dtype, space)
    for helper in helpers:
        e.helpers.setdefault(helper)
    at = f"{e.names.of(op.buffer)} + {e.index(op.index)}"
    e.define(let.vars[0], f"{name}({at}, {to_memory(dtype, e.atom(op.value))})")


def emit_acquire(e: CEmitter, let: Let, op: k.Acquire | AcquireLanes) -> None:
    """An acquire load: one value for all lanes, or by each lane, each of a different element."""
    var = let.vars[0]
    _check_word(scalar_type(var.type))
    e.line(f"int64_t {e.names.of(var)} = 0;")
    at = f"{e.names.of(op.buffer)} + {e.index(op.index)}"
    text = e.dialect.acquire if isinstance(op, k.Acquire) else e.dialect.acquire_lanes
    e.line(text.format(to=e.names.of(var), at=at))


def emit_load_whole(e: CEmitter, let: Let, op: LoadWhole) -> None:
    """Words that one store has written. In uniform code, where a warp can synchronise separately,
    all lanes use the words that the first lane reads; elsewhere each lane uses those it reads."""
    text = e.dialect.load_whole[op.count]
    names = [e.names.of(var) for var in let.vars]
    for name in names:
        e.line(f"int64_t {name} = 0;")
    e.line(_whole(e, text, op.buffer, op.index, names))
    if not e.in_lanes and e.dialect.first_lane:
        for name in names:
            e.line(e.dialect.first_lane.format(to=name))


def emit_store_whole(e: CEmitter, let: Let, op: StoreWhole) -> None:
    """Words stored at once, by the first lane of the warp."""
    names = [e.temporary(i64, e.atom(atom)) for atom in op.values_]
    text = e.dialect.store_whole[len(names)]
    e.one_lane(_whole(e, text, op.buffer, op.index, names))


def _whole(e: CEmitter, text: str, buffer: Var, index: Atom, names: list[str]) -> str:
    place = e.index(index) if len(names) == 1 else f"{len(names)} * {e.index(index)}"
    at = f"{e.names.of(buffer)} + {place}"
    return text.format(at=at, first=names[0], second=names[-1])


def emit_release(e: CEmitter, let: Let, op: k.Release) -> None:
    """A release store by the first lane of the warp."""
    _check_word(dtype_in(op.buffer))
    at = f"{e.names.of(op.buffer)} + {e.index(op.index)}"
    e.one_lane(e.dialect.release.format(at=at, value=e.atom(op.value)))


def _check_word(dtype: DType) -> None:
    if dtype is not i64:
        raise CompilerBug(f"a state of {dtype}, not of i64")


def emit_report(e: CEmitter, let: Let, op: k.Report) -> None:
    """Record an error; of several the one with the smallest index is kept."""
    e.helpers.setdefault(REPORT)
    values = ", ".join(f"(int64_t){e.atom(x)}" for x in (op.index, op.value, op.extent))
    e.one_lane(f"fw_report(fw_status, {op.code}, {op.site}, {values});")


# Updates of one element by any function in C: compare-and-swap of its word, or under a lock.
#
#     atomic_update f xs i [y]     seen = word; for (;;) { old = swap(word, seen, f(seen, y)); .. }
#     locked_update f locks ..     while (!done) if (swap(lock, 0, 1) == 0) { ..; done = 1; }
#
# Lanes of a warp run in lock step: one that left the loop with the lock would wait at its end for
# neighbours that spin on that lock. So an iteration takes the lock, updates and releases it, or
# does nothing.


def emit_atomic_update(e: CEmitter, let: Let, op: AtomicUpdate) -> None:
    """A compare-and-swap loop."""
    _in_lanes(e, let)
    if len(op.values_) != 1:
        raise CompilerBug("an element of two words has no swap here", where=let.where)
    dtype = dtype_in(op.buffer)
    swap = Swap(dtype, space_of(e.dialect, op.buffer))
    e.open("{")
    for line in swap.begin(f"{e.names.of(op.buffer)} + {e.index(op.index)}"):
        e.line(line)
    e.open("for (;;) {")
    old = e.temporary(dtype, swap.old, "old")
    made = e.run(op.fn, [old, e.atom(op.values_[0])])[0]
    e.line(f"const {swap.word} found = {swap.attempt(made)};")
    e.line("if (found == seen) break;")
    e.line("seen = found;")
    e.close()
    e.close()


def emit_locked_update(e: CEmitter, let: Let, op: LockedUpdate) -> None:
    """A spinlock for each stripe; one lane at a time is inside."""
    _in_lanes(e, let)
    shared = _is_shared(op.locks)
    if any(_is_shared(buffer) != shared for buffer in op.buffers):
        raise CompilerBug("locks in other memory than what they protect", where=let.where)
    space = e.dialect.shared_space if shared else GLOBAL
    fence = e.dialect.shared_fence if shared else "FW_FENCE();"
    at = e.index(op.index)
    e.open("{")
    e.line(f"{space} uint32_t *lock = {e.names.of(op.locks)} + ({at} & {op.stripes - 1});")
    e.open("for (int done = 0; !done;) {")
    e.open("if (FW_SWAP32(lock, 0U, 1U) == 0U) {")
    e.line(fence)
    old = []
    for buffer in op.buffers:
        dtype = dtype_in(buffer)
        text = f"((volatile {space} {stored(dtype).c} *){e.names.of(buffer)})[{at}]"
        old.append(e.temporary(dtype, from_memory(dtype, text), "old"))
    made = e.run(op.fn, [*old, *(e.atom(value) for value in op.values_)])
    for buffer, value in zip(op.buffers, made, strict=True):
        e.line(f"{e.names.of(buffer)}[{at}] = {to_memory(dtype_in(buffer), value)};")
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
    k.Load: emit_load,
    k.LoadNear: emit_load_near,
    Prefetch: emit_prefetch,
    k.Store: emit_store,
    StoreInTurn: emit_in_turn,
    k.Shared: emit_shared,
    Local: emit_local,
    ThreadMemory: emit_local,
    Atomic: emit_atomic,
    k.Acquire: emit_acquire,
    AcquireLanes: emit_acquire,
    k.Release: emit_release,
    LoadWhole: emit_load_whole,
    StoreWhole: emit_store_whole,
    k.Report: emit_report,
    AtomicUpdate: emit_atomic_update,
    LockedUpdate: emit_locked_update,
}
