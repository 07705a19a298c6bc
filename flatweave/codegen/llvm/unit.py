"""A unit becomes LLVM text, a function for each kernel, and a program of machine code."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence

from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Plan
from flatweave.base.recording import PhaseTimer, shown
from flatweave.codegen.llvm import (
    by_flags,
    collectives,
    control,
    host,
    loops,
    memory,
    rearranged,
    rows,
    scalars,
    updates,
)
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.isa import here
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.memory import emit_load, emit_store, fence_streams
from flatweave.codegen.llvm.module import STOPPED, Code, Module
from flatweave.codegen.llvm.shapes import UNIFORM
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.host import Launch, Parts, parts_of
from flatweave.kernel_ir.lane_facts import trailing_zeros
from flatweave.kernel_ir.syntax import Kernel, Unit
from flatweave.runtime.cpu import CpuProgram
from flatweave.runtime.execute import CompiledGroup, KernelTable
from flatweave.runtime.lazy_import import check_wanted, on_deep_stack
from flatweave.runtime.native import NativeCode, begin, compile_text
from flatweave.runtime.processor import LIGHT, RAW
from flatweave.runtime.support import POOL
from flatweave.runtime.support import Code as MachineCode
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

# -- emit -----------------------------------------------------------------------------------------
#
# A unit of kernel IR becomes LLVM text for the CPU: one function per kernel, one for the host.
#
#   kernel scale(n: i64, ..) => ..    define internal void @k_scale(ptr %ctx, ptr %args, i64 %block)
#   host (n: i64, xs: global f32, ..) => .. in ys
#                                     define i64 @fw_main(ptr %ctx, ptr %slots)
#
# `%args` is an array of eight-byte slots: a pointer, or a scalar in the low bytes. `%slots` holds
# the host's arguments and then its results: a scalar takes one slot, a buffer two, its data and its
# owner. `fw_main` returns 0, or 1 after an error, which the context `%ctx` describes.
#
# People read all of a unit as one module. What runs is the host's module, and modules of kernels,
# most of which are made when they are first launched (`llvm/unit.py`).


# Each file ends with a table of the ops it emits; these join them.
SCALAR_HANDLERS: Handlers = {**scalars.SCALAR_HANDLERS, **control.HANDLERS, **loops.HANDLERS}
"""Those that host code has, too."""
KERNEL_HANDLERS: Handlers = {
    **SCALAR_HANDLERS,
    **scalars.HANDLERS,
    **control.CALL_HANDLERS,
    **memory.HANDLERS,
    **updates.HANDLERS,
    **collectives.HANDLERS,
    **by_flags.SEGMENTED_HANDLERS,
    **by_flags.HANDLERS,
    **rearranged.HANDLERS,
}
HOST_HANDLERS: Handlers = {
    **SCALAR_HANDLERS,
    k.Load: emit_load,
    k.Store: emit_store,
    **host.HANDLERS,
}


def emit(unit: k.Unit, isa: InstructionSet) -> str:
    """The text of a module that defines `fw_main` and all kernels."""
    module = Module(isa)
    for kernel in unit.complete().kernels:
        _define_kernel(module, isa, kernel)
    _define_host(module, isa, unit.host, {})
    return _text(module, isa)


def emit_host(unit: k.Unit, parts: Parts, isa: InstructionSet) -> str:
    """The text of a module that defines `fw_main`, which finds kernels by their numbers."""
    module = Module(isa)
    sites = {later.name: number << 32 for number, later in enumerate(unit.later, 1)}
    numbers = {name: number | sites.get(name, 0) for name, number in parts.numbers.items()}
    _define_host(module, isa, unit.host, numbers)
    return _text(module, isa)


def emit_kernels(kernels: Sequence[k.Kernel], isa: InstructionSet) -> tuple[str, list[str]]:
    """The text of a module of kernels, and the symbol of each.

    They are named by their position, and number their own sites, so that equal kernels are equal
    modules, in one program and in two.
    """
    module = Module(isa, sites=k.MOST_SITES)
    names = [f"k_{number}" for number in range(len(kernels))]
    for name, kernel in zip(names, kernels, strict=True):
        _define_kernel(module, isa, kernel, f"@{name}", "")
    return _text(module, isa), [module.name_of(f"@{name}")[1:] for name in names]


def _text(module: Module, isa: InstructionSet) -> str:
    return f"{module.text()}\nattributes #0 = {{ {isa.attributes} }}\n!0 = !{{i32 1}}\n"


# -- kernels --------------------------------------------------------------------------------------


def _define_kernel(
    module: Module, isa: InstructionSet, kernel: k.Kernel, name: str = "",
    linkage: str = "internal ", attribute: str = "",
) -> None:  # fmt: skip
    if kernel.warps != 1:
        raise CompilerBug(f"kernel {kernel.name} asks for {kernel.warps} warps; a CPU has one")
    if kernel.inner is not None:
        _define_rows(module, isa, kernel, name, linkage)
        return
    code = Code(module)
    e = Emitter(code, isa, KERNEL_HANDLERS, {}, zeros=trailing_zeros(kernel.body))
    read = free_vars(kernel.body)
    for number, var in enumerate(kernel.params):
        if var in read:
            e.bind([var], [_argument(e, number, var)])
    e.run(kernel.body)
    fence_streams(e)
    code.leave()
    if code.can_stop:
        code.label(STOPPED)
        fence_streams(e)
        code.line("ret void")
    args = "(ptr noalias %ctx, ptr readonly %args, i64 %block)"
    head = f"define {linkage}void {{name}}{args} #0{attribute} {{"
    module.define_once(name or f"@k_{kernel.name}", head, code)  # repeated operations share them


def _define_rows(
    module: Module, isa: InstructionSet, kernel: k.Kernel, name: str, linkage: str
) -> None:
    """A kernel that launches others, and these, which stand where they are launched: for a short
    row a call, and arguments in memory, are much of the work."""
    symbols = {}
    for inner in kernel.inner or ():
        made = f"{name or f'@k_{kernel.name}'}_{inner.name}"
        _define_kernel(module, isa, inner, made, attribute=" alwaysinline")
        symbols[inner.name] = module.name_of(made)
    code = rows.row_program(module, isa, kernel, symbols, HOST_HANDLERS)
    head = f"define {linkage}void {{name}}{rows.HEAD} #0 {{"
    module.define_once(name or f"@k_{kernel.name}", head, code)


def _argument(e: Emitter, number: int, var: Var) -> Held:
    return Held(UNIFORM, host.load_slot(e, "%args", number, var.type))


# -- the host -------------------------------------------------------------------------------------


def _define_host(
    module: Module, isa: InstructionSet, fn: Lambda, numbers: Mapping[str, int]
) -> None:
    code = Code(module)
    launch = functools.partial(host.emit_launch, numbers)
    e = Emitter(code, isa, {**HOST_HANDLERS, Launch: launch}, {})
    e.depth = 1  # its loops are not those of a block
    host.bind_slots(e, "%slots", fn.params)
    results = e.run(fn, [e.held[var] for var in fn.params])
    number = len(fn.params)
    for held, atom in zip(results, fn.results, strict=True):
        host.store_slot(e, "%slots", number, atom.type, held.text)
        if held.owner:
            host.store_slot(e, "%slots", number + 1, atom.type, held.owner)
        number += 2 if held.owner else 1
    for owner in [held.owner for held in results if held.owner not in ("", host.NOBODY)]:
        code.call("void", "@fw_escape", "ptr %ctx", f"ptr {owner}")
    code.line("ret i64 0")
    if code.can_stop:
        code.label(STOPPED)
        code.jump(host.FAILED)
    code.label(host.FAILED)
    code.line("ret i64 1")
    module.define("@fw_main", "define i64 @fw_main(ptr %ctx, ptr %slots) #0 {", code)


# -- load -----------------------------------------------------------------------------------------
#
# A unit becomes a program of machine code: the host now, a branch's kernels when they are needed.
#
#     host's module    fw_main, which finds kernels in a table
#     other modules    the kernels that run whatever happens, made with the host; then those of each
#                      branch: written, emitted and compiled at their first launch
#
# A kernel that no call needs costs nothing. Modules that are compiled later use the switches from
# the time when the program was compiled. Larger kernels are separate modules, compiled in parallel
# with each other and with the host. How often code runs decides how much LLVM optimises: kernels
# are optimised, the host only where it contains a hot loop (`llvm/unit.py`).


# How much LLVM does for a host program: most of it runs once per call, or once per launch.
#
# while (..) (x => mul x 3 ..)                   LIGHT: instructions dominate an iteration
# while (..) (xs => .. launch a ..)              RAW: the launch dominates an iteration
# for 0 blocks 1 (..)  with  launch a blocks     RAW: a block outlasts its iteration


def level_of(host: Lambda) -> int:
    """The level of optimisation at which a host program is compiled."""
    lets = list(walk_lets(host))
    loops = [let.op for let in lets if isinstance(let.op, (For, While))]
    definitions = {var: let.op for let in lets for var in let.vars}
    grids = {let.op.grid for let in lets if isinstance(let.op, Launch)}
    alone = [loop for loop in loops if not _launches(loop)]
    is_hot = any(not _is_per_block(loop, definitions, grids) for loop in alone)
    return LIGHT if is_hot else RAW


def _launches(op: Op) -> bool:
    inside = (let.op for fn in lambdas_in(op) for let in walk_lets(fn))
    return any(isinstance(each, Launch) for each in inside)


def _is_per_block(loop: For | While, definitions: dict[Var, Op], grids: set[Atom]) -> bool:
    """Whether there is an iteration for each block of a launch, and perhaps a few more."""
    if not isinstance(loop, For):
        return False
    count: list[Atom] = [loop.hi]
    op = definitions.get(loop.hi) if isinstance(loop.hi, Var) else None
    if isinstance(op, Apply) and op.fn == "add":
        count += op.args
    return any(isinstance(atom, Var) and atom in grids for atom in count)


ENOUGH = 100  # lets of kernels that are worth a module; a module costs LLVM 1 to 2 ms


def load(unit: Unit, plan: Plan, timer: PhaseTimer) -> CpuProgram:
    """The program; `timer` continues while kernels are made."""
    parts, switches = parts_of(unit.host), config.current
    likely = {name: names for names in parts.alike for name in names}
    waiting: dict[str, tuple[MachineCode, str]] = {}

    def made(names: Sequence[str]) -> CompiledGroup:
        """A group of kernels; what is likely to be asked for next is made with it, and waits."""
        if names[0] in waiting:
            return [waiting.pop(name) for name in names]
        others = [name for name in likely.pop(names[0], ()) if likely.pop(name, None)]
        every = [*names, *others]
        with config.scoped(cpu=switches.cpu, no_cache=switches.no_cache), shown(timer) as look:
            kernels = on_deep_stack(lambda: make_kernels(unit, every, timer), look)
        timer.report()
        waiting.update(zip(others, kernels[len(names) :], strict=True))
        return kernels[: len(names)]

    table = KernelTable(parts.groups, made)
    first = begin_kernels(unit, parts.first, timer, begin)
    with timer.stage("emit"):
        text = emit_host(unit, parts, here())
    check_wanted()
    with timer.stage("compile"):
        code = compile_text(text, level=level_of(unit.host))
    table.put(1, first())
    return CpuProgram(code, plan, table)


def make_kernels(unit: Unit, names: Sequence[str], timer: PhaseTimer) -> CompiledGroup:
    """The machine code of some kernels, and the symbol of each."""
    return begin_kernels(unit, names, timer, now)()


def now(text: str) -> Callable[[], NativeCode]:
    """As `begin`, for who has nothing else to do meanwhile."""
    code = compile_text(text)
    return lambda: code


def begin_kernels(
    unit: Unit,
    names: Sequence[str],
    timer: PhaseTimer,
    last: Callable[[str], Callable[[], NativeCode]],
) -> Callable[[], CompiledGroup]:
    """What gives the machine code of some kernels: LLVM is at work on the first ones while the
    last ones are written, and on as many modules at once as a program may use threads."""
    begun: list[Callable[[], CompiledGroup]] = []
    known: dict[str, Callable[[], NativeCode]] = {}  # by text: equal kernels are compiled once
    done: list[CompiledGroup] = []

    def finish(count: int) -> None:
        while len(done) < count:
            with timer.stage("compile"):
                done.append(begun[len(done)]())
            timer.finish(len(done[-1]))

    timer.expect(len(names))
    kernels: list[Kernel] = []
    for name in names:
        with timer.stage("lower"):
            kernels.append(unit.kernel(name))
        check_wanted()
        if name == names[-1] or sum(map(_size, kernels)) >= ENOUGH:
            finish(len(begun) + 1 - (config.threads or POOL.default))
            begin_one = last if name == names[-1] else begin
            begun.append(_begin_module(kernels, timer, begin_one, known))
            kernels = []

    def finished() -> CompiledGroup:
        finish(len(begun))
        return list(itertools.chain.from_iterable(done))

    return finished


def _begin_module(
    kernels: Sequence[Kernel], timer: PhaseTimer, begin: Callable[[str], Callable[[], NativeCode]],
    known: dict[str, Callable[[], NativeCode]],
) -> Callable[[], CompiledGroup]:  # fmt: skip
    with timer.stage("emit"):
        text, symbols = emit_kernels(kernels, here())
    check_wanted()
    with timer.stage("compile"):
        compiled = known.get(text) or known.setdefault(text, functools.cache(begin(text)))

    def made() -> CompiledGroup:
        code = compiled()
        return [(code, symbol) for symbol in symbols]

    return made


def _size(kernel: Kernel) -> int:
    return sum(1 for _ in walk_lets(kernel.body))
