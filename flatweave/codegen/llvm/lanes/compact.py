"""Compaction: the values of lanes that are kept are stored next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, u8
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, Loop
from flatweave.codegen.llvm.lanes.collectives import count_bits
from flatweave.codegen.llvm.memory.access import element, store_scalar, stored, to_memory
from flatweave.codegen.llvm.text.module import mask_of_word, shuffle, vec, word_of_mask
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import StoreCompact
from flatweave.terms.syntax import Let

# Compaction out of blocked registers: indices of selected lanes are compressed, then looked up.
#
#     index    lane l of R registers of L lanes is in register l mod R, lane l div R: a byte says
#              (l mod R) L + l div R
#     kept     the indices of the selected lanes, in order: one compress of bytes
#     step     the next L indices pick L values out of all registers: a permute for each two
#              registers, then selects
#
# It takes one iteration for each L selected lanes, usually one; values stay out of lane order.


class Blocked(NamedTuple):
    """A buffer, the dtype of its elements in memory, and values in blocked layout."""

    buffer: str
    dtype: DType
    registers: tuple[str, ...]


def store_looked_up(e: Emitter, targets: Sequence[Blocked], base: str, keep: str) -> None:
    """Write the lanes kept from `base` on; `e` is the emitter of all lanes."""
    code, registers = e.code, len(targets[0].registers)
    inner = e.at(e.width // registers)
    count = count_bits(e, e.width, keep)
    kept = code.alloca(vec(u8, e.width))
    code.line(f"store {vec(u8, e.width)} {_places(e, registers, keep)}, ptr {kept}, align 64")
    loop = Loop(code, "at", ("i64", "0"))
    (at,) = loop.names
    there = code.let(f"load {vec(u8, inner.width)}, ptr {element(e, kept, u8, at)}, align 1")
    for target in targets:
        value = e.isa.look_up(code, target.dtype, inner.width, target.registers, there)
        place = element(e, target.buffer, target.dtype, code.let(f"add i64 {base}, {at}"))
        kind = vec(target.dtype, inner.width)
        code.line(f"store {kind} {value}, ptr {place}, align {target.dtype.bytes}")
    following = code.let(f"add i64 {at}, {inner.width}")
    loop.again(following, until=code.let(f"icmp sge i64 {following}, {count}"))


def _places(e: Emitter, registers: int, keep: str) -> str:
    """Where the values of the lanes kept are among the registers, in order."""
    lanes = e.width // registers
    numbers = [lane % registers * lanes + lane // registers for lane in range(e.width)]
    listed = f"<{', '.join(f'i8 {number}' for number in numbers)}>"
    return e.isa.compress(e.code, u8, e.width, listed, keep)


# StoreCompact: the values of the lanes kept, side by side in memory, none at `limit` or beyond.
#
#     base + W <= limit    register by register: compress it, store all of it, advance by the
#                          popcount of its mask; the next store overwrites what was not kept.
#                          Without a compress: store each lane, advance by its flag
#     near the limit       store the lanes kept, and no others
#
# Where that takes many stores, as for indices of bytes, steps without a selected lane skip them.
#
# A segmented scan gives values in blocked layout, which are looked up instead (lanes/compact.py).


class _Stream(NamedTuple):
    """A buffer, the dtype of its elements in memory, and values in lane order or blocked."""

    buffer: str
    kept: DType
    value: str
    blocked: tuple[str, ...]


def emit_compact(e: Emitter, let: Let, op: StoreCompact) -> Sequence[Held]:
    """Write the values of the selected lanes to consecutive positions from `base`."""
    base, limit = e.uniform(op.base), e.uniform(op.limit)
    streams = []
    for var, atom in zip(op.buffers, op.values_, strict=True):
        dtype = dtype_in(var)
        value = to_memory(e, dtype, e.width, e.vector(atom))
        blocked = e.hold(atom).blocked
        streams.append(_Stream(e.held[var].text, stored(dtype), value, blocked))
    code = e.code
    keep = e.masked(e.vector(op.keep)) if e.width > 1 else ""
    word = word_of_mask(code, e.width, keep) if keep else ""
    end = code.let(f"add i64 {base}, {e.width}")
    far, near, done = code.names("far", "near", "done")
    if keep and _stores_of(e, streams) > 4:  # else a branch that is predicted wrong costs more
        (some,) = code.names("some")
        code.branch(code.let(f"icmp ne i64 {word}, 0"), some, done)
        code.label(some)
    code.branch(code.let(f"icmp sle i64 {end}, {limit}"), far, near if keep else done)
    code.label(far)
    if e.isa.looks_up() and all(stream.blocked for stream in streams):
        found = [Blocked(stream.buffer, stream.kept, stream.blocked) for stream in streams]
        store_looked_up(e, found, base, keep)
    else:
        for stream in streams:
            _store_all(e, stream, base, keep, word)
    code.jump(done)
    if keep:
        code.label(near)
        _store_kept(e, streams, base, word)
        code.jump(done)
    code.label(done)
    return ()


def _stores_of(e: Emitter, streams: Sequence[_Stream]) -> int:
    """How many stores write all lanes."""
    each = [e.isa.compress_lanes(stream.kept) or 1 for stream in streams]
    return sum(-(-e.width // lanes) for lanes in each)


def _store_all(e: Emitter, stream: _Stream, base: str, keep: str, word: str) -> None:
    """Store all lanes, the selected ones first."""
    if e.width == 1:
        store_scalar(e, stream.buffer, stream.kept, base, stream.value)
    elif e.isa.compress_lanes(stream.kept):
        _compress(e, stream, base, keep, word)
    else:
        _store_each(e, stream, base, keep)


def _store_kept(e: Emitter, streams: Sequence[_Stream], base: str, word: str) -> None:
    """Store only the selected lanes, in sequence."""
    code = e.code
    places = [code.alloca(vec(stream.kept, e.width)) for stream in streams]
    for stream, place in zip(streams, places, strict=True):
        code.line(f"store {vec(stream.kept, e.width)} {stream.value}, ptr {place}, align 64")
    loop = Loop(code, "left", ("i64", word), ("i64", base))
    left, at = loop.names
    loop.goes_on(code.let(f"icmp ne i64 {left}, 0"))
    lane = code.call("i64", "@llvm.cttz.i64", f"i64 {left}", "i1 true")
    for stream, place in zip(streams, places, strict=True):
        kept = stream.kept
        source = element(e, place, kept, lane)
        x = code.let(f"load {kept.llvm}, ptr {source}, align {kept.bytes}")
        store_scalar(e, stream.buffer, kept, at, x)
    rest = code.let(f"and i64 {left}, {code.let(f'sub i64 {left}, 1')}")
    loop.again(rest, code.let(f"add i64 {at}, 1"))


def _store_each(e: Emitter, stream: _Stream, base: str, keep: str) -> None:
    """Lane by lane, without branches."""
    code, kept, value, at = e.code, stream.kept, stream.value, base
    kind = vec(kept, e.width)
    for lane in range(e.width):
        x = code.let(f"extractelement {kind} {value}, i64 {lane}")
        store_scalar(e, stream.buffer, kept, at, x)
        flag = code.let(f"extractelement {e.mask_type} {keep}, i64 {lane}")
        at = code.let(f"add i64 {at}, {code.let(f'zext i1 {flag} to i64')}")


def _compress(e: Emitter, stream: _Stream, base: str, keep: str, word: str) -> None:
    """Register by register."""
    kept, value = stream.kept, stream.value
    lanes = min(e.width, e.isa.compress_lanes(kept))
    code, at = e.code, base
    for start in range(0, e.width, lanes):
        piece = _piece(e, vec(kept, e.width), value, start, lanes)
        mask = keep if lanes == e.width else _flags(e, word, start, lanes)
        packed = e.isa.compress(code, kept, lanes, piece, mask)
        place = element(e, stream.buffer, kept, at)
        code.line(f"store {vec(kept, lanes)} {packed}, ptr {place}, align {kept.bytes}")
        if start + lanes < e.width:
            at = code.let(f"add i64 {at}, {count_bits(e, lanes, mask)}")


def _piece(e: Emitter, kind: str, text: str, start: int, lanes: int) -> str:
    """Some of the lanes, in order."""
    if lanes == e.width:
        return text
    return shuffle(e.code, kind, text, range(start, start + lanes))


def _flags(e: Emitter, word: str, start: int, lanes: int) -> str:
    """Some of the lanes' flags, cut out of a word in a general register."""
    if start:
        word = e.code.let(f"lshr i64 {word}, {start}")
    return mask_of_word(e.code, lanes, word)


HANDLERS: Handlers = {
    StoreCompact: emit_compact,
}
