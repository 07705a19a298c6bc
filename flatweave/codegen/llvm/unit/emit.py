"""A unit of kernel IR becomes LLVM text for the CPU: one function per kernel, one for the host.

    kernel scale(n: i64, ..) => ..    define internal void @k_scale(ptr %ctx, ptr %args, i64 %block)
    host (n: i64, xs: global f32, ..) => .. in ys
                                      define i64 @fw_main(ptr %ctx, ptr %slots)

`%args` is an array of eight-byte slots: a pointer, or a scalar in the low bytes. `%slots` holds the
host's arguments and then its results: a scalar takes one slot, a buffer two, its data and its
owner. `fw_main` returns 0, or 1 after an error, which the context `%ctx` describes.

People read all of a unit as one module. What runs is the host's module, and modules of kernels,
most of which are made when they are first launched (`load.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm import body, lanes, memory
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import UNIFORM
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.memory.access import emit_load, emit_store, fence_streams
from flatweave.codegen.llvm.text.module import STOPPED, Code, Module
from flatweave.codegen.llvm.unit import host, rows
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.host import Launch, Parts
from flatweave.kernel_ir.lane_facts import trailing_zeros
from flatweave.terms.syntax import BufferType, Lambda, Var
from flatweave.terms.traverse import free_vars

KERNEL_HANDLERS: Handlers = {**body.HANDLERS, **memory.HANDLERS, **lanes.HANDLERS}
HOST_HANDLERS: Handlers = {
    **body.SCALAR_HANDLERS,
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
    for number, var in enumerate(fn.params):
        text = host.load_slot(e, "%slots", number, var.type)
        owner = host.NOBODY if isinstance(var.type, BufferType) else ""
        e.bind([var], [Held(UNIFORM, text, owner)])
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
