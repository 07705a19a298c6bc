"""LoadNear and SelectZero: few elements spread over many lanes by permutes instead of gathers.

    load_near xs base offset span     span < W:  one load of xs[base .. base + span]
                                                 and a permute of registers by the offsets
                                      else:      a gather
    select_zero mask                  the lanes' numbers 0, 1, 2 .. compressed by the zeros of mask

A gather of 16 elements takes as long as 16 loads on Zen 4, a permute of two registers one cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import UNIFORM, VARYING
from flatweave.codegen.llvm.lanes.collectives import indices
from flatweave.codegen.llvm.memory.access import (
    element,
    element_dtype,
    from_memory,
    gather,
    load_scalar,
    stored,
)
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.syntax import LoadNear, SelectZero
from flatweave.terms.syntax import Let

_REGISTER = 512
_NAMES = {64: "q", 32: "d", 16: "hi", 8: "qi"}
_SINGLE = {64: "di", 32: "si", 16: "hi", 8: "qi"}
_MOST_REGISTERS = 4


# -- load_near ------------------------------------------------------------------------------------


def emit_near(e: Emitter, let: Let) -> Sequence[Held]:
    """buffer[base + offset]"""
    op: LoadNear = let.op  # type: ignore[assignment]
    dtype, buffer = element_dtype(op.buffer), e.held[op.buffer].text
    base, offset = e.uniform(op.base), e.hold(op.offset)
    if offset.shape is UNIFORM:
        at = e.code.let(f"add i64 {base}, {offset.text}")
        return (Held(UNIFORM, load_scalar(e, buffer, dtype, at)),)
    kept, offsets = stored(dtype), e.vector(op.offset)
    if not _permutes(e, kept):
        text = _gathered(e, buffer, kept, base, offsets)
    else:
        text = _near_or_far(e, buffer, kept, base, offsets, e.uniform(op.span))
    return (Held(VARYING, from_memory(e, dtype, e.width, text)),)


def _permutes(e: Emitter, kept: DType) -> bool:
    """Whether all lanes' worth of elements can be permuted in registers."""
    small = kept.bits >= 16 or e.features.has_vbmi2
    return e.features.has_avx512 and small and e.width * kept.bits <= _MOST_REGISTERS * _REGISTER


def _gathered(e: Emitter, buffer: str, kept: DType, base: str, offsets: str) -> str:
    kind = vec(i64, e.width)
    first = e.splat(base, i64)
    return gather(e, buffer, kept, Held(VARYING, e.code.let(f"add {kind} {first}, {offsets}")))


def _near_or_far(
    e: Emitter, buffer: str, kept: DType, base: str, offsets: str, span: str
) -> str:
    """A permute where the elements fill at most as many lanes as there are."""
    code = e.code
    near, far, done = code.names("near", "far", "done")
    code.branch(code.let(f"icmp ult i64 {span}, {e.width}"), near, far)
    code.label(near)
    here = e.inside()
    permuted = _permuted(here, kept, _window(here, buffer, kept, base, span), offsets)
    from_near = code.block
    code.jump(done)
    code.label(far)
    gathered = _gathered(e.inside(), buffer, kept, base, offsets)
    from_far = code.block
    code.jump(done)
    code.label(done)
    return code.phi(vec(kept, e.width), [(permuted, from_near), (gathered, from_far)])


def _window(e: Emitter, buffer: str, kept: DType, base: str, span: str) -> str:
    """The elements from base to base + span, and nothing behind them."""
    code, width, kind = e.code, e.width, vec(kept, e.width)
    lanes = ", ".join(f"i64 {lane}" for lane in range(width))
    there = code.let(f"icmp ule {vec(i64, width)} <{lanes}>, {e.splat(span, i64)}")
    name = f"@llvm.masked.load.v{width}i{kept.bits}.p0"
    plain = f"<{width} x i{kept.bits}>"
    code.declare(f"{plain} {name}(ptr, i32, <{width} x i1>, {plain})")
    at = element(e, buffer, kept, base)
    text = code.let(
        f"call {plain} {name}(ptr {at}, i32 {kept.bytes}, <{width} x i1> {there}, "
        f"{plain} zeroinitializer)"
    )
    return text if kind == plain else code.let(f"bitcast {plain} {text} to {kind}")


