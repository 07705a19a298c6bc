"""Segmented scans over lanes, and what reads them, in blocked layout.

In blocked layout a lane of one register owns a run of neighbours, one element in each register:

    lane order, R = 4        x0 x1 x2 x3 | x4 x5 x6 x7 | ..
    blocked                  t0 = x0 x4 ..   t1 = x1 x5 ..   t2 = x2 x6 ..   t3 = x3 x7 ..
    scan of each run         t1 = f t0 t1;   t2 = f t1 t2;   t3 = f t2 t3
    scan of the runs         s = scan of t3;  p = s moved up by a lane
    carried into the runs    t0 = f p t0;    t1 = f p t1;    t2 = f p t2;    t3 = s

Each step is masked: it leaves out lanes that have the start of a segment in between. The masks are
computed as words in general registers. With R registers of L lanes the operator runs
2 R + log L - 2 times on a register; doubling distances over all lanes would run it nearly
R log (R L) times.

`shift_lanes`, `last_lane` and `store_compact` read the blocked registers; what else reads the
result gets it in lane order.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.body.shapes import UNIFORM, VARYING
from flatweave.codegen.llvm.lanes import collectives
from flatweave.codegen.llvm.lanes.collectives import combine, shifted
from flatweave.codegen.llvm.text.module import suffix, vec
from flatweave.codegen.llvm.text.vectors import mask_of_word
from flatweave.kernel_ir.collectives import LastLane, ScanLanes, ShiftLanes
from flatweave.terms.syntax import Atom, Lambda, Let

Columns = list[str]
"""The text of each component of an element."""


def emit_scan(e: Emitter, let: Let) -> Sequence[Held]:
    """scan_lanes; in blocked layout where it is segmented and takes several registers."""
    op: ScanLanes = let.op  # type: ignore[assignment]
    dtypes = [scalar_type(arg.type) for arg in op.args]
    registers = _registers(e, dtypes)
    if not op.starts or registers == 1:
        return collectives.emit_scan(e, let)
    word = e.mask_bits(e.vector(op.starts[0]))
    if e.width < i64.bits:
        word = e.code.let(f"zext i{e.width} {word} to i64")
    scan = _Scan(e.at(e.width // registers), op.fn, dtypes, op.neutral)
    columns = scan.blocked([e.vector(arg) for arg in op.args], word, registers)
    return [_held(e, dtype, places) for dtype, places in zip(dtypes, columns, strict=True)]


def emit_shift(e: Emitter, let: Let) -> Sequence[Held]:
    """shift_lanes; in blocked layout the last register moves up a lane and to the front."""
    op: ShiftLanes = let.op  # type: ignore[assignment]
    held = [e.hold(arg) for arg in op.args]
    if not all(each.blocked for each in held):
        return collectives.emit_shift(e, let)
    moved = []
    for atom, fill, each in zip(op.args, op.fill, held, strict=True):
        dtype, inner = scalar_type(atom.type), e.at(e.width // len(each.blocked))
        first = shifted(inner, dtype, each.blocked[-1], inner.vector(fill), 1)
        moved.append(_held(e, dtype, [first, *each.blocked[:-1]]))
    return moved


def emit_last(e: Emitter, let: Let) -> Sequence[Held]:
    """last_lane; in blocked layout the last lane of the last register."""
    op: LastLane = let.op  # type: ignore[assignment]
    held = [e.hold(arg) for arg in op.args]
    if not all(each.blocked for each in held):
        return collectives.emit_last(e, let)
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
    """A value in both layouts: LLVM drops the interleaving where nobody reads lane order."""
    return Held(VARYING, in_lane_order(e, dtype, places), blocked=tuple(places))


def in_lane_order(e: Emitter, dtype: DType, places: Sequence[str]) -> str:
    """Blocked registers interleaved to lane order."""
    if len(places) == 1:
        return places[0]
    even, odd = (in_lane_order(e.at(e.width // 2), dtype, places[k::2]) for k in (0, 1))
    whole, half = vec(dtype, e.width), vec(dtype, e.width // 2)
    name = f"@llvm.vector.interleave2.{suffix(dtype, e.width)}"
    e.code.declare(f"{whole} {name}({half}, {half})")
    return e.code.let(f"call {whole} {name}({half} {even}, {half} {odd})")


def _blocked(e: Emitter, dtype: DType, text: str, registers: int) -> Columns:
    """Register k of the blocked layout has lanes k, k + R, k + 2 R ..: deinterleave, and again."""
    if registers == 1:
        return [text]
    half = vec(dtype, e.width // 2)
    kind, name = vec(dtype, e.width), f"@llvm.vector.deinterleave2.{suffix(dtype, e.width)}"
    e.code.declare(f"{{ {half}, {half} }} {name}({kind})")
    both = e.code.let(f"call {{ {half}, {half} }} {name}({kind} {text})")
    inner, halves = e.at(e.width // 2), []
    for k in (0, 1):
        part = e.code.let(f"extractvalue {{ {half}, {half} }} {both}, {k}")
        halves.append(_blocked(inner, dtype, part, registers // 2))
    return [place for pair in zip(*halves, strict=True) for place in pair]


class _Scan:
    """One segmented scan; `e` is the emitter of a single register."""

    def __init__(
        self, e: Emitter, fn: Lambda, dtypes: Sequence[DType], neutral: Sequence[Atom]
    ) -> None:
        self.e = e
        self.fn = fn
        self.dtypes = dtypes
        self.neutral = [e.vector(atom) for atom in neutral]

    def blocked(self, xs: Columns, starts: str, length: int) -> list[Columns]:
        """Prefixes from the last start on, blocked; `starts` has a bit for each element."""
        whole = self.e.at(self.e.width * length)
        pairs = zip(self.dtypes, xs, strict=True)
        blocked = [_blocked(whole, dtype, x, length) for dtype, x in pairs]
        places = [list(place) for place in zip(*blocked, strict=True)]
        begun = [self.e.isa.every_bit(self.e.code, starts, k, length) for k in range(length)]
        for k in range(1, length):
            places[k] = self._join(places[k - 1], places[k], begun[k])
            begun[k] = self.e.code.let(f"or i64 {begun[k - 1]}, {begun[k]}")
        last = self._scan_of_runs(places[-1], begun[-1])
        before = self._below(last, 1)
        for k in range(length - 1):
            apart = self.e.code.let(f"or i64 {begun[k]}, 1")
            places[k] = self._join(before, places[k], apart)
        return [list(column) for column in zip(*places[:-1], last, strict=True)]

    def _scan_of_runs(self, xs: Columns, starts: str) -> Columns:
        """By doubling distances; `near` is where a start lies within reach, or the first lane."""
        code, distance = self.e.code, 1
        near = code.let(f"or i64 {starts}, 1")
        while distance < self.e.width:
            xs = self._join(self._below(xs, distance), xs, near)
            near = code.let(f"or i64 {near}, {code.let(f'shl i64 {near}, {distance}')}")
            distance *= 2
        return xs

    def _join(self, first: Columns, second: Columns, apart: str) -> Columns:
        """fn first second; `second` alone in the lanes of the word `apart`."""
        e, word = self.e, self.e.code.let(f"xor i64 {apart}, -1")
        lanes = mask_of_word(e.code, e.width, word)
        both = combine(e, self.fn, self.dtypes, first, second)
        trios = zip(self.dtypes, both, second, strict=True)
        return [e.select(lanes, dtype, joined, alone) for dtype, joined, alone in trios]

    def _below(self, xs: Columns, distance: int) -> Columns:
        """The values so many lanes below."""
        trios = zip(self.dtypes, xs, self.neutral, strict=True)
        return [shifted(self.e, dtype, x, fill, distance) for dtype, x, fill in trios]


HANDLERS: Handlers = {
    ScanLanes: emit_scan,
    ShiftLanes: emit_shift,
    LastLane: emit_last,
}
