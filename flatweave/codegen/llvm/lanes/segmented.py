"""Segmented scans over lanes, and what reads them, in blocked layout.

In blocked layout a lane of one register owns a run of neighbours, one element in each register:

    lane order, R = 4        x0 x1 x2 x3 | x4 x5 x6 x7 | ..
    blocked                  t0 = x0 x4 ..   t1 = x1 x5 ..   t2 = x2 x6 ..   t3 = x3 x7 ..
    scan of each run         t1 = f t0 t1;   t2 = f t1 t2;   t3 = f t2 t3
    scan of the runs         s = scan of t3;  p = s moved up by a lane, round to the first
    carried into the runs    t0 = f p t0;    t1 = f p t1;    t2 = f p t2;    t3 = s

Each step is masked: it leaves out lanes that have the start of a segment in between. How such sets
of lanes are kept is the instruction set's affair (isa/lane_tables.py). With R registers of L lanes
the operator runs 2 R + log L - 2 times on a register; doubling distances over all lanes would run
it nearly R log (R L) times.

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
from flatweave.codegen.llvm.text.module import shuffle, vec
from flatweave.kernel_ir.warp_ops import LastLane, ScanLanes, ShiftLanes
from flatweave.terms.syntax import Lambda, Let

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


HANDLERS: Handlers = {
    ScanLanes: emit_scan,
    ShiftLanes: emit_shift,
    LastLane: emit_last,
}