def _permuted(e: Emitter, kept: DType, table: str, offsets: str) -> str:
    """table[offset] in each lane, register by register."""
    code, width = e.code, e.width
    word, lanes = f"i{kept.bits}", _REGISTER // kept.bits
    full = max(width, lanes)
    kind, plain = vec(kept, width), f"<{width} x {word}>"
    if kept.is_float:
        table = code.let(f"bitcast {kind} {table} to {plain}")
    places = offsets
    if kept.bits < i64.bits:
        places = code.let(f"trunc {vec(i64, width)} {offsets} to {plain}")
    if full > width:
        table, places = (_widened(e, plain, text, width, full) for text in (table, places))
    tables = [_part(e, word, full, table, k, lanes) for k in range(full // lanes)]
    found = [
        _chosen(e, word, lanes, tables, _part(e, word, full, places, k, lanes))
        for k in range(full // lanes)
    ]
    text = _joined(e, word, found, lanes)
    if full > width:
        short = indices(range(width))
        big = f"<{full} x {word}>"
        text = code.let(f"shufflevector {big} {text}, {big} poison, {short}")
    return code.let(f"bitcast {plain} {text} to {kind}") if kept.is_float else text


def _widened(e: Emitter, kind: str, text: str, width: int, full: int) -> str:
    order = indices(lane % width for lane in range(full))
    return e.code.let(f"shufflevector {kind} {text}, {kind} poison, {order}")


def _part(e: Emitter, word: str, full: int, text: str, k: int, lanes: int) -> str:
    """Register k of several."""
    if full == lanes:
        return text
    kind, part = f"<{full} x {word}>", indices(range(k * lanes, (k + 1) * lanes))
    return e.code.let(f"shufflevector {kind} {text}, {kind} poison, {part}")


def _joined(e: Emitter, word: str, parts: list[str], lanes: int) -> str:
    """Registers side by side."""
    while len(parts) > 1:
        kind, order = f"<{lanes} x {word}>", indices(range(2 * lanes))
        parts = [
            e.code.let(f"shufflevector {kind} {a}, {kind} {b}, {order}")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def _chosen(e: Emitter, word: str, lanes: int, tables: list[str], places: str) -> str:
    """One register of results: from one table register, from two, or from the pair that a bit of
    the place says."""
    kind, bits = f"<{lanes} x {word}>", _REGISTER // lanes
    if len(tables) == 1:
        name = f"@llvm.x86.avx512.permvar.{_SINGLE[bits]}.512"
        e.code.declare(f"{kind} {name}({kind}, {kind})")
        return e.code.let(f"call {kind} {name}({kind} {tables[0]}, {kind} {places})")
    if len(tables) == 2:
        name = f"@llvm.x86.avx512.vpermi2var.{_NAMES[bits]}.512"
        e.code.declare(f"{kind} {name}({kind}, {kind}, {kind})")
        args = f"{kind} {tables[0]}, {kind} {places}, {kind} {tables[1]}"
        return e.code.let(f"call {kind} {name}({args})")
    half = len(tables) // 2
    low = _chosen(e, word, lanes, tables[:half], places)
    high = _chosen(e, word, lanes, tables[half:], places)
    split = e.code.let(f"icmp ult {kind} {places}, splat ({word} {half * lanes})")
    return e.code.let(f"select <{lanes} x i1> {split}, {kind} {low}, {kind} {high}")


# -- select_zero ----------------------------------------------------------------------------------


def emit_select_zero(e: Emitter, let: Let) -> Sequence[Held]:
    """The places of the zeros of a mask, one for each lane."""
    op: SelectZero = let.op  # type: ignore[assignment]
    zeros = e.code.let(f"xor i64 {e.uniform(op.mask)}, -1")
    found = _compressed(e, zeros) if e.features.has_vbmi2 else _searched(e, zeros)
    return (Held(VARYING, found),)


def _compressed(e: Emitter, zeros: str) -> str:
    """The numbers of 64 bytes, compressed."""
    code, kind = e.code, "<64 x i8>"
    numbers = f"<{', '.join(f'i8 {place}' for place in range(64))}>"
    name = "@llvm.x86.avx512.mask.compress.v64i8"
    code.declare(f"{kind} {name}({kind}, {kind}, <64 x i1>)")
    mask = code.let(f"bitcast i64 {zeros} to <64 x i1>")
    packed = code.let(
        f"call {kind} {name}({kind} {numbers}, {kind} zeroinitializer, <64 x i1> {mask})"
    )
    if e.width < 64:
        part = indices(range(e.width))
        packed = code.let(f"shufflevector {kind} {packed}, {kind} poison, {part}")
    return code.let(f"zext <{e.width} x i8> {packed} to {vec(i64, e.width)}")


def _searched(e: Emitter, zeros: str) -> str:
    """By halving: as many bits are skipped as hold no more zeros than are wanted."""
    code, kind, width = e.code, vec(i64, e.width), e.width
    count = f"@llvm.ctpop.v{width}i64"
    code.declare(f"{kind} {count}({kind})")
    left = f"<{', '.join(f'i64 {lane}' for lane in range(width))}>"
    bits, place = e.splat(zeros, i64), "zeroinitializer"
    for half in (32, 16, 8, 4, 2, 1):
        ahead = code.let(f"lshr {kind} {bits}, {place}")
        low = code.let(f"and {kind} {ahead}, splat (i64 {(1 << half) - 1})")
        found = code.let(f"call {kind} {count}({kind} {low})")
        skips = code.let(f"icmp uge {kind} {left}, {found}")
        less = code.let(f"sub {kind} {left}, {found}")
        left = code.let(f"select <{width} x i1> {skips}, {kind} {less}, {kind} {left}")
        further = code.let(f"add {kind} {place}, splat (i64 {half})")
        place = code.let(f"select <{width} x i1> {skips}, {kind} {further}, {kind} {place}")
    return place


HANDLERS: Handlers = {
    SelectZero: emit_select_zero,
    LoadNear: emit_near,
}
