"""A unit becomes one C text and a program of a device, whose host runs in Python; collectives of a
warp are written in any language that can exchange values between lanes.

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

from collections.abc import Callable, Iterator, Sequence, Set

from flatweave.base.config import config
from flatweave.base.dtypes import DType, i32, stored
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Plan
from flatweave.base.recording import PhaseTimer, shown
from flatweave.base.records import record
from flatweave.codegen.c.dialect import Dialect, scalar_type
from flatweave.codegen.c.emitter import HANDLERS as SCALAR_HANDLERS
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.host_steps import host_steps
from flatweave.codegen.c.index_width import WIDE, Narrowed, narrowed
from flatweave.codegen.c.memory import HANDLERS as MEMORY_HANDLERS
from flatweave.codegen.c.memory import from_memory, to_memory
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import warp_ops as k
from flatweave.kernel_ir.host import parts_of
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole
from flatweave.kernel_ir.syntax import (
    Acquire,
    Kernel,
    Lanes,
    Load,
    LoadNear,
    Report,
    StoreCompact,
    Unit,
)
from flatweave.kernel_ir.warp_ops import LoadTile, ShuffleLanes
from flatweave.runtime.devices.device import Device, Module
from flatweave.runtime.devices.launches import IN_64_BITS, Kernels, Launchable
from flatweave.runtime.devices.programs import HostProgram
from flatweave.runtime.lazy_import import check_wanted, on_deep_stack
from flatweave.scalar.function import C_PRELUDE
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, walk_lets


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


WARP_HANDLERS: Handlers = {
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


# A unit's kernels as one C text, and what a launch must know of each.
#
#     fw_status    int64_t[9]: the first error by index, a lock, gates   always first
#     fw_claim     uint32_t: the number of the next block                second, where blocks wait
#
# A kernel after one that reported an error does nothing: one of its gates is closed then. No gate
# is written while the kernel runs, so all its threads see the same.


HANDLERS: Handlers = {**SCALAR_HANDLERS, **MEMORY_HANDLERS, **WARP_HANDLERS}
READS = Load | LoadNear | LoadTile
WARP = 32
GATE = """\
if (fw_status[6] | fw_status[7]) {
    if (fw_thread == 0 && fw_status[0] == 0) fw_status[0] = -1;
    return;
}"""
"""-1 passes on to other calls that this one did nothing."""


@record(eq=True)
class Shape:
    """Threads of a block, whether its blocks are claimed in order, where it may report."""

    threads: int
    claims: bool
    reports: tuple[int, ...]


def shape_of(kernel: Kernel) -> Shape:
    """What a launch must know of a kernel."""
    ops = [let.op for let in walk_lets(kernel.body)]
    claims = any(isinstance(op, Acquire | AcquireLanes | LoadWhole) for op in ops)
    sites = dict.fromkeys(op.site for op in ops if isinstance(op, Report))
    return Shape(kernel.warps * WARP, claims, tuple(sites))


def emit_unit(unit: Unit, dialect: Dialect, wide: bool = False) -> str:
    """The text of all kernels, the functions they call before them; `wide` computes all indices in
    64 bits."""
    helpers: dict[str, None] = {}
    kernels = [
        _kernel(kernel, dialect, helpers, WIDE if wide else narrowed(kernel))
        for kernel in unit.complete().kernels
    ]
    return "\n".join([dialect.prelude + C_PRELUDE, *helpers, *kernels])


def _kernel(
    kernel: Kernel, dialect: Dialect, helpers: dict[str, None], indices: Narrowed
) -> str:
    for let in _lanes(kernel):
        if let.op.width not in (1, WARP):  # type: ignore[attr-defined]
            raise CompilerBug(f"{kernel.name} has {let.op.width} lanes, not {WARP}")  # type: ignore[attr-defined]
    shape = shape_of(kernel)
    e = CEmitter(dialect, HANDLERS, helpers, shape.threads, WARP, indices)
    params = [f"{dialect.global_pointer.format(type='int64_t')}fw_status"]
    if shape.claims:
        params.append(f"{dialect.global_pointer.format(type='uint32_t')}fw_claim")
    written = set(_written(kernel))
    params += [_param(e, dialect, var, written) for var in kernel.params]
    low = [(e.names.of(var), e.names.again(var)) for var in kernel.params if e.is_narrow(var)]
    e.body(kernel.body)
    body, e.lines = e.lines, []
    e.state_position()
    e.line(GATE)
    for given, name in low:
        e.line(f"const int32_t {name} = (int32_t){given};")
    if shape.claims:
        e.line(dialect.claim)
    else:
        e.line(f"const int64_t fw_block = {dialect.block};")
    shared = [f"    {line}" for line in e.shared.values()]
    head = dialect.head.format(
        name=kernel_symbol(kernel.name), threads=shape.threads, params=", ".join(params)
    )
    return "\n".join([f"{head} {{", *shared, *e.lines, *body, "}", ""])


def kernel_symbol(name: str) -> str:
    """The name of a kernel's function."""
    return f"k_{name}"


