"""Updates of elements that are indivisible: atomics, compare-and-swap, locks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from flatweave.base.dtypes import DType, bool_, stored
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm.control import look
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, LaneLoop, Loop, scalar_type
from flatweave.codegen.llvm.math.scalar import emit_scalar
from flatweave.codegen.llvm.memory import element, from_memory, load_scalar, store_scalar, to_memory
from flatweave.codegen.llvm.module import Code, vec
from flatweave.codegen.llvm.shapes import LONG, UNIFORM, VARYING
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.memory_ops import EXCHANGE, Atomic, AtomicUpdate, LockedUpdate
from flatweave.terms.syntax import Atom, Lambda, Let, Var

# Atomic updates: one instruction, or a compare-and-swap loop, for each lane that runs.
#
# atomic add hist i 1i32       for each lane: atomicrmw add ptr (hist + i), i32 1 monotonic
# atomic maximum peaks i x     floats: load; head: new = maximum old x; cmpxchg; again unless won


_BOOLS = {"add": "or", "minimum": "and", "maximum": "or", "and": "and", "or": "or", "xor": "xor"}
_SIGNED = {"minimum": "min", "maximum": "max"}
_UNSIGNED = {"minimum": "umin", "maximum": "umax"}
_INTEGERS = ("add", "and", "or", "xor")


def emit_atomic(e: Emitter, let: Let, op: Atomic) -> Sequence[Held]:
    """The old value of buffer[index], replaced by `fn` of it and the value."""
    dtype, buffer = dtype_in(op.buffer), e.held[op.buffer].text
    if e.width == 1:
        at = element(e, buffer, dtype, e.uniform(op.index))
        return (Held(UNIFORM, _update(e, op.fn, dtype, at, e.uniform(op.value))),)
    index, value = e.vector(op.index), e.vector(op.value)
    kind = vec(dtype, e.width)

    def update(lane: str, total: str) -> str:
        """One lane's; the vector of old values with its own inserted."""
        i = e.code.let(f"extractelement <{e.width} x i64> {index}, {lane}")
        x = e.code.let(f"extractelement {kind} {value}, {lane}")
        old = _update(e, op.fn, dtype, element(e, buffer, dtype, i), x)
        return e.code.let(f"insertelement {kind} {total}, {dtype.llvm} {old}, {lane}")

    if e.mask is None:
        lanes = (f"i64 {lane}" for lane in range(e.width))
        olds = reduce(lambda total, lane: update(lane, total), lanes, "poison")
    else:
        loop = _active_lanes(e, (kind, "zeroinitializer"))
        olds = update(loop.lane, loop.names[1])
        loop.next(olds)
    return (Held(VARYING, olds),)


def _active_lanes(e: Emitter, *carried: tuple[str, str]) -> LaneLoop:
    return LaneLoop(e.code, e.width, e.mask_bits(e.mask), *carried)


def _update(e: Emitter, fn: str, dtype: DType, at: str, value: str) -> str:
    """One element's update; its old value."""
    kept, text = stored(dtype), to_memory(e, dtype, 1, value)
    opcode = _opcode(fn, dtype)
    if opcode is None:
        return _exchanged(e, fn, dtype, at, value)
    old = e.code.let(
        f"atomicrmw {opcode} ptr {at}, {kept.llvm} {text} monotonic, align {kept.bytes}"
    )
    return from_memory(e, dtype, 1, old)


def _opcode(fn: str, dtype: DType) -> str | None:
    """The instruction's name for an update, or None."""
    if fn == EXCHANGE:
        return "xchg"
    if dtype is bool_:
        return _BOOLS[fn]
    if dtype.is_float:
        return "fadd" if fn == "add" else None
    if fn in _INTEGERS:
        return fn
    table = _SIGNED if dtype.is_signed else _UNSIGNED
    if fn not in table:
        raise CompilerBug(f"there is no atomic {fn} of {dtype}")
    return table[fn]


def _exchanged(e: Emitter, fn: str, dtype: DType, at: str, value: str) -> str:
    """A compare-and-swap loop on the bits."""
    code, bits = e.code, f"i{dtype.bits}"
    first = code.let(f"load atomic {bits}, ptr {at} monotonic, align {dtype.bytes}")

    def renewed(seen: str) -> str:
        old = code.let(f"bitcast {bits} {seen} to {dtype.llvm}")
        new = emit_scalar(code, fn, dtype, 1, [old, value])
        return code.let(f"bitcast {dtype.llvm} {new} to {bits}")

    seen = swap(code, bits, at, dtype.bytes, first, renewed)
    return code.let(f"bitcast {bits} {seen} to {dtype.llvm}")


def swap(
    code: Code, whole: str, at: str, align: int, first: str, renewed: Callable[[str], str]
) -> str:
    """A compare-and-swap loop that begins with `first` as the expected value; the old value."""
    loop = Loop(code, "seen", (whole, first))
    (seen,) = loop.names
    pair = code.let(
        f"cmpxchg weak ptr {at}, {whole} {seen}, {whole} {renewed(seen)} monotonic monotonic, "
        f"align {align}"
    )
    found = code.let(f"extractvalue {{ {whole}, i1 }} {pair}, 0")
    won = code.let(f"extractvalue {{ {whole}, i1 }} {pair}, 1")
    loop.again(found, until=won)
    return seen


# Updates of one element by any function: compare-and-swap of its bits, or under a lock.
#
#     atomic_update f xs i [y]     each lane: seen = load; loop: cmpxchg xs[i] seen (f seen y) again
#                                  unless won. Two u64 are swapped as one i128.
#     locked_update f locks ..     each lane: until atomicrmw xchg lock 1 gives 0: wait
#                                  xs[i] = f xs[i] y; store atomic 0 release
#
# Active lanes run sequentially: the function runs on scalars.


