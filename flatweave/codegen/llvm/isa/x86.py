"""x86-64 below AVX-512: with SSE2, SSE4.2, and AVX2."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i32, i64, u8, u32
from flatweave.codegen.llvm.isa import shared
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.isa.shared import InSigns, LaneSets
from flatweave.codegen.llvm.module import (
    Body,
    joined,
    padded,
    shuffle,
    splat,
    suffix,
    vec,
    word_of_mask,
)

# x86-64: registers of 128 bits, streaming stores that a release does not order.


class X86(InstructionSet):
    """What every x86-64 has."""

    name = "x86"
    needs = frozenset({"x86_64"})
    read_ahead = 2048

    def fence_streams(self, body: Body) -> None:
        """sfence"""
        body.call("void", "@llvm.x86.sse.sfence")


# x86-64 with SSE4.2: bytes of a register in any order, and bits counted.


class Sse4(X86):
    """SSE4.2, and with it SSSE3 and popcnt."""

    name = "sse4"
    needs = frozenset({"x86_64", "ssse3", "popcnt"})
    converts_64 = False

    def compress_lanes(self, kept: DType) -> int:
        """One register, but at most eight lanes."""
        return shared.lanes_of(kept)

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """pshufb by a table."""
        name = "@llvm.x86.ssse3.pshuf.b.128"
        return shared.compress(body, kept, lanes, text, mask, name)


# x86-64 with AVX2: registers of 256 bits. LLVM takes its gathers on few CPUs, not on Zen 3.
#
# compress    vpermd by the numbers of the words kept, eight bytes of a table of 256, widened
# expand      the reverse, of as many elements as the mask has lanes


_WORDS = 8
"""Words of 32 bits in a register."""
_LOW, _HIGH = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
"""The low halves of two such registers side by side, and the high ones."""


class Avx2(Sse4):
    """AVX2 and FMA."""

    name = "avx2"
    needs = frozenset({"avx2"})
    register_bits = 256
    converts_f16 = True  # F16C is older
    libmvec_letters: tuple[tuple[str, int], ...] = (("d", 256),)

    def masks_loads(self, kept: DType) -> bool:
        """Words of 32 and 64 bits."""
        return kept.bits >= i32.bits

    # -- compress ---------------------------------------------------------------------------------

    def compress_lanes(self, kept: DType) -> int:
        """One register of words; smaller elements as SSE4 has them."""
        if kept.bits < i32.bits:
            return super().compress_lanes(kept)
        return self.register_bits // kept.bits

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """vpermd of one register, or a part of one."""
        if kept.bits < i32.bits:
            return super().compress(body, kept, lanes, text, mask)
        return _moved(body, kept, lanes, text, mask)

    def expands(self, kept: DType) -> bool:
        """Words of 32 bits, 1.2 to 1.4 times as fast as a gather; of 64 bits both are alike."""
        return kept.bits == i32.bits

    def expand(self, body: Body, kept: DType, lanes: int, at: str, mask: str) -> str:
        """A load under a mask of what a register takes, moved by vpermd; no other elements are
        read."""
        size, found = min(lanes, self.register_bits // kept.bits), []
        for first in range(0, lanes, size):
            part = mask
            if size < lanes:
                part = shuffle(body, f"<{lanes} x i1>", mask, range(first, first + size))
            text, count = _load_first(body, kept, size, at, part)
            found.append(_moved(body, kept, size, text, part, apart=True))
            at = body.let(f"getelementptr {kept.llvm}, ptr {at}, i64 {count}")
        text, kind = joined(body, kept.llvm, found, size), vec(kept, lanes)
        return body.let(f"select <{lanes} x i1> {mask}, {kind} {text}, {kind} zeroinitializer")

    # -- lanes and words --------------------------------------------------------------------------

    def scan_registers(self, width: int, bits: int) -> int:
        """As many as the values fill; there are shifts by lane of words of 32 and 64 bits only."""
        return max(1, width * bits // self.register_bits) if bits >= i32.bits else 1

    def lane_sets(self, body: Body, width: int, bits: int) -> LaneSets:
        """In signs: a select by the sign is one instruction, a mask of bits takes two more."""
        return InSigns(body, i64 if bits == i64.bits else i32, width)

    def finds_lanes(self, width: int) -> bool:
        """From a register of bytes on."""
        return width >= self.register_bits // 8

    def one_lane(self, body: Body, width: int, lane: str, word: str) -> str:
        """Its number compared with those of all lanes, as bytes."""
        within = body.call("i64", "@llvm.umin.i64", f"i64 {lane}", "i64 255")
        number = splat(body, u8, width, body.let(f"trunc i64 {within} to i8"))
        numbers = ", ".join(f"i8 {lane}" for lane in range(width))
        return body.let(f"icmp eq {vec(u8, width)} {number}, <{numbers}>")

    # -- runs of neighbours -----------------------------------------------------------------------

    def to_runs(self, body: Body, dtype: DType, lanes: int, whole: str, count: int) -> list[str]:
        """Four registers of eight: halves are brought together, then fours are transposed."""
        if (lanes, count) != (8, 4):
            return super().to_runs(body, dtype, lanes, whole, count)
        kind = vec(dtype, lanes)
        a, b, c, d = (
            shuffle(body, vec(dtype, lanes * count), whole, range(k * lanes, (k + 1) * lanes))
            for k in range(count)
        )
        pairs = ((a, _LOW, c), (a, _HIGH, c), (b, _LOW, d), (b, _HIGH, d))
        halves = [shuffle(body, kind, *pair) for pair in pairs]
        return _transposed(body, kind, halves)

    def from_runs(self, body: Body, dtype: DType, lanes: int, registers: Sequence[str]) -> str:
        """The same backwards."""
        if (lanes, len(registers)) != (8, 4):
            return super().from_runs(body, dtype, lanes, registers)
        kind = vec(dtype, lanes)
        a, b, c, d = _transposed(body, kind, registers)
        pairs = ((a, _LOW, b), (c, _LOW, d), (a, _HIGH, b), (c, _HIGH, d))
        ordered = [shuffle(body, kind, *pair) for pair in pairs]
        return joined(body, dtype.llvm, ordered, lanes)


def _transposed(body: Body, kind: str, rows: Sequence[str]) -> list[str]:
    """Four rows of four, in both halves of registers of eight lanes."""
    a, b, c, d = rows
    low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
    first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    found = []
    for lanes in (low, high):
        ab, cd = shuffle(body, kind, a, lanes, b), shuffle(body, kind, c, lanes, d)
        found += [shuffle(body, kind, ab, pairs, cd) for pairs in (first, second)]
    return found


def _moved(
    body: Body, kept: DType, lanes: int, text: str, mask: str, *, apart: bool = False
) -> str:
    """The lanes of the mask at the front; or, `apart`, the front in the lanes of the mask. Of one
    register, or of a part of one."""
    parts, kind = kept.bits // u32.bits, vec(u32, _WORDS)
    there = lanes * parts
    text = body.let(f"bitcast {vec(kept, lanes)} {text} to {vec(u32, there)}")
    if there < _WORDS:
        text = padded(body, vec(u32, there), text, there, _WORDS)
    order = shared.entry(body, _WORDS // parts, parts, mask, lanes, apart=apart)
    wide = body.let(f"zext {vec(u8, _WORDS)} {order} to {kind}")
    name = "@llvm.x86.avx2.permd"
    text = body.call(kind, name, f"{kind} {text}", f"{kind} {wide}")
    if there < _WORDS:
        text = shuffle(body, kind, text, range(there))
    return body.let(f"bitcast {vec(u32, there)} {text} to {vec(kept, lanes)}")


def _load_first(body: Body, kept: DType, lanes: int, at: str, mask: str) -> tuple[str, str]:
    """As many elements from an address on as a mask has lanes, and their number."""
    kind, number = vec(kept, lanes), vec(i32, lanes)
    count = body.call("i64", "@llvm.ctpop.i64", f"i64 {word_of_mask(body, lanes, mask)}")
    most = splat(body, i32, lanes, body.let(f"trunc i64 {count} to i32"))
    numbers = f"<{', '.join(f'i32 {lane}' for lane in range(lanes))}>"
    there = body.let(f"icmp slt {number} {numbers}, {most}")
    name, flags = f"@llvm.masked.load.{suffix(kept, lanes)}.p0", f"<{lanes} x i1> {there}"
    operands = f"ptr {at}", f"i32 {kept.bytes}", flags, f"{kind} zeroinitializer"
    return body.call(kind, name, *operands), count
