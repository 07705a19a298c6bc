"""x86-64 with AVX-512: registers of 512 bits, mask registers, compress, permutes.

    compress     vpcompressd of registers; small elements are widened where VBMI2 is lacking.
                 Straight to memory it is microcoded on Zen 4 and twelve times slower.
    permute      vpermd of one register, vpermi2d of two, selects between pairs of more
    select_zero  the bytes 0 .. 63, compressed

A gather of 16 elements takes as long as 16 loads on Zen 4, a permute of two registers one cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i32, i64, u8, u16, u32, u64
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.isa.shared import InWords, LaneSets, host_libmvec
from flatweave.codegen.llvm.isa.x86 import Avx2
from flatweave.codegen.llvm.module import Body, joined, mask_of_word, padded, shuffle, suffix, vec

_LEAST = 128  # bits of the smallest register
_WORDS = {dtype.bits: dtype for dtype in (u8, u16, u32, u64)}
_ONE = {64: "di", 32: "si", 16: "hi", 8: "qi"}  # vperm*, by bits of an element
_TWO = {64: "q", 32: "d", 16: "hi", 8: "qi"}  # vpermi2*
_FLOATS = {64: "pd", 32: "ps"}
_RANGE = {"minimum": 4, "maximum": 5}  # vrange: the sign is that of the operand it gives
_NAN_AS_IT_IS = 0x11  # vfixupimm: of the classes 0 and 1, quiet and signalling NaNs, the operand
_MOST_REGISTERS = 4  # that a permute takes its values from
_LEAST_LANES = 32  # from this many lanes on, a word beats a vector of comparisons


class Avx512(Avx2):
    """AVX-512 F, DQ, BW and VL; with VBMI2 bytes and halves are compressed and permuted, too."""

    name = "avx512"
    needs = frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl"})
    register_bits = 512
    registers = 32
    converts_64 = True
    masks_gathers = True
    attributes = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'
    libmvec_letters = (("e", 512), ("d", 256))

    def __init__(
        self, libmvec: frozenset[str] = frozenset(), *, has_vbmi2: bool = False,
        has_gathers: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(libmvec)
        self._has_vbmi2 = has_vbmi2
        self.has_gathers = has_gathers

    def masks_loads(self, kept: DType) -> bool:
        """Elements of any size."""
        return True

    def gathers_in_words(self, kept: DType) -> bool:
        """Smaller ones, which there is no gather of."""
        return kept.bits < i32.bits

    @classmethod
    def made_for(cls, features: frozenset[str]) -> InstructionSet:
        """With VBMI2 and fast gathers where the CPU has them."""
        return cls(
            host_libmvec(cls.libmvec_letters),
            has_vbmi2="avx512vbmi2" in features,
            has_gathers="prefer-no-gather" not in features,
        )

    # -- compress ---------------------------------------------------------------------------------

    def compress_lanes(self, kept: DType) -> int:
        """One register of what elements are compressed as."""
        return self.register_bits // self._compressed(kept).bits

    def _compressed(self, kept: DType) -> DType:
        """The dtype that registers are compressed as."""
        return kept if kept.bits >= i32.bits or self._has_vbmi2 else u32

    def compress(self, body: Body, kept: DType, lanes: int, text: str, mask: str) -> str:
        """vpcompress: of 128 bits at least, so fewer lanes are padded."""
        wide = self._compressed(kept)
        if wide is not kept:
            text = body.let(f"zext {vec(kept, lanes)} {text} to {vec(wide, lanes)}")
        full = max(lanes, _LEAST // wide.bits)
        if full > lanes:
            text = padded(body, vec(wide, lanes), text, lanes, full)
            mask = padded(body, f"<{lanes} x i1>", mask, lanes, full, "zeroinitializer")
        text = _compress(body, wide, full, text, mask)
        if full > lanes:
            text = shuffle(body, vec(wide, full), text, range(lanes))
        if wide is not kept:
            text = body.let(f"trunc {vec(wide, lanes)} {text} to {vec(kept, lanes)}")
        return text

    def expands(self, kept: DType) -> bool:
        """What is compressed as it is."""
        return self._compressed(kept) is kept

    def expand(self, body: Body, kept: DType, lanes: int, at: str, mask: str) -> str:
        """vpexpand, as vpcompress."""
        kind, name = vec(kept, lanes), f"@llvm.masked.expandload.{suffix(kept, lanes)}"
        operands = f"ptr {at}", f"<{lanes} x i1> {mask}", f"{kind} zeroinitializer"
        return body.call(kind, name, *operands)

    def select_zeros(self, body: Body, width: int, zeros: str) -> str:
        """The numbers of 64 bytes, compressed."""
        if not self._has_vbmi2:
            return super().select_zeros(body, width, zeros)
        numbers = f"<{', '.join(f'i8 {place}' for place in range(64))}>"
        packed = _compress(body, u8, 64, numbers, mask_of_word(body, 64, zeros))
        if width < 64:
            packed = shuffle(body, vec(u8, 64), packed, range(width))
        return body.let(f"zext {vec(u8, width)} {packed} to {vec(i64, width)}")

    # -- permutes ---------------------------------------------------------------------------------

    def permutes(self, kept: DType, width: int) -> bool:
        """Whether all lanes' worth of elements can be permuted in registers."""
        fits = width * kept.bits <= _MOST_REGISTERS * self.register_bits
        return fits and (kept.bits > u8.bits or self._has_vbmi2)

    def permute(self, body: Body, kept: DType, width: int, table: str, offsets: str) -> str:
        """Register by register."""
        element, lanes = f"i{kept.bits}", self.register_bits // kept.bits
        full = max(width, lanes)
        kind, plain = vec(kept, width), f"<{width} x {element}>"
        if kept.is_float:
            table = body.let(f"bitcast {kind} {table} to {plain}")
        if kept.bits < i64.bits:
            offsets = body.let(f"trunc {vec(i64, width)} {offsets} to {plain}")
        if full > width:
            again = [lane % width for lane in range(full)]
            table = shuffle(body, plain, table, again)
            offsets = shuffle(body, plain, offsets, again)
        tables = [_part(body, element, full, table, k, lanes) for k in range(full // lanes)]
        found = [
            _chosen(body, element, lanes, tables, _part(body, element, full, offsets, k, lanes))
            for k in range(full // lanes)
        ]
        text = joined(body, element, found, lanes)
        if full > width:
            text = shuffle(body, f"<{full} x {element}>", text, range(width))
        return body.let(f"bitcast {plain} {text} to {kind}") if kept.is_float else text

    def looks_up(self) -> bool:
        """Where positions can be compressed as bytes."""
        return self._has_vbmi2

    def look_up(
        self, body: Body, dtype: DType, lanes: int, registers: Sequence[str], places: str
    ) -> str:
        """A permute for each two registers, then selects."""
        element = _WORDS[max(dtype.bits, _LEAST // lanes)]
        kind, raw = vec(element, lanes), vec(_WORDS[dtype.bits], lanes)
        at = places
        if element is not u8:
            at = body.let(f"zext {vec(u8, lanes)} {places} to {kind}")
        found = [_as_words(body, dtype, element, lanes, register) for register in registers]
        found = [
            _permute_two(body, element.llvm, lanes, a, b, at)
            for a, b in zip(found[::2], found[1::2], strict=True)
        ]
        bit = 2 * lanes
        while len(found) > 1:
            tested = body.let(f"and {kind} {at}, splat ({element.llvm} {bit})")
            high = body.let(f"icmp ne {kind} {tested}, zeroinitializer")
            found = [
                body.let(f"select <{lanes} x i1> {high}, {kind} {b}, {kind} {a}")
                for a, b in zip(found[::2], found[1::2], strict=True)
            ]
            bit *= 2
        text = found[0] if kind == raw else body.let(f"trunc {kind} {found[0]} to {raw}")
        return body.let(f"bitcast {raw} {text} to {vec(dtype, lanes)}")

    # -- lanes and words --------------------------------------------------------------------------

    def scan_registers(self, width: int, bits: int) -> int:
        """As many as the values fill."""
        return max(1, width * bits // self.register_bits)

    def lane_sets(self, body: Body, width: int, bits: int) -> LaneSets:
        """In words: shifting and cutting them there takes a cycle, in mask registers four."""
        return InWords(body, width, self.every_bit)

    def every_bit(self, body: Body, text: str, first: int, step: int) -> str:
        """pext"""
        places = sum(1 << k for k in range(first, 64, step))
        wanted = f"i64 {places - (places >> 63 << 64)}"
        return body.call("i64", "@llvm.x86.bmi.pext.64", f"i64 {text}", wanted)

    def finds_lanes(self, width: int) -> bool:
        """Masks have their dedicated registers and come from words."""
        return width >= _LEAST_LANES

    def one_lane(self, body: Body, width: int, lane: str, word: str) -> str:
        """The word's bits."""
        return mask_of_word(body, width, word)

    # -- runs of neighbours -----------------------------------------------------------------------

    def to_runs(self, body: Body, dtype: DType, lanes: int, whole: str, count: int) -> list[str]:
        """LLVM knows the permutes of two registers."""
        return InstructionSet.to_runs(self, body, dtype, lanes, whole, count)

    def from_runs(self, body: Body, dtype: DType, lanes: int, registers: Sequence[str]) -> str:
        """LLVM knows the permutes of two registers."""
        return InstructionSet.from_runs(self, body, dtype, lanes, registers)

    # -- scalar functions -------------------------------------------------------------------------

    def scale(self, body: Body, dtype: DType, width: int, text: str, exponent: str) -> str | None:
        """vscalef, which is what llvm.ldexp becomes here; elsewhere it becomes calls of libm."""
        kind, exponents = vec(dtype, width), vec(i32, width)
        if dtype.bits > i32.bits:
            exponent = body.let(f"trunc {vec(i64, width)} {exponent} to {exponents}")
        symbol = f"@llvm.ldexp.{suffix(dtype, width)}.{suffix(i32, width)}"
        return body.call(kind, symbol, f"{kind} {text}", f"{exponents} {exponent}")

    def extreme(
        self, body: Body, name: str, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """vrange, which orders zeros, and gives the other operand where one is NaN; of a scalar as
        the first lane of a register."""
        if width == 1 and dtype.bits in _FLOATS:
            least = _LEAST // dtype.bits
            a, b = (_first_lane(body, dtype, least, scalar) for scalar in (text, other))
            both = self.extreme(body, name, dtype, least, a, b)
            return body.let(f"extractelement {vec(dtype, least)} {both}, i64 0")
        lanes = min(width, self.register_bits // dtype.bits)
        more = f"i32 {_RANGE[name]}", f"{vec(dtype, lanes)} zeroinitializer"
        numbers = self._by_registers(body, "range", dtype, width, (text, other), more)
        if numbers is None:
            return None
        whole = vec(dtype, width)
        are_numbers = body.let(f"fcmp ord {whole} {text}, {other}")
        nan = body.let(f"fadd {whole} {text}, {other}")
        return body.let(f"select <{width} x i1> {are_numbers}, {whole} {numbers}, {whole} {nan}")

    def unless_nan(
        self, body: Body, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """vfixupimm, which classifies `other`: on Zen 5 it takes half the time of a comparison and
        a select (vmaxps followed by either: 1.3 and 2.7 ns)."""
        lanes = min(width, self.register_bits // dtype.bits)
        table = f"<{lanes} x i{dtype.bits}> splat (i{dtype.bits} {_NAN_AS_IT_IS})"
        more = table, "i32 0"
        return self._by_registers(body, "fixupimm", dtype, width, (text, other), more)

    def _by_registers(
        self, body: Body, name: str, dtype: DType, width: int, texts: Sequence[str],
        more: Sequence[str],
    ) -> str | None:  # fmt: skip
        """A masked intrinsic of AVX-512 on each register of some vectors of floats; None for those
        that fill no registers."""
        lanes = min(width, self.register_bits // dtype.bits)
        bits, kind = lanes * dtype.bits, vec(dtype, lanes)
        if bits < _LEAST or width % lanes:
            return None
        symbol = f"@llvm.x86.avx512.mask.{name}.{_FLOATS[dtype.bits]}.{bits}"
        rounded = ["i32 4"] if bits == self.register_bits else []
        found = []
        for k in range(width // lanes):
            parts = (_part(body, dtype.llvm, width, text, k, lanes) for text in texts)
            values = [f"{kind} {part}" for part in parts]
            found.append(body.call(kind, symbol, *values, *more, f"i{max(8, lanes)} -1", *rounded))
        return joined(body, dtype.llvm, found, lanes)


def _first_lane(body: Body, dtype: DType, lanes: int, text: str) -> str:
    """A register whose other lanes may be anything."""
    return body.let(f"insertelement {vec(dtype, lanes)} poison, {dtype.llvm} {text}, i64 0")


def _compress(body: Body, dtype: DType, lanes: int, text: str, mask: str) -> str:
    """vpcompress of one register, or a part of one."""
    kind, name = vec(dtype, lanes), f"@llvm.x86.avx512.mask.compress.{suffix(dtype, lanes)}"
    flags = f"<{lanes} x i1> {mask}"
    return body.call(kind, name, f"{kind} {text}", f"{kind} zeroinitializer", flags)


def _part(body: Body, element: str, full: int, text: str, k: int, lanes: int) -> str:
    """Register k of several."""
    if full == lanes:
        return text
    return shuffle(body, f"<{full} x {element}>", text, range(k * lanes, (k + 1) * lanes))


def _chosen(body: Body, element: str, lanes: int, tables: Sequence[str], places: str) -> str:
    """One register of values: out of one table register, out of two, or out of the half of the
    tables that an index selects."""
    kind, bits = f"<{lanes} x {element}>", Avx512.register_bits // lanes
    if len(tables) == 1:
        name = f"@llvm.x86.avx512.permvar.{_ONE[bits]}.512"
        return body.call(kind, name, f"{kind} {tables[0]}", f"{kind} {places}")
    if len(tables) == 2:
        return _permute_two(body, element, lanes, tables[0], tables[1], places)
    half = len(tables) // 2
    low = _chosen(body, element, lanes, tables[:half], places)
    high = _chosen(body, element, lanes, tables[half:], places)
    split = body.let(f"icmp ult {kind} {places}, splat ({element} {half * lanes})")
    return body.let(f"select <{lanes} x i1> {split}, {kind} {low}, {kind} {high}")


def _permute_two(body: Body, element: str, lanes: int, low: str, high: str, places: str) -> str:
    """vpermi2"""
    kind, bits = f"<{lanes} x {element}>", int(element[1:])
    name = f"@llvm.x86.avx512.vpermi2var.{_TWO[bits]}.{bits * lanes}"
    return body.call(kind, name, f"{kind} {low}", f"{kind} {places}", f"{kind} {high}")


def _as_words(body: Body, dtype: DType, element: DType, lanes: int, text: str) -> str:
    """Values as the unsigned integers that permutes take."""
    raw = vec(_WORDS[dtype.bits], lanes)
    text = body.let(f"bitcast {vec(dtype, lanes)} {text} to {raw}")
    if element.bits == dtype.bits:
        return text
    return body.let(f"zext {raw} {text} to {vec(element, lanes)}")