def _lanes(kernel: Kernel) -> Iterator[Let]:
    return (let for let in walk_lets(kernel.body) if isinstance(let.op, Lanes))


def _written(kernel: Kernel) -> Iterator[Var]:
    """The arrays that a kernel does more to than loading elements."""
    for let in walk_lets(kernel.body):
        if not isinstance(let.op, READS):
            yield from (atom for atom in atoms_in(let.op) if isinstance(atom, Var))


def _param(e: CEmitter, dialect: Dialect, var: Var, written: Set[Var]) -> str:
    """A parameter. What is only read may be loaded ahead of stores: an array that has the memory of
    a result is read by each thread before that thread stores the same element."""
    name = e.names.of(var)
    if isinstance(var.type, BufferType):
        only_read = "" if var in written else dialect.only_read
        pointer = dialect.global_pointer.format(type=stored(dtype_in(var)).c)
        return f"{pointer}{only_read}{name}"
    if not isinstance(var.type, DType):
        raise CompilerBug(f"{var} is an array")
    return f"const {var.type.c if var.type.kind != 'b' else 'uint8_t'} {name}"


# A unit becomes a program of a device: its host in Python, its kernels when they are launched.
#
#     launch k ..     the first time: the kernels of k's group (`kernel_ir/host.py`) are
#                     written and emitted as one text, which the device's compiler makes a module of
#                     the first time with extents beyond 32 bits: k alone, its indices in 64 bits
#
# A kernel that no call needs costs nothing. What is made later is made under the switches of the
# time when the program was compiled.


Emit = Callable[[Unit, bool], str]
"""The text of a unit, whose indices may have to be of 64 bits."""


def program_of(
    unit: Unit, plan: Plan, device: Device, emit: Emit, timer: PhaseTimer | None = None
) -> HostProgram:
    """The program; `timer` continues while kernels are made."""
    switches, timer = config.current, timer or PhaseTimer("kernels")

    def make(names: Sequence[str]) -> dict[str, Launchable]:
        with config.scoped(no_cache=switches.no_cache), shown(timer) as look:
            made = on_deep_stack(lambda: _made(unit, names, device, emit, timer), look)
        timer.report()
        return made

    kernels = Kernels(parts_of(unit.host).groups, make)
    return HostProgram(device, kernels, host_steps(unit, plan), plan)


def _made(
    unit: Unit, names: Sequence[str], device: Device, emit: Emit, timer: PhaseTimer
) -> dict[str, Launchable]:
    kernels: list[Kernel] = []
    timer.expect(len(names))
    wide = names[0].endswith(IN_64_BITS)
    for name in names:
        with timer.stage("lower"):
            kernels.append(unit.kernel(name.removesuffix(IN_64_BITS)))
        check_wanted()
    with timer.stage("emit"):
        text = emit(Unit(unit.host, tuple(kernels)), wide)
    check_wanted()
    with timer.stage("compile"):
        module = device.load(text)
    timer.finish(len(names))
    return {
        name: _launchable(kernel, text, module, wide)
        for name, kernel in zip(names, kernels, strict=True)
    }


def _launchable(kernel: Kernel, text: str, module: Module, wide: bool) -> Launchable:
    shape = shape_of(kernel)
    name = kernel_symbol(kernel.name)
    fits = None if wide else narrowed(kernel).fits
    return Launchable(text, module, name, shape.threads, shape.claims, shape.reports, fits)
