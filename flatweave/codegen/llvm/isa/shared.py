"""What instruction sets share: tables of lanes, and glibc's vector math library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType, i64, u8
from flatweave.codegen.llvm.module import (
    Body,
    Instructions,
    joined,
    mask_of_word,
    padded,
    shuffle,
    splat,
    vec,
    word_of_mask,
)
from flatweave.codegen.llvm.values import Value
from flatweave.runtime.systems import library, system

# -- lane tables ----------------------------------------------------------------------------------
#
# Tables that instruction sets share: sets of lanes for scans, bytes to compress.


# Sets of lanes for a segmented scan: where they are kept, and how masks are made of them.
#
# in words     a bit for each lane, in general registers: shifting and cutting mask registers, where
#              the CPU has them, costs more
# in signs     a lane as wide as those of the values, whose sign bit counts: what a select by the
#              sign (vblendv) takes as it is, so that a mask never needs to be spread out


EveryBit = Callable[[Body, str, int, int], str]
"""Every so manieth bit of a word from a first one on, side by side."""


class LaneSets(Protocol):
    """Sets of the lanes of one register; texts of whatever type they are kept in."""

    def of_runs(self, word: str, length: int) -> list[str]:
        """Lane l of set k is bit l * length + k of a word: element k of each lane's run."""

    def of_word(self, word: str) -> str:
        """Lane l is bit l."""

    def word(self, lanes: str) -> str:
        """The bits of a set, as an i64."""

    def either(self, one: str, other: str) -> str:
        """The lanes of both."""

    def with_first(self, lanes: str) -> str:
        """Lane 0, too."""

    def outside(self, lanes: str) -> str:
        """The mask of all other lanes."""


class InWords:
    """Sets as words of 64 bits."""

    def __init__(self, body: Body, width: int, every_bit: EveryBit) -> None:
        self.body = body
        self.width = width
        self.every_bit = every_bit

    def of_runs(self, word: str, length: int) -> list[str]:
        return [self.every_bit(self.body, word, k, length) for k in range(length)]

    def of_word(self, word: str) -> str:
        return word

    def word(self, lanes: str) -> str:
        return lanes

    def either(self, one: str, other: str) -> str:
        return self.body.let(f"or i64 {one}, {other}")

    def with_first(self, lanes: str) -> str:
        return self.body.let(f"or i64 {lanes}, 1")

    def outside(self, lanes: str) -> str:
        word = self.body.let(f"xor i64 {lanes}, -1")
        return mask_of_word(self.body, self.width, word)


class InSigns:
    """Sets as vectors of integers whose sign bits count; the other bits are anything."""

    def __init__(self, body: Body, kept: DType, width: int) -> None:
        self.body = body
        self.kept = kept
        self.width = width
        self.kind = vec(kept, width)

    def of_runs(self, word: str, length: int) -> list[str]:
        """The bits of the last elements move to the signs, those before them follow."""
        last = self._shifted_up(word, length, length - 1)
        others = [
            self.body.let(f"shl {self.kind} {last}, splat ({self.kept.llvm} {length - 1 - k})")
            for k in range(length - 1)
        ]
        return [*others, last]

    def of_word(self, word: str) -> str:
        return self._shifted_up(word, 1, 0)

    def word(self, lanes: str) -> str:
        set_ = self.body.let(f"icmp slt {self.kind} {lanes}, zeroinitializer")
        bits = self.body.let(f"bitcast <{self.width} x i1> {set_} to i{self.width}")
        return self.body.let(f"zext i{self.width} {bits} to i64")

    def either(self, one: str, other: str) -> str:
        return self.body.let(f"or {self.kind} {one}, {other}")

    def with_first(self, lanes: str) -> str:
        kept = self.kept.llvm
        others = f", {kept} 0" * (self.width - 1)
        return self.body.let(f"or {self.kind} {lanes}, <{kept} {-1 << self.kept.bits - 1}{others}>")

    def outside(self, lanes: str) -> str:
        return self.body.let(f"icmp sge {self.kind} {lanes}, zeroinitializer")

    def _shifted_up(self, word: str, step: int, first: int) -> str:
        """Bit first + l * step of a word as the sign of lane l."""
        kept = self.kept
        if kept is not i64:
            word = self.body.let(f"trunc i64 {word} to {kept.llvm}")
        top = kept.bits - 1 - first
        places = ", ".join(f"{kept.llvm} {top - lane * step}" for lane in range(self.width))
        everywhere = splat(self.body, kept, self.width, word)
        return self.body.let(f"shl {self.kind} {everywhere}, <{places}>")


# Compress by tables: the mask as a number says which bytes of a register come to the front. Expand
# by tables: it says where those of the front go.
#
#     mask of 4 lanes, 32 bits each     0b1010
#     entry 10 of a table of 16         04 05 06 07  0c 0d 0e 0f  then anything: lanes 1 and 3
#     pshufb, tbl                       moves the bytes
#     entry 10 of the other table       anything  00 01 02 03  anything  04 05 06 07
#
# Lanes of 8 and 16 bits are taken eight at a time: a table for sixteen has 65,536 entries.


_BYTES = 16
"""Of the registers whose bytes are moved."""
_MOST_LANES = 8


