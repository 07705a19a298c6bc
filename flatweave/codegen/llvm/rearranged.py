"""Loads and stores that rearrange lanes or their parts: squares, words, interleaved stores."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64, stored, u64
from flatweave.codegen.llvm.collectives import combine
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, prefetch, store_lanes
from flatweave.codegen.llvm.memory import (
    element,
    from_memory,
    gather,
    gather_pointers,
    gathered,
    load_scalar,
    masked_load,
    scatter,
    store_scalar,
    to_memory,
    uniform_value,
)
from flatweave.codegen.llvm.module import Code, constant, shuffle, suffix, vec
from flatweave.codegen.llvm.shapes import LINEAR, UNIFORM, VARYING
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.memory_ops import LoadWord, StoreInTurn
from flatweave.kernel_ir.syntax import LoadNear
from flatweave.kernel_ir.warp_ops import LoadTile, ReduceRows, SelectZero
from flatweave.terms.syntax import Let, Var

# LoadNear and SelectZero: few elements spread over many lanes by permutes instead of gathers.
#
#     load_near xs base offset span     span < W:  one load of xs[base .. base + span]
#                                                  and a permute of registers by the offsets
#                                       else:      a gather
#     select_zero mask                  in lane l the position of zero number l of the mask
#
# What the instruction set offers for both is in isa/.


# -- load_near ------------------------------------------------------------------------------------


def emit_near(e: Emitter, let: Let, op: LoadNear) -> Sequence[Held]:
    """buffer[base + offset]"""
    dtype, buffer = dtype_in(op.buffer), e.held[op.buffer].text
    base, offset = e.uniform(op.base), e.hold(op.offset)
    if offset.shape is UNIFORM:
        at = e.code.let(f"add i64 {base}, {offset.text}")
        return (Held(UNIFORM, load_scalar(e, buffer, dtype, at)),)
    kept, offsets = stored(dtype), e.vector(op.offset)
    if not e.isa.permutes(kept, e.width):
        text = _gathered(e, buffer, kept, base, offsets)
    else:
        text = _near_or_far(e, buffer, kept, base, offsets, e.uniform(op.span))
    return (Held(VARYING, from_memory(e, dtype, e.width, text)),)


def _gathered(e: Emitter, buffer: str, kept: DType, base: str, offsets: str) -> str:
    kind = vec(i64, e.width)
    first = e.splat(base, i64)
    return gather(e, buffer, kept, Held(VARYING, e.code.let(f"add {kind} {first}, {offsets}")))


def _near_or_far(
    e: Emitter, buffer: str, kept: DType, base: str, offsets: str, span: str
) -> str:
    """A permute where the elements fill at most as many lanes as there are."""
    code = e.code

    def near() -> str:
        window = _window(e.inside(), buffer, kept, base, span)
        return e.isa.permute(code, kept, e.width, window, offsets)

    def far() -> str:
        return _gathered(e.inside(), buffer, kept, base, offsets)

    fits = code.let(f"icmp ult i64 {span}, {e.width}")
    return code.choose(fits, vec(kept, e.width), near, far)


def _window(e: Emitter, buffer: str, kept: DType, base: str, span: str) -> str:
    """The elements from base to base + span; nothing after them is read."""
    lanes = ", ".join(f"i64 {lane}" for lane in range(e.width))
    there = e.code.let(f"icmp ule {vec(i64, e.width)} <{lanes}>, {e.splat(span, i64)}")
    return masked_load(e, kept, element(e, buffer, kept, base), there)


# -- select_zero ----------------------------------------------------------------------------------


def emit_select_zero(e: Emitter, let: Let, op: SelectZero) -> Sequence[Held]:
    """The positions of the zeros of a mask, one for each lane."""
    zeros = e.code.let(f"xor i64 {e.uniform(op.mask)}, -1")
    return (Held(VARYING, e.isa.select_zeros(e.code, e.width, zeros)),)


# Squares of elements in memory, a row for each lane: LoadTile transposes them in registers, and
# ReduceRows combines each row as it is transposed.
#
#     rows       a0 a1 a2 a3      distance 2     a0 a1 b.. ->      distance 1    a0 b0 c0 d0
#     of memory  b0 b1 b2 b3      swaps halves                     swaps         a1 b1 c1 d1
#                ..               between rows                     elements      ..
#
# log2 W stages of W shuffles each, whatever the element. Rows that are combined become fewer: a
# stage takes two of them, and leaves half of each combined with its other half, side by side.
#
#     a0 a1 a2 a3   b0 ..     distance 2    a0 + a2   a1 + a3   b0 + b2   b1 + b3


TILES_AHEAD = 2
"""How many tiles ahead rows are prefetched: about the latency of memory, in tiles."""


def emit_tile(e: Emitter, let: Let, op: LoadTile) -> Sequence[Held]:
    """One vector for each column of the tile."""
    dtype, buffer = dtype_in(op.buffer), e.held[op.buffer].text
    kept, kind = stored(dtype), vec(stored(dtype), e.width)
    rows, at = [], e.uniform(op.base)
    for row in range(e.width):
        if row:
            at = e.code.let(f"add i64 {at}, {e.uniform(op.stride)}")
        place = element(e, buffer, kept, at)
        rows.append(e.code.let(f"load {kind}, ptr {place}, align {kept.bytes}"))
        if e.isa.read_ahead:
            size = e.width * kept.bytes  # no CPU's prefetcher follows as many streams as rows
            prefetch(e, place, 1, "0", TILES_AHEAD * size, size)
    columns = _transposed(e, kind, rows)
    return [Held(VARYING, from_memory(e, dtype, e.width, column)) for column in columns]


def emit_reduce_rows(e: Emitter, let: Let, op: ReduceRows) -> Sequence[Held]:
    """Each row combined in the order in which `reduce_lanes` combines halves."""
    dtypes = [dtype_in(buffer) for buffer in op.buffers]
    base = e.uniform(op.base)
    rows = [[_row(e, buffer, base, row) for buffer in op.buffers] for row in range(e.width)]
    distance = e.width // 2
    while distance:
        low, high = _exchanges(e.width, distance)
        joined = []
        for a, b in zip(rows[:distance], rows[distance:], strict=True):
            pairs = list(zip(dtypes, a, b, strict=True))
            first = [shuffle(e.code, vec(dtype, e.width), x, low, y) for dtype, x, y in pairs]
            second = [shuffle(e.code, vec(dtype, e.width), x, high, y) for dtype, x, y in pairs]
            joined.append(combine(e.at(e.width), op.fn, dtypes, first, second))
        rows, distance = joined, distance // 2
    return [Held(VARYING, text) for text in rows[0]]


def _row(e: Emitter, buffer: Var, base: str, row: int) -> str:
    """One row of a square, in registers."""
    dtype = dtype_in(buffer)
    kept, kind = stored(dtype), vec(stored(dtype), e.width)
    at = e.code.let(f"add i64 {base}, {row * e.width}")
    place = element(e, e.held[buffer].text, kept, at)
    loaded = e.code.let(f"load {kind}, ptr {place}, align {kept.bytes}")
    return from_memory(e, dtype, e.width, loaded)


def _exchanges(width: int, distance: int) -> tuple[list[int], list[int]]:
    """The lanes of two adjacent rows that meet at this distance: the lower, and the upper."""
    lanes = range(width)
    low = [j if not j & distance else width + j - distance for j in lanes]
    high = [j + distance if not j & distance else width + j for j in lanes]
    return low, high


def _transposed(e: Emitter, kind: str, rows: Sequence[str]) -> list[str]:
    """The transpose of a square of vectors."""
    rows, width, distance = [*rows], len(rows), len(rows) // 2
    while distance:
        low, high = _exchanges(width, distance)
        for row in (r for r in range(width) if not r & distance):
            a, b = rows[row], rows[row + distance]
            rows[row] = shuffle(e.code, kind, a, low, b)
            rows[row + distance] = shuffle(e.code, kind, a, high, b)
        distance //= 2
    return rows


# StoreInTurn: the lanes of several vectors woven into one run of memory.
#
#     a0 a1 ..  b0 b1 ..  c0 c1 ..  d0 d1 ..      a with c, b with d: a0 c0 a1 c1 ..  b0 d0 b1 d1 ..
#                                                 these two:          a0 b0 c0 d0 a1 b1 ..
#
# Two shuffles for each vector of four. Values that are more than a register holds are transposed in
# squares: each lane then stores its values a register at a time. Where lanes are not adjacent or
# some do not run, each value is scattered separately.


def emit_in_turn(e: Emitter, let: Let, op: StoreInTurn) -> Sequence[Held]:
    """buffer[index * count + k] = values[k]"""
    dtype, buffer = dtype_in(op.buffer), e.held[op.buffer].text
    kept, index, count = stored(dtype), e.hold(op.index), len(op.values_)
    if index.shape is UNIFORM:
        first = e.code.let(f"mul i64 {index.text}, {count}")
        for k, value in enumerate(op.values_):
            place = e.code.let(f"add i64 {first}, {k}")
            store_scalar(e, buffer, dtype, place, uniform_value(e, value, dtype))
        return ()
    texts = [to_memory(e, dtype, e.width, e.vector(value)) for value in op.values_]
    if index.shape is not LINEAR or e.mask is not None:
        _scatter_each(e, buffer, kept, e.vector(op.index), texts)
        return ()
    first = e.code.let(f"mul i64 {e.lowest(index)}, {count}")
    at = element(e, buffer, kept, first)
    side = min(e.width, e.isa.register_bits // kept.bits)
    if count > side > 1:
        _store_squares(e, at, kept, texts, side, streaming=op.streaming)
        return ()
    store_lanes(e, at, kept, e.width * count, _woven(e, kept, texts), op.streaming)
    return ()


def _store_squares(
    e: Emitter, at: str, kept: DType, texts: Sequence[str], side: int, *, streaming: bool
) -> None:
    """The values of each lane stored `side` at a time; the last ones may be stored twice. Stores
    past the caches need whole lines: where a lane's values do not end with one, all go through the
    stack."""
    code, count, kind = e.code, len(texts), vec(kept, side)
    is_aligned = count % side == 0
    direct, hint = not streaming or is_aligned, ", !nontemporal !0"
    to = at if direct else code.alloca(f"[{e.width * count} x {kept.llvm}]")
    align = side * kept.bytes if streaming and is_aligned else kept.bytes
    for start in [*range(0, count - side, side), count - side]:
        for group in range(0, e.width, side):
            part = texts[start : start + side]
            if side < e.width:
                lanes = range(group, group + side)
                part = [shuffle(code, vec(kept, e.width), text, lanes) for text in part]
            for row, text in enumerate(_transposed(e, kind, part)):
                place = element(e, to, kept, str((group + row) * count + start))
                ending = hint if streaming and direct else ""
                code.line(f"store {kind} {text}, ptr {place}, align {align}{ending}")
    for start in () if direct else range(0, e.width * count, side):
        text = code.let(f"load {kind}, ptr {element(e, to, kept, str(start))}, align {kept.bytes}")
        place = element(e, at, kept, str(start))
        code.line(f"store {kind} {text}, ptr {place}, align {side * kept.bytes}{hint}")
    code.has_streamed = code.has_streamed or streaming


def _scatter_each(e: Emitter, buffer: str, kept: DType, places: str, texts: Sequence[str]) -> None:
    """Each vector scattered separately."""
    kind = vec(i64, e.width)
    first = e.code.let(f"mul {kind} {places}, splat (i64 {len(texts)})")
    for k, text in enumerate(texts):
        place = e.code.let(f"add {kind} {first}, splat (i64 {k})")
        scatter(e, buffer, kept, Held(VARYING, place), text)


def _woven(e: Emitter, kept: DType, texts: Sequence[str]) -> str:
    """Lane 0 of each vector, then lane 1 of each, and so on."""
    if len(texts) == 1:
        return texts[0]
    if len(texts) % 2 == 0:
        parts = [_woven(e, kept, texts[half::2]) for half in (0, 1)]
        width = len(texts) // 2 * e.width
        order = [lane + half * width for lane in range(width) for half in (0, 1)]
        return shuffle(e.code, vec(kept, width), parts[0], order, parts[1])
    size = 1 << (len(texts) - 1).bit_length()
    padded, width = [*texts, *["poison"] * (size - len(texts))], e.width
    while len(padded) > 1:
        pairs = zip(padded[::2], padded[1::2], strict=True)
        padded = [shuffle(e.code, vec(kept, width), a, range(2 * width), b) for a, b in pairs]
        width *= 2
    order = [k * e.width + lane for lane in range(e.width) for k in range(len(texts))]
    return shuffle(e.code, vec(kept, width), padded[0], order)


# -- load_word ------------------------------------------------------------------------------------
#
#     first = max(min(index, extent - W), 0)    W elements from there on are inside of the array
#     found = load word, first                  in lanes a gather of words
#     steps = index - first                     not 0 at the ends: there the word is shifted
#
# An array that is shorter than a word is copied into one first. A word that is whole is loaded.


def emit_load_word(e: Emitter, let: Let, op: LoadWord) -> Sequence[Held]:
    """buffer[index], buffer[index + 1], .. as one number"""
    kept, extent, index = stored(dtype_in(op.buffer)), e.uniform(op.extent), e.hold(op.index)
    e = e.at(1) if index.shape is UNIFORM else e.at(e.width)
    if op.whole:
        found = _word_at(e, e.held[op.buffer].text, kept, op.dtype, e.lanes(index, i64))
        return (Held(index.shape if e.width == 1 else VARYING, found),)
    start = _at_least_a_word(e.code, e.held[op.buffer].text, kept, extent, op)
    code, kind, width = e.code, vec(i64, e.width), e.width
    at = e.lanes(index, i64)
    last = e.lanes(Held(UNIFORM, _apply(e, "sub", "i64", extent, str(op.elements))), i64)
    zero = constant(i64, width, 0)
    first = _call(e, "smax", _call(e, "smin", at, last), zero)
    found = _word_at(e, start, kept, op.dtype, first)
    if op.dtype is not u64:
        found = code.let(f"zext {vec(op.dtype, width)} {found} to {kind}")
    after = _apply(e, "sub", kind, at, first)
    before = _apply(e, "sub", kind, first, at)
    later = _shifted(e, "lshr", found, after, op, kept)
    earlier = _shifted(e, "shl", found, before, op, kept)
    found = _apply(e, "or", kind, later, earlier)
    if op.dtype is not u64:
        found = code.let(f"trunc {kind} {found} to {vec(op.dtype, width)}")
    return (Held(index.shape if width == 1 else VARYING, found),)


def _apply(e: Emitter, opcode: str, kind: str, a: str, b: str) -> str:
    return e.code.let(f"{opcode} {kind} {a}, {b}")


def _call(e: Emitter, name: str, a: str, b: str) -> str:
    """A function of two integers."""
    kind = vec(i64, e.width)
    symbol = f"@llvm.{name}.{suffix(i64, e.width)}"
    return e.code.call(kind, symbol, f"{kind} {a}", f"{kind} {b}")


def _shifted(e: Emitter, opcode: str, word: str, steps: str, op: LoadWord, kept: DType) -> str:
    """A word shifted by elements; 0 if the number is negative, or the word has no more."""
    kind, zero = vec(i64, e.width), constant(i64, e.width, 0)
    inside = _apply(e, "icmp ult", kind, steps, constant(i64, e.width, op.elements))
    bits = _apply(e, "mul", kind, steps, constant(i64, e.width, kept.bits))
    bits = _apply(e, "and", kind, bits, constant(i64, e.width, 63))
    moved = _apply(e, opcode, kind, word, bits)
    return e.code.let(f"select {vec(bool_, e.width)} {inside}, {kind} {moved}, {kind} {zero}")


def _word_at(e: Emitter, start: str, kept: DType, word: DType, first: str) -> str:
    """The words at these elements, wherever they begin."""
    if e.width > 1:
        places = gather_pointers(e, start, kept, first)
        return gathered(e, word, places, kept.bytes)
    at = e.code.let(f"getelementptr inbounds {kept.llvm}, ptr {start}, i64 {first}")
    return e.code.let(f"load {word.llvm}, ptr {at}, align {kept.bytes}")


def _at_least_a_word(code: Code, buffer: str, kept: DType, extent: str, op: LoadWord) -> str:
    """Where the elements are; of an array that is shorter than a word, where its copy is."""
    copy = code.alloca("i64", 8)
    is_short = code.let(f"icmp slt i64 {extent}, {op.elements}")
    short, done = code.names("short", "word")
    code.branch(is_short, short, done)
    code.label(short)
    copying = _copying(code, kept, op.elements)
    code.line(f"call void {copying}(ptr {copy}, ptr {buffer}, i64 {extent})")
    code.enter(done)
    return code.let(f"select i1 {is_short}, ptr {copy}, ptr {buffer}")


def _copying(code: Code, kept: DType, elements: int) -> str:
    """A function that copies fewer elements than a word has into one, the others of which are 0."""
    name = f"@fw.word.{elements}.{suffix(kept, 1)}"
    if not code.module.defines(name):
        inner = Code(code.module)
        inner.line("store i64 0, ptr %word, align 8")
        for k in range(elements - 1):
            copied, done = inner.names("copied", "done")
            inner.branch(inner.let(f"icmp sgt i64 %count, {k}"), copied, done)
            inner.label(copied)
            source, target = (
                inner.let(f"getelementptr {kept.llvm}, ptr {base}, i64 {k}")
                for base in ("%from", "%word")
            )
            value = inner.let(f"load {kept.llvm}, ptr {source}, align {kept.bytes}")
            inner.line(f"store {kept.llvm} {value}, ptr {target}, align {kept.bytes}")
            inner.enter(done)
        inner.line("ret void")
        head = f"define internal void {name}(ptr %word, ptr %from, i64 %count) noinline nounwind {{"
        code.module.define(name, head, inner)
    return name


HANDLERS: Handlers = {
    SelectZero: emit_select_zero,
    LoadNear: emit_near,
    LoadWord: emit_load_word,
    LoadTile: emit_tile,
    ReduceRows: emit_reduce_rows,
    StoreInTurn: emit_in_turn,
}
