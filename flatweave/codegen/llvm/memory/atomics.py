"""Atomic updates: one instruction, or a compare-and-swap loop, for each lane that runs.

    atomic add hist i 1i32       for each lane: atomicrmw add ptr (hist + i), i32 1 monotonic
    atomic maximum peaks i x     floats: load; head: new = maximum old x; cmpxchg; again unless won
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import UNIFORM, VARYING
from flatweave.codegen.llvm.math.scalar import emit_scalar
from flatweave.codegen.llvm.memory.access import (
    element,
    element_dtype,
    from_memory,
    stored,
    to_memory,
)
from flatweave.codegen.llvm.text.code import Code
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.updates import EXCHANGE, Atomic
from flatweave.terms.syntax import Let

_BOOLS = {"add": "or", "minimum": "and", "maximum": "or", "and": "and", "or": "or", "xor": "xor"}
_SIGNED = {"minimum": "min", "maximum": "max"}
_UNSIGNED = {"minimum": "umin", "maximum": "umax"}
_INTEGERS = ("add", "and", "or", "xor")


def emit_atomic(e: Emitter, let: Let) -> Sequence[Held]:
    """The old value of buffer[index], replaced by `fn` of it and the value."""
    op: Atomic = let.op  # type: ignore[assignment]
    dtype, buffer = element_dtype(op.buffer), e.held[op.buffer].text
    if e.width == 1:
        at = element(e, buffer, dtype, e.uniform(op.index))
        return (Held(UNIFORM, _update(e, op.fn, dtype, at, e.uniform(op.value))),)
    index, value = e.vector(op.index), e.vector(op.value)
    each = _each_lane if e.mask is None else _active_lanes
    return (Held(VARYING, each(e, op.fn, dtype, buffer, index, value)),)


def _each_lane(
    e: Emitter, fn: str, dtype: DType, buffer: str, index: str, value: str
) -> str:
    """All lanes, unrolled."""
    total = "poison"
    for lane in range(e.width):
        total = _lane(e, fn, dtype, buffer, index, value, f"i64 {lane}", total)
    return total


def _lane(
    e: Emitter, fn: str, dtype: DType, buffer: str, index: str, value: str, lane: str, total: str
) -> str:
    """One lane's update; the vector of old values with its own inserted."""
    kind = vec(dtype, e.width)
    i = e.code.let(f"extractelement <{e.width} x i64> {index}, {lane}")
    x = e.code.let(f"extractelement {kind} {value}, {lane}")
    old = _update(e, fn, dtype, element(e, buffer, dtype, i), x)
    return e.code.let(f"insertelement {kind} {total}, {dtype.llvm} {old}, {lane}")


def _active_lanes(
    e: Emitter, fn: str, dtype: DType, buffer: str, index: str, value: str
) -> str:
    """A loop over the active lanes, of which there is at least one, in order."""
    code, bits, kind = e.code, f"i{e.width}", vec(dtype, e.width)
    code.declare(f"{bits} @llvm.cttz.{bits}({bits}, i1)")
    all_bits = e.mask_bits(e.mask)
    before, (turn, done) = code.block, code.names("lane", "done")
    code.jump(turn)
    code.label(turn)
    hole = code.hole()
    left, total = code.fresh("left"), code.fresh("total")
    lane = code.let(f"call {bits} @llvm.cttz.{bits}({bits} {left}, i1 true)")
    after = _lane(e, fn, dtype, buffer, index, value, f"{bits} {lane}", total)
    less = code.let(f"sub {bits} {left}, 1")
    rest = code.let(f"and {bits} {left}, {less}")
    lefts = [(all_bits, before), (rest, code.block)]
    totals = [("zeroinitializer", before), (after, code.block)]
    code.fill(hole, [(left, bits, lefts), (total, kind, totals)])
    code.branch(code.let(f"icmp eq {bits} {rest}, 0"), done, turn)
    code.label(done)
    return after


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
    """The instruction's name for an update; None where there is none."""
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
    before, (turn, done) = code.block, code.names("swap", "done")
    code.jump(turn)
    code.label(turn)
    hole = code.hole()
    seen = code.fresh("seen")
    pair = code.let(
        f"cmpxchg weak ptr {at}, {whole} {seen}, {whole} {renewed(seen)} monotonic monotonic, "
        f"align {align}"
    )
    found = code.let(f"extractvalue {{ {whole}, i1 }} {pair}, 0")
    won = code.let(f"extractvalue {{ {whole}, i1 }} {pair}, 1")
    code.fill(hole, [(seen, whole, [(first, before), (found, code.block)])])
    code.branch(won, done, turn)
    code.label(done)
    return seen


HANDLERS: Handlers = {
    Atomic: emit_atomic,
}
