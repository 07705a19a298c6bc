"""A unit becomes one C text and a program of a device, whose host runs in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Plan
from flatweave.base.recording import PhaseTimer, shown
from flatweave.base.records import record
from flatweave.codegen.c.dialect import Dialect, stored
from flatweave.codegen.c.emitter import HANDLERS as SCALAR_HANDLERS
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.host_steps import host_steps
from flatweave.codegen.c.index_width import WIDE, Narrowed, narrowed
from flatweave.codegen.c.memory import HANDLERS as MEMORY_HANDLERS
from flatweave.codegen.c.warp import HANDLERS as WARP_HANDLERS
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.host import parts_of
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.runtime.devices.device import Device, Module
from flatweave.runtime.devices.launches import IN_64_BITS, Kernels, Launchable
from flatweave.runtime.devices.programs import HostProgram
from flatweave.runtime.lazy_import import check_wanted, on_deep_stack
from flatweave.scalar.function import C_PRELUDE
from flatweave.terms.syntax import BufferType, Let, Var
from flatweave.terms.traverse import atoms_in, walk_lets

# A unit's kernels as one C text, and what a launch must know of each.
#
#     fw_status    int64_t[9]: the first error by index, a lock, gates   always first
#     fw_claim     uint32_t: the number of the next block                second, where blocks wait
#
# A kernel after one that reported an error does nothing: one of its gates is closed then. No gate
# is written while the kernel runs, so all its threads see the same.


HANDLERS: Handlers = {
    **SCALAR_HANDLERS,
    **MEMORY_HANDLERS,
    **WARP_HANDLERS,
}
READS = k.Load | k.LoadNear | LoadTile
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


def shape_of(kernel: k.Kernel) -> Shape:
    """What a launch must know of a kernel."""
    ops = [let.op for let in walk_lets(kernel.body)]
    claims = any(isinstance(op, k.Acquire | AcquireLanes | LoadWhole) for op in ops)
    sites = dict.fromkeys(op.site for op in ops if isinstance(op, k.Report))
    return Shape(kernel.warps * WARP, claims, tuple(sites))


def emit_unit(unit: k.Unit, dialect: Dialect, wide: bool = False) -> str:
    """The text of all kernels, the functions they call before them; `wide` computes all indices in
    64 bits."""
    helpers: dict[str, None] = {}
    kernels = [
        _kernel(kernel, dialect, helpers, WIDE if wide else narrowed(kernel))
        for kernel in unit.complete().kernels
    ]
    return "\n".join([dialect.prelude + C_PRELUDE, *helpers, *kernels])


def _kernel(
    kernel: k.Kernel, dialect: Dialect, helpers: dict[str, None], indices: Narrowed
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


def _lanes(kernel: k.Kernel) -> Iterator[Let]:
    return (let for let in walk_lets(kernel.body) if isinstance(let.op, k.Lanes))


def _written(kernel: k.Kernel) -> Iterator[Var]:
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
