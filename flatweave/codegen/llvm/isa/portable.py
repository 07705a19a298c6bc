"""What code generation asks of a CPU, answered for every CPU: plain LLVM, nothing measured.

An instruction set overrides what it does better. Methods append to a body and give the text of a
value; a method that asks (`permutes`, `compress_lanes` ..) says whether the other one pays.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm.isa.shared import InWords, LaneSets, host_libmvec
from flatweave.codegen.llvm.module import (
    Body,
    mask_of_word,
    shuffle,
    splat,
    suffix,
    vec,
    word_of_mask,
)


class InstructionSet:
    """Any CPU that LLVM knows: vectors of 128 bits, no instruction that only some have.

    `libmvec` names the functions of glibc's vector library that this CPU can run.
    """

    name = "portable"
    needs: frozenset[str] = frozenset()
    """What a CPU of this kind has: LLVM's names of features, or the name of its architecture."""
    register_bits = 128
    registers = 16
    converts_64 = True
    """Whether there are instructions that convert vectors between floats and integers of 64 bits;
    without them math/casts.py does."""
    converts_f16 = False
    """Whether there are instructions that convert vectors between f16 and f32."""
    read_ahead = 0
    """Bytes ahead at which loops of much work prefetch what they load; 0: they do not."""
    has_gathers = True
    """Whether a gather of all lanes is faster than a load for each, a scatter than stores."""
    masks_gathers = False
    """Whether there is an instruction that gathers under a mask."""
    attributes = "nounwind"
    """The attributes of every function."""
    libmvec_letters: tuple[tuple[str, int], ...] = ()
    """How names of libmvec's functions spell registers that this CPU has, and their bits."""

    def __init__(self, libmvec: frozenset[str] = frozenset()) -> None:
        self.libmvec = libmvec

    @classmethod
    def made_for(cls, features: frozenset[str]) -> InstructionSet:
        """The object for a CPU of this kind."""
        return cls(host_libmvec(cls.libmvec_letters))

    # -- memory -----------------------------------------------------------------------------------

    def masks_loads(self, kept: DType) -> bool:
        """Whether there is an instruction that loads neighbouring elements of this dtype under a
        mask."""
        return False

    def fence_streams(self, body: Body) -> None:
        """Order non-temporal stores before what follows, where a release does not."""

    def gathers_in_words(self, kept: DType) -> bool:
        """Whether elements of this dtype are gathered, under a mask, as the 32-bit words around
        them."""
        return False

    # -- compress ---------------------------------------------------------------------------------

    def compress_lanes(self, kept: DType) -> int:
        """How many lanes `compress` takes at once; 0 where lanes are best stored one by one."""
        return 0

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """The lanes of the mask, moved to the front; the rest is unspecified."""
        raise CompilerBug(f"{self.name} does not compress")

    def expands(self, kept: DType) -> bool:
        """Whether `expand` beats a gather from memory."""
        return False

    def expand(self, body: Body, kept: DType, lanes: int, at: str, mask: str) -> str:
        """Consecutive elements from the address `at` on in the lanes of the mask, 0 in others."""
        raise CompilerBug(f"{self.name} does not expand")

    def select_zeros(self, body: Body, width: int, zeros: str) -> str:
        """In lane l the number of the l-th bit set in a word, as i64.

        By halving: as many bits are skipped as hold no more ones than are wanted.
        """
        kind = vec(i64, width)
        count = f"@llvm.ctpop.v{width}i64"
        left = f"<{', '.join(f'i64 {lane}' for lane in range(width))}>"
        bits, place = splat(body, i64, width, zeros), "zeroinitializer"
        for half in (32, 16, 8, 4, 2, 1):
            ahead = body.let(f"lshr {kind} {bits}, {place}")
            low = body.let(f"and {kind} {ahead}, splat (i64 {(1 << half) - 1})")
            found = body.call(kind, count, f"{kind} {low}")
            skips = body.let(f"icmp uge {kind} {left}, {found}")
            less = body.let(f"sub {kind} {left}, {found}")
            left = body.let(f"select <{width} x i1> {skips}, {kind} {less}, {kind} {left}")
            further = body.let(f"add {kind} {place}, splat (i64 {half})")
            place = body.let(f"select <{width} x i1> {skips}, {kind} {further}, {kind} {place}")
        return place

    # -- permutes ---------------------------------------------------------------------------------

    def permutes(self, kept: DType, width: int) -> bool:
        """Whether `permute` of `width` lanes beats a gather from memory."""
        return False

    def permute(self, body: Body, kept: DType, width: int, table: str, offsets: str) -> str:
        """table[offset] in each lane; the offsets are i64 and less than the width."""
        raise CompilerBug(f"{self.name} does not permute")

    def looks_up(self) -> bool:
        """Whether `look_up` beats putting several registers into the order of lanes first."""
        return False

    def look_up(
        self, body: Body, dtype: DType, lanes: int, registers: Sequence[str], places: str
    ) -> str:
        """A value for each index; indices are bytes that number the lanes of all registers."""
        raise CompilerBug(f"{self.name} does not look up")

    # -- lanes and words --------------------------------------------------------------------------

    def scan_registers(self, width: int, bits: int) -> int:
        """The number of registers over which a segmented scan spreads values of this size in bits.

        More than one: a run of neighbours in each lane of one register (llvm/by_flags.py).
        """
        return 1

    def lane_sets(self, body: Body, width: int, bits: int) -> LaneSets:
        """Sets of the lanes of one register, for a scan of values of at most `bits` bits."""
        return InWords(body, width, self.every_bit)

    def to_runs(self, body: Body, dtype: DType, lanes: int, whole: str, count: int) -> list[str]:
        """Register k of `count` has lanes k, k + count, k + 2 count ..: repeated deinterleaving."""
        if count == 1:
            return [whole]
        width = lanes * count
        half, name = vec(dtype, width // 2), f"@llvm.vector.deinterleave2.{suffix(dtype, width)}"
        both = body.call(f"{{ {half}, {half} }}", name, f"{vec(dtype, width)} {whole}")
        halves = []
        for k in (0, 1):
            part = body.let(f"extractvalue {{ {half}, {half} }} {both}, {k}")
            halves.append(self.to_runs(body, dtype, lanes, part, count // 2))
        return [register for pair in zip(*halves, strict=True) for register in pair]

    def from_runs(self, body: Body, dtype: DType, lanes: int, registers: Sequence[str]) -> str:
        """The other way: registers interleaved to lane order."""
        if len(registers) == 1:
            return registers[0]
        even, odd = (self.from_runs(body, dtype, lanes, registers[k::2]) for k in (0, 1))
        width = lanes * len(registers)
        whole, half = vec(dtype, width), vec(dtype, width // 2)
        name = f"@llvm.vector.interleave2.{suffix(dtype, width)}"
        return body.call(whole, name, f"{half} {even}", f"{half} {odd}")

    def every_bit(self, body: Body, text: str, first: int, step: int) -> str:
        """Every `step`-th bit of a word, side by side."""
        lanes = range(first, i64.bits, step)
        part = shuffle(body, "<64 x i1>", mask_of_word(body, i64.bits, text), lanes)
        return word_of_mask(body, len(lanes), part)

    def finds_lanes(self, width: int) -> bool:
        """Whether the one lane where base + lane equals a number is best found by `one_lane`."""
        return False

    def one_lane(self, body: Body, width: int, lane: str, word: str) -> str:
        """The mask of the lane of this number, an i64, whose bit is set in the word; of no lane
        where the number is not a lane's."""
        raise CompilerBug(f"{self.name} does not find lanes")

    # -- scalar functions -------------------------------------------------------------------------

    def scale(self, body: Body, dtype: DType, width: int, text: str, exponent: str) -> str | None:
        """x * 2**k in one instruction, rounded once, for k as wide as x; None without one."""
        return None

    def extreme(
        self, body: Body, name: str, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """The minimum or maximum: NaN wins, -0.0 is below 0.0; None if no instruction orders zeros.
        """
        return None

    def unless_nan(
        self, body: Body, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """Floats, but `other` in the lanes where that is NaN, in one instruction; None if there is
        none."""
        return None
