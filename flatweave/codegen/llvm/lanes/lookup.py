"""Lanes kept out of turned registers: their places are compressed, as bytes, then looked up.

    lane l of R registers of L lanes stands in register l mod R, lane l div R      (segmented.py)
    kept    the bytes (l mod R) L + l div R of the lanes kept, in order: one compress
    turn    L of these bytes pick L values out of all registers: a permute for each two, selects

There are as many turns as it takes, one where few lanes are kept; no value is turned back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, u8, u16, u32, u64
from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.lanes.collectives import count_bits
from flatweave.codegen.llvm.memory.access import element
from flatweave.codegen.llvm.text.module import suffix, vec

_LEAST = 128
_WORDS = {dtype.bits: dtype for dtype in (u8, u16, u32, u64)}
_PERMUTES = {8: "qi", 16: "hi", 32: "d", 64: "q"}


class Turned(NamedTuple):
    """A buffer, the dtype of its elements in memory, and turned registers."""

    buffer: str
    dtype: DType
    registers: tuple[str, ...]


def store_looked_up(e: Emitter, targets: Sequence[Turned], base: str, keep: str) -> None:
    """Write the lanes kept from `base` on; `e` is the emitter of all lanes."""
    code, runs = e.code, len(targets[0].registers)
    inner = e.at(e.width // runs)
    count = count_bits(e, e.width, keep)
    kept = code.alloca(vec(u8, e.width))
    code.line(f"store {vec(u8, e.width)} {_places(e, runs, keep)}, ptr {kept}, align 64")
    before, (head,) = code.block, code.names("turn")
    done = code.names("stored")[0]
    code.jump(head)
    code.label(head)
    hole, at = code.hole(), code.fresh("at")
    there = code.let(f"load {vec(u8, inner.width)}, ptr {element(e, kept, u8, at)}, align 1")
    for target in targets:
        value = _look_up(inner, target, there)
        place = element(e, target.buffer, target.dtype, code.let(f"add i64 {base}, {at}"))
        kind = vec(target.dtype, inner.width)
        code.line(f"store {kind} {value}, ptr {place}, align {target.dtype.bytes}")
    following = code.let(f"add i64 {at}, {inner.width}")
    code.fill(hole, [(at, "i64", [("0", before), (following, code.block)])])
    code.branch(code.let(f"icmp slt i64 {following}, {count}"), head, done)
    code.label(done)


def _places(e: Emitter, runs: int, keep: str) -> str:
    """Where the lanes kept stand among the turned registers, in order."""
    lanes, kind = e.width // runs, vec(u8, e.width)
    numbers = [lane % runs * lanes + lane // runs for lane in range(e.width)]
    listed = f"<{', '.join(f'i8 {number}' for number in numbers)}>"
    name = f"@llvm.x86.avx512.mask.compress.{suffix(u8, e.width)}"
    e.code.declare(f"{kind} {name}({kind}, {kind}, {e.mask_type})")
    operands = f"{kind} {listed}, {kind} zeroinitializer, {e.mask_type} {keep}"
    return e.code.let(f"call {kind} {name}({operands})")


def _look_up(e: Emitter, target: Turned, places: str) -> str:
    """One value for each of the places, as the bytes say."""
    code, word = e.code, _WORDS[max(target.dtype.bits, _LEAST // e.width)]
    kind, raw = vec(word, e.width), vec(_WORDS[target.dtype.bits], e.width)
    at = code.let(f"zext {vec(u8, e.width)} {places} to {kind}") if word is not u8 else places
    found = [_as_words(e, target.dtype, word, register) for register in target.registers]
    name = f"@llvm.x86.avx512.vpermi2var.{_PERMUTES[word.bits]}.{word.bits * e.width}"
    code.declare(f"{kind} {name}({kind}, {kind}, {kind})")
    found = [
        code.let(f"call {kind} {name}({kind} {a}, {kind} {at}, {kind} {b})")
        for a, b in zip(found[::2], found[1::2], strict=True)
    ]
    bit = 2 * e.width
    while len(found) > 1:
        tested = code.let(f"and {kind} {at}, splat ({word.llvm} {bit})")
        high = code.let(f"icmp ne {kind} {tested}, zeroinitializer")
        pairs = zip(found[::2], found[1::2], strict=True)
        found = [e.select(high, word, b, a) for a, b in pairs]
        bit *= 2
    text = found[0] if kind == raw else code.let(f"trunc {kind} {found[0]} to {raw}")
    return code.let(f"bitcast {raw} {text} to {vec(target.dtype, e.width)}")


def _as_words(e: Emitter, dtype: DType, word: DType, text: str) -> str:
    """Values as the unsigned integers that permutes take."""
    raw = vec(_WORDS[dtype.bits], e.width)
    text = e.code.let(f"bitcast {vec(dtype, e.width)} {text} to {raw}")
    if word.bits == dtype.bits:
        return text
    return e.code.let(f"zext {raw} {text} to {vec(word, e.width)}")

