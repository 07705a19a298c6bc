"""Collectives of a warp in C, in any language that can exchange values between lanes.

    reduce_lanes (add) x     for d = 1, 2, 4 ..: x = x + (x of lane + d); then all take lane 0's
    scan_lanes (add) x       for d = 1, 2, 4 ..: where lane >= d: x = (x of lane - d) + x
      where s starts           .. where lane - d >= the last start at or below lane
    ballot p                 a bit for each lane
    count_lanes p            the number of bits of ballot(p)
    match_lanes n bits       for each bit b of n: the lanes of ballot(b), or the others
    store_compact b at p x   where p: b[at + bits of ballot(p) below this lane] = x

Neighbours are combined in lane order, so operators need not commute.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i32
from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.dialect import scalar_type
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.memory import from_memory, to_memory
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import warp_ops as k
from flatweave.kernel_ir.syntax import StoreCompact
from flatweave.kernel_ir.warp_ops import ShuffleLanes
from flatweave.terms.syntax import Atom, Lambda, Let


def emit_reduce(e: CEmitter, let: Let, op: k.ReduceLanes) -> None:
    """All lanes' values combined; every lane has the result."""
    if e.dialect.spread is not None:
        return _fold_spread(e, let, op.fn, op.args, "", f"{e.width - 1}")
    values, dtypes = _variables(e, op.args)
    e.declare(let.vars)
    e.open("{")
    state = _copies(e, values, dtypes)
    e.open(f"for (int fw_d = 1; fw_d < {e.width}; fw_d <<= 1) {{")
    source = f"fw_lane + fw_d < {e.width} ? fw_lane + fw_d : fw_lane"
    other = _exchanged(e, state, dtypes, source)
    e.assign(state, e.run(op.fn, [*state, *other]), dtypes)
    e.close()
    for var, value in zip(let.vars, _exchanged(e, state, dtypes, "0"), strict=True):
        e.line(f"{e.names.of(var)} = {value};")
    e.close()


def emit_scan(e: CEmitter, let: Let, op: k.ScanLanes) -> None:
    """Each lane gets the values of the lanes up to it combined, from the last start on."""
    first = _last_start(e, op.starts[0]) if op.starts else ""
    if e.dialect.spread is not None:
        return _fold_spread(e, let, op.fn, op.args, first, "fw_lane")
    values, dtypes = _variables(e, op.args)
    for var, value in zip(let.vars, values, strict=True):
        e.line(f"{scalar_type(var.type).c} {e.names.of(var)} = {value};")
    state = [e.names.of(var) for var in let.vars]
    e.open(f"for (int fw_d = 1; fw_d < {e.width}; fw_d <<= 1) {{")
    other = _exchanged(e, state, dtypes, "fw_lane >= fw_d ? fw_lane - fw_d : fw_lane")
    combined = _copied_results(e, op.fn, [*other, *state])
    e.open(f"if (fw_lane - fw_d >= {first}) {{" if first else "if (fw_lane >= fw_d) {")
    e.assign(state, combined, dtypes)
    e.close()
    e.close()


def _last_start(e: CEmitter, flag: Atom) -> str:
    """The last lane up to this one where a flag holds, else lane 0."""
    up_to = f"({e.dialect.ballot(e, e.atom(flag))} & (0xffffffffU >> (31 - fw_lane)))"
    return e.temporary(i32, e.dialect.highest.format(f"({up_to} | 1U)"), "fw_first")


def _fold_spread(
    e: CEmitter, let: Let, fn: Lambda, args: Sequence[Atom], first: str, last: str
) -> None:
    """Lanes `first` (or 0) to `last` combined one by one, out of shared memory that all wrote."""
    assert e.dialect.spread is not None
    values, dtypes = _variables(e, args)
    arrays = e.dialect.spread(e, list(zip(values, dtypes, strict=True)))
    for var, dtype, array in zip(let.vars, dtypes, arrays, strict=True):
        e.line(f"{dtype.c} {e.names.of(var)} = {from_memory(dtype, f'{array}[{first or 0}]')};")
    state = [e.names.of(var) for var in let.vars]
    second = f"{first} + 1" if first else "1"
    e.open(f"for (int fw_d = {second}; fw_d <= {last}; fw_d++) {{")
    other = [
        from_memory(dtype, f"{array}[fw_d]") for dtype, array in zip(dtypes, arrays, strict=True)
    ]
    e.assign(state, e.run(fn, [*state, *other]), dtypes)
    e.close()
    e.line(e.dialect.barrier)


def emit_shift(e: CEmitter, let: Let, op: k.ShiftLanes) -> None:
    """Each lane gets the value of the lane before it, the first one `fill`."""
    values, dtypes = _variables(e, op.args)
    other = _exchanged(e, values, dtypes, "fw_lane > 0 ? fw_lane - 1 : 0")
    for var, fill, value in zip(let.vars, op.fill, other, strict=True):
        e.define(var, f"fw_lane > 0 ? {value} : {e.atom(fill)}")