def lanes_of(kept: DType) -> int:
    """How many lanes are compressed at once."""
    return min(_MOST_LANES, _BYTES // kept.bytes)


def compress(
    body: Body, kept: DType, lanes: int, text: str, mask: str, move_bytes: str
) -> str:
    """The lanes of the mask, moved to the front by the intrinsic `move_bytes`."""
    there = lanes * kept.bytes
    register, part = vec(u8, _BYTES), vec(u8, there)
    order = entry(body, lanes_of(kept), kept.bytes, mask, lanes)
    whole = lanes_of(kept) * kept.bytes
    if whole < _BYTES:
        order = padded(body, vec(u8, whole), order, whole, _BYTES)
    text = body.let(f"bitcast {vec(kept, lanes)} {text} to {part}")
    if there < _BYTES:
        text = padded(body, part, text, there, _BYTES)
    text = body.call(register, move_bytes, f"{register} {text}", f"{register} {order}")
    if there < _BYTES:
        text = shuffle(body, register, text, range(there))
    return body.let(f"bitcast {part} {text} to {vec(kept, lanes)}")


def entry(
    body: Body, lanes: int, parts: int, mask: str, used: int, *, apart: bool = False
) -> str:
    """The parts of the lanes in the mask, lowest first, as <lanes * parts x i8>; or, `apart`, for
    each lane of the mask the parts of lane k, if k lanes of the mask are below it.

    The mask has only the first `used` of the lanes.
    """
    size = lanes * parts
    table = f"@fw_{'apart' if apart else 'front'}_{lanes}_of_{parts}"
    listed = "".join(f"\\{number:02X}" for number in _numbers(lanes, parts, apart))
    body.module.constant(table, f"[{size << lanes} x i8] c\"{listed}\"", align=_BYTES)
    word = word_of_mask(body, used, mask)
    place = body.let(f"getelementptr inbounds [{size} x i8], ptr {table}, i64 {word}")
    return body.let(f"load {vec(u8, size)}, ptr {place}, align {min(size, _BYTES)}")


def _numbers(lanes: int, parts: int, apart: bool) -> Sequence[int]:
    """All entries, concatenated; in each, the lanes that are not selected come last."""
    numbers: list[int] = []
    for mask in range(1 << lanes):
        order = sorted(range(lanes), key=lambda lane: not mask >> lane & 1)
        if apart:
            order = [order.index(lane) for lane in range(lanes)]
        numbers.extend(parts * lane + part for lane in order for part in range(parts))
    return numbers


# -- libmvec --------------------------------------------------------------------------------------
#
# glibc's vector math library: which functions this host has, and calls of them at any width.
#
#     width 4 on 16 lanes    the four values repeated four times, one call, the first four results
#     width 64               four calls
#
# Every width calls the same function, so a value's result does not depend on its neighbours.


FUNCTIONS = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "erf": 1, "erfc": 1, "cbrt": 1, "pow": 2, "hypot": 2,
}  # fmt: skip
_ATTRIBUTES = "nounwind willreturn memory(none)"


def symbol(name: str, letter: str, bits: int, dtype_bits: int) -> str:
    """A function's name in the library: _ZGVeN16v_expf."""
    lanes = bits // dtype_bits
    return f"_ZGV{letter}N{lanes}{'v' * FUNCTIONS[name]}_{name}{'f' if dtype_bits == 32 else ''}"


def host_libmvec(letters: Sequence[tuple[str, int]]) -> frozenset[str]:
    """The functions of the host's libmvec for registers that these letters spell."""
    found = library(system().vector_library) if system().vector_library else None
    if found is None:
        return frozenset()
    names = (
        symbol(name, letter, bits, dtype_bits)
        for letter, bits in letters
        for name in FUNCTIONS
        for dtype_bits in (32, 64)
    )
    return frozenset(name for name in names if hasattr(found, name))


def find(isa: Instructions, name: str, dtype: DType) -> tuple[str, int] | None:
    """The widest function that code may call and its lanes, or None."""
    if name not in FUNCTIONS:
        return None
    for letter, bits in isa.libmvec_letters:
        found = symbol(name, letter, bits, dtype.bits)
        if found in isa.libmvec:
            return found, bits // dtype.bits
    return None


def call(function: str, lanes: int, operands: Sequence[Value]) -> Value:
    """The function on values of any width."""
    first = operands[0]
    body, dtype, width = first.body, first.dtype, first.width
    native = vec(dtype, lanes)
    body.declare(f"{native} @{function}({', '.join([native] * len(operands))}) {_ATTRIBUTES}")
    results = []
    for start in range(0, width, lanes):
        chunks = [_chunk(x, start, lanes) for x in operands]
        listed = ", ".join(f"{native} {chunk}" for chunk in chunks)
        results.append(body.let(f"call {native} @{function}({listed})"))
    return Value(body, dtype, width, _joined(body, dtype, results, lanes, width))


def _chunk(x: Value, start: int, lanes: int) -> str:
    """`lanes` values from `start` on, repeated where there are fewer."""
    if x.is_constant:
        literal = x.text.removeprefix("splat (").removesuffix(")")
        return f"splat ({literal if x.width > 1 else f'{x.dtype.llvm} {literal}'})"
    if x.width == lanes:
        return x.text
    source, text = x.type, x.text
    if x.width == 1:
        source = vec(x.dtype, lanes)
        text = x.body.let(f"insertelement {source} poison, {x.type} {x.text}, i64 0")
    order = [0 if x.width == 1 else (start + i) % x.width for i in range(lanes)]
    return shuffle(x.body, source, text, order)


def _joined(body: Body, dtype: DType, results: Sequence[str], lanes: int, width: int) -> str:
    """The first `width` values of the results put side by side."""
    if width == 1:
        return body.let(f"extractelement {vec(dtype, lanes)} {results[0]}, i64 0")
    if width < lanes:
        return shuffle(body, vec(dtype, lanes), results[0], range(width))
    return joined(body, dtype.llvm, results, lanes)