Act = Callable[[Emitter, str, Sequence[str]], None]  # what one lane does, with its index and values


def emit_atomic_update(e: Emitter, let: Let, op: AtomicUpdate) -> Sequence[Held]:
    """A compare-and-swap loop on the element's bits, for each lane."""
    dtype, words = dtype_in(op.buffer), len(op.values_)

    def act(one: Emitter, index: str, values: Sequence[str]) -> None:
        first = one.code.let(f"mul i64 {index}, {words}") if words > 1 else index
        at = element(one, one.held[op.buffer].text, dtype, first)
        _swap(one, op.fn, dtype, at, values)

    _each_lane(e, op.index, op.values_, act)
    return ()


def emit_locked_update(e: Emitter, let: Let, op: LockedUpdate) -> Sequence[Held]:
    """A lock taken and given back for each lane."""

    def act(one: Emitter, index: str, values: Sequence[str]) -> None:
        code = one.code
        stripe = code.let(f"and i64 {index}, {op.stripes - 1}")
        lock = element(one, one.held[op.locks].text, dtype_in(op.locks), stripe)
        _take(one, lock)
        old = [_load(one, buffer, index) for buffer in op.buffers]
        made = _call(one, op.fn, [*old, *values])
        for buffer, value in zip(op.buffers, made, strict=True):
            dtype = dtype_in(buffer)
            store_scalar(one, one.held[buffer].text, dtype, index, value)
        code.line(f"store atomic i32 0, ptr {lock} release, align 4")

    _each_lane(e, op.index, op.values_, act)
    return ()


def _load(e: Emitter, buffer: Var, index: str) -> str:
    return load_scalar(e, e.held[buffer].text, dtype_in(buffer), index)


def _call(e: Emitter, fn: Lambda, args: Sequence[str]) -> list[str]:
    """A function on scalars."""
    return [held.text for held in e.run(fn, [Held(UNIFORM, text) for text in args])]


def _each_lane(e: Emitter, index: Atom, values: Sequence[Atom], act: Act) -> None:
    """`act` for each active lane in order; there is at least one."""
    if e.width == 1:
        return act(e, e.uniform(index), [e.uniform(value) for value in values])
    vectors = [(e.vector(atom), scalar_type(atom.type)) for atom in (index, *values)]
    loop = _active_lanes(e)
    place, *own = (
        e.code.let(f"extractelement {vec(dtype, e.width)} {text}, {loop.lane}")
        for text, dtype in vectors
    )
    act(e.at(1), place, own)
    loop.next()


def _swap(e: Emitter, fn: Lambda, dtype: DType, at: str, values: Sequence[str]) -> None:
    """A compare-and-swap loop."""
    code, words = e.code, len(values)
    size = stored(dtype).bits
    whole = f"i{size * words}"
    first = _look(e, size, words, at)

    def renewed(seen: str) -> str:
        old = [_from_bits(e, dtype, part) for part in _split(e, seen, size, words)]
        made = [_to_bits(e, dtype, text) for text in _call(e, fn, [*old, *values])]
        return _join(e, made, size)

    swap(code, whole, at, size * words // 8, first, renewed)


def _look(e: Emitter, size: int, words: int, at: str) -> str:
    """The element's words; if another update comes between their loads, the swap fails."""
    parts = []
    for word in range(words):
        place = at
        if word:
            place = e.code.let(f"getelementptr i{size}, ptr {at}, i64 {word}")
        text = f"load atomic i{size}, ptr {place} monotonic, align {size // 8}"
        parts.append(e.code.let(text))
    return _join(e, parts, size)


def _join(e: Emitter, parts: Sequence[str], size: int) -> str:
    """Words as one integer, the first one lowest."""
    if len(parts) == 1:
        return parts[0]
    whole = f"i{size * len(parts)}"
    low, high = (e.code.let(f"zext i{size} {part} to {whole}") for part in parts)
    return e.code.let(f"or {whole} {low}, {e.code.let(f'shl {whole} {high}, {size}')}")


def _split(e: Emitter, whole: str, size: int, words: int) -> list[str]:
    """The words of one integer."""
    if words == 1:
        return [whole]
    kind = f"i{size * words}"
    high = e.code.let(f"lshr {kind} {whole}, {size}")
    return [e.code.let(f"trunc {kind} {part} to i{size}") for part in (whole, high)]


def _from_bits(e: Emitter, dtype: DType, text: str) -> str:
    """A value from its bits in memory."""
    if dtype.is_float:
        return e.code.let(f"bitcast i{dtype.bits} {text} to {dtype.llvm}")
    return from_memory(e, dtype, 1, text)


def _to_bits(e: Emitter, dtype: DType, text: str) -> str:
    """The bits that a value has in memory."""
    if dtype.is_float:
        return e.code.let(f"bitcast {dtype.llvm} {text} to i{dtype.bits}")
    return to_memory(e, dtype, 1, text) if dtype is bool_ else text


def _take(e: Emitter, lock: str) -> None:
    """Spin until the lock is free, and take it."""
    code = e.code
    loop = Loop(code, "attempt", ("i64", "0"))
    (number,) = loop.names
    was = code.let(f"atomicrmw xchg ptr {lock}, i32 1 acquire, align 4")
    loop.goes_on(code.let(f"icmp ne i32 {was}, 0"))
    code.call("void", "@fw_backoff", f"i64 {number}")
    look(e, LONG)  # who holds it may have left with it
    loop.again(code.let(f"add i64 {number}, 1"))


HANDLERS: Handlers = {
    Atomic: emit_atomic,
    AtomicUpdate: emit_atomic_update,
    LockedUpdate: emit_locked_update,
}