def emit_last(e: CEmitter, let: Let, op: k.LastLane) -> None:
    """Every lane gets the value of the last one."""
    values, dtypes = _variables(e, op.args)
    other = _exchanged(e, values, dtypes, str(e.width - 1))
    for var, value in zip(let.vars, other, strict=True):
        e.define(var, value)


def emit_shuffle(e: CEmitter, let: Let, op: ShuffleLanes) -> None:
    """Each lane gets the value of a lane that it names."""
    values, dtypes = _variables(e, op.args)
    other = _exchanged(e, values, dtypes, f"(int){e.atom(op.source)}")
    for var, value in zip(let.vars, other, strict=True):
        e.define(var, value)


def emit_count(e: CEmitter, let: Let, op: k.CountLanes) -> None:
    """In how many lanes a flag holds."""
    bits = e.dialect.ballot(e, e.atom(op.flag))
    e.define(let.vars[0], e.dialect.popcount.format(bits))


def emit_ballot(e: CEmitter, let: Let, op: k.Ballot) -> None:
    """The lanes where a flag holds."""
    e.define(let.vars[0], e.dialect.ballot(e, e.atom(op.flag)))


def emit_in_set(e: CEmitter, let: Let, op: k.InSet) -> None:
    """Whether a set holds this lane."""
    e.define(let.vars[0], f"(({e.atom(op.lanes)} >> fw_lane) & 1) != 0")


def emit_match(e: CEmitter, let: Let, op: k.MatchLanes) -> None:
    """The lanes that hold the same number."""
    if not e.dialect.match:
        raise CompilerBug(f"lanes are not matched in {e.dialect.name}.", where=let.where)
    e.helpers.setdefault(e.dialect.match)
    e.define(let.vars[0], f"fw_match({e.atom(op.number)}, {op.bits})")


SELECT_ZERO = """\
FW_FN int64_t fw_select_zero(uint64_t mask, int lane) {
    int place = 0;
    for (int bits = 32; bits > 0; bits >>= 1) {
        const uint64_t zeros = (~mask >> place) & (((uint64_t)1 << bits) - 1);
        const int found = (int)FW_POPCOUNT(zeros);
        if (lane >= found) { lane -= found; place += bits; }
    }
    return place;
}
"""


def emit_select_zero(e: CEmitter, let: Let, op: k.SelectZero) -> None:
    """The position of the n-th zero in lane n."""
    e.helpers.setdefault(SELECT_ZERO)
    e.define(let.vars[0], f"fw_select_zero({e.atom(op.mask)}, fw_lane)")


def emit_compact(e: CEmitter, let: Let, op: StoreCompact) -> None:
    """The selected lanes write to consecutive positions; nothing else is written."""
    keep = e.atom(op.keep)
    bits = e.dialect.ballot(e, keep)
    e.open(f"if ({keep}) {{")
    rank = e.dialect.popcount.format(f"({bits} & ((1U << fw_lane) - 1U))")
    place = e.names.fresh("fw_place")
    e.line(f"const {'int64_t' if e.narrowed.fits is None else 'int32_t'} {place} ="
           f" {e.index(op.base)} + {rank};")
    for buffer, value in zip(op.buffers, op.values_, strict=True):
        text = to_memory(dtype_in(buffer), e.atom(value))
        e.line(f"{e.names.of(buffer)}[{place}] = {text};")
    e.close()


def _variables(e: CEmitter, args: Sequence[Atom]) -> tuple[list[str], list[DType]]:
    return [e.atom(arg) for arg in args], [scalar_type(arg.type) for arg in args]


def _copies(e: CEmitter, values: Sequence[str], dtypes: Sequence[DType]) -> list[str]:
    return [e.temporary(dtype, value) for value, dtype in zip(values, dtypes, strict=True)]


def _exchanged(
    e: CEmitter, values: Sequence[str], dtypes: Sequence[DType], source: str
) -> list[str]:
    return e.dialect.exchange(e, list(zip(values, dtypes, strict=True)), source)


def _copied_results(e: CEmitter, fn: Lambda, args: Sequence[str]) -> list[str]:
    """A function's results, copied to separate variables."""
    results = e.run(fn, args)
    dtypes = [scalar_type(type_) for type_ in fn.result_types()]
    return _copies(e, results, dtypes)


HANDLERS: Handlers = {
    k.ReduceLanes: emit_reduce,
    k.ScanLanes: emit_scan,
    k.ShiftLanes: emit_shift,
    k.LastLane: emit_last,
    ShuffleLanes: emit_shuffle,
    k.CountLanes: emit_count,
    k.Ballot: emit_ballot,
    k.InSet: emit_in_set,
    k.MatchLanes: emit_match,
    k.SelectZero: emit_select_zero,
    StoreCompact: emit_compact,
}
