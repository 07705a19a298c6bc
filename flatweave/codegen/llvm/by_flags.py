"""What lanes do by flags: kept values move together, scans begin again in each segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, bool_, i64, stored, u8
from flatweave.codegen.llvm import collectives
from flatweave.codegen.llvm.collectives import combine, count_bits, shifted
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, Loop, scalar_type
from flatweave.codegen.llvm.memory import element, store_scalar, to_memory
from flatweave.codegen.llvm.module import mask_of_word, shuffle, vec, word_of_mask
from flatweave.codegen.llvm.shapes import UNIFORM, VARYING
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.syntax import StoreCompact
from flatweave.kernel_ir.warp_ops import LastLane, ScanLanes, ShiftLanes
from flatweave.terms.syntax import Lambda, Let

# -- compact --------------------------------------------------------------------------------------
#
# Compaction: the values of lanes that are kept are stored next to each other.


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
# A segmented scan gives values in blocked layout, which are looked up instead (llvm/by_flags.py).


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


# -- segmented ------------------------------------------------------------------------------------
#
# Segmented scans over lanes, and what reads them, in blocked layout.
#
# In blocked layout a lane of one register owns a run of neighbours, one element in each register:
#
#     lane order, R = 4        x0 x1 x2 x3 | x4 x5 x6 x7 | ..
#     blocked                  t0 = x0 x4 ..   t1 = x1 x5 ..   t2 = x2 x6 ..   t3 = x3 x7 ..
#     scan of each run         t1 = f t0 t1;   t2 = f t1 t2;   t3 = f t2 t3
#     scan of the runs         s = scan of t3;  p = s moved up by a lane, round to the first
#     carried into the runs    t0 = f p t0;    t1 = f p t1;    t2 = f p t2;    t3 = s
#
# Each step is masked: it leaves out lanes that have the start of a segment in between. How such
# sets of lanes are kept is the instruction set's affair (isa/shared.py). With R registers of L
# lanes the operator runs 2 R + log L - 2 times on a register; doubling distances over all lanes
# would run it nearly R log (R L) times.
#
# `shift_lanes`, `last_lane` and `store_compact` read the blocked registers; what else reads the
# result gets it in lane order.


Columns = list[str]
"""The text of each component of an element."""


def emit_scan(e: Emitter, let: Let, op: ScanLanes) -> Sequence[Held]:
    """scan_lanes; in blocked layout where it is segmented and takes several registers."""
    dtypes = [scalar_type(arg.type) for arg in op.args]
    registers = _registers(e, dtypes)
    if not op.starts or registers == 1:
        return collectives.emit_scan(e, let, op)
    word = e.mask_bits(e.vector(op.starts[0]))
    if e.width < i64.bits:
        word = e.code.let(f"zext i{e.width} {word} to i64")
    scan = _Scan(e.at(e.width // registers), op.fn, dtypes)
    columns = scan.blocked([e.vector(arg) for arg in op.args], word, registers)
    return [_held(e, dtype, places) for dtype, places in zip(dtypes, columns, strict=True)]


def emit_shift(e: Emitter, let: Let, op: ShiftLanes) -> Sequence[Held]:
    """shift_lanes; in blocked layout the last register moves up a lane and to the front."""
    held = [e.hold(arg) for arg in op.args]
    if not all(each.blocked for each in held):
        return collectives.emit_shift(e, let, op)
    moved = []
    for atom, fill, each in zip(op.args, op.fill, held, strict=True):
        dtype, inner = scalar_type(atom.type), e.at(e.width // len(each.blocked))
        first = shifted(inner, dtype, each.blocked[-1], inner.vector(fill), 1)
        moved.append(_held(e, dtype, [first, *each.blocked[:-1]]))
    return moved


def emit_last(e: Emitter, let: Let, op: LastLane) -> Sequence[Held]:
    """last_lane; in blocked layout the last lane of the last register."""
    held = [e.hold(arg) for arg in op.args]
    if not all(each.blocked for each in held):
        return collectives.emit_last(e, let, op)
    last = []
    for atom, each in zip(op.args, held, strict=True):
        lanes = e.width // len(each.blocked)
        kind = vec(scalar_type(atom.type), lanes)
        text = e.code.let(f"extractelement {kind} {each.blocked[-1]}, i64 {lanes - 1}")
        last.append(Held(UNIFORM, text))
    return last


def _registers(e: Emitter, dtypes: Sequence[DType]) -> int:
    """How many registers the widest component is spread over; 1 where that does not pay."""
    if bool_ in dtypes:
        return 1
    return e.isa.scan_registers(e.width, max(dtype.bits for dtype in dtypes))


def _held(e: Emitter, dtype: DType, places: Sequence[str]) -> Held:
    """A value in both layouts: LLVM drops the interleaving where lane order is unused."""
    text = e.isa.from_runs(e.code, dtype, e.width // len(places), places)
    return Held(VARYING, text, blocked=tuple(places))


class _Scan:
    """One segmented scan; `e` is the emitter of a single register."""

    def __init__(self, e: Emitter, fn: Lambda, dtypes: Sequence[DType]) -> None:
        self.e = e
        self.fn = fn
        self.dtypes = dtypes
        self.sets = e.isa.lane_sets(e.code, e.width, max(dtype.bits for dtype in dtypes))

    def blocked(self, xs: Columns, starts: str, length: int) -> list[Columns]:
        """Prefixes from the last start on, blocked; `starts` has a bit for each element."""
        e, pairs = self.e, zip(self.dtypes, xs, strict=True)
        blocked = [e.isa.to_runs(e.code, dtype, e.width, x, length) for dtype, x in pairs]
        places = [list(place) for place in zip(*blocked, strict=True)]
        begun = self.sets.of_runs(starts, length)
        for k in range(1, length):
            places[k] = self._join(places[k - 1], places[k], begun[k])
            begun[k] = self.sets.either(begun[k - 1], begun[k])
        last = self._scan_of_runs(places[-1], begun[-1])
        before = self._below(last, 1)
        for k in range(length - 1):
            places[k] = self._join(before, places[k], self.sets.with_first(begun[k]))
        return [list(column) for column in zip(*places[:-1], last, strict=True)]

    def _scan_of_runs(self, xs: Columns, starts: str) -> Columns:
        """By doubling distances; `near` is where a start lies within reach, or the first lane."""
        code, distance = self.e.code, 1
        near = code.let(f"or i64 {self.sets.word(starts)}, 1")
        while distance < self.e.width:
            xs = self._join(self._below(xs, distance), xs, self.sets.of_word(near))
            near = code.let(f"or i64 {near}, {code.let(f'shl i64 {near}, {distance}')}")
            distance *= 2
        return xs

    def _join(self, first: Columns, second: Columns, first_only: str) -> Columns:
        """fn first second; only `second` in the lanes of the set `first_only`."""
        e, lanes = self.e, self.sets.outside(first_only)
        both = combine(e, self.fn, self.dtypes, first, second)
        trios = zip(self.dtypes, both, second, strict=True)
        return [e.select(lanes, dtype, joined, alone) for dtype, joined, alone in trios]

    def _below(self, xs: Columns, distance: int) -> Columns:
        """The values `distance` lanes below; the lowest lanes wrap around and are unused."""
        lanes = [(lane - distance) % self.e.width for lane in range(self.e.width)]
        pairs = zip(self.dtypes, xs, strict=True)
        return [shuffle(self.e.code, vec(dtype, self.e.width), x, lanes) for dtype, x in pairs]


SEGMENTED_HANDLERS: Handlers = {
    ScanLanes: emit_scan,
    ShiftLanes: emit_shift,
    LastLane: emit_last,
}
