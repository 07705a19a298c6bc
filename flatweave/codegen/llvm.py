"""A unit of kernel IR becomes LLVM text for the CPU: one function per kernel, one for the host.

    kernel scale(n: i64, ..) => ..    define internal void @k_scale(ptr %ctx, ptr %args, i64 %block)
    host (n: i64, xs: global f32, ..) => .. in ys
                                      define i64 @fw_main(ptr %ctx, ptr %slots)

`%args` is an array of eight-byte slots: a pointer, or a scalar in the low bytes. `%slots` holds the
host's arguments and then its results: a scalar takes one slot, a buffer two, its data and its
owner. `fw_main` returns 0, or 1 after an error, which the context `%ctx` describes.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.errors import CompilerBug
from flatweave.codegen import llvm_host as host
from flatweave.codegen.llvm_apply import emit_apply, emit_convert
from flatweave.codegen.llvm_atomics import emit_atomic
from flatweave.codegen.llvm_calls import emit_call
from flatweave.codegen.llvm_code import STOPPED, Code
from flatweave.codegen.llvm_collectives import emit_ballot, emit_count, emit_in_set, emit_reduce
from flatweave.codegen.llvm_compact import emit_compact
from flatweave.codegen.llvm_control import emit_if
from flatweave.codegen.llvm_emitter import Emitter, Handler, Held
from flatweave.codegen.llvm_features import CpuFeatures
from flatweave.codegen.llvm_loops import emit_for, emit_while
from flatweave.codegen.llvm_memory import (
    emit_acquire,
    emit_load,
    emit_release,
    emit_shared,
    emit_store,
    fence_streams,
)
from flatweave.codegen.llvm_near import emit_near, emit_select_zero
from flatweave.codegen.llvm_report import emit_report
from flatweave.codegen.llvm_segmented import emit_last, emit_scan, emit_shift
from flatweave.codegen.llvm_shapes import LINEAR, REVERSED, UNIFORM, lane_shapes
from flatweave.codegen.llvm_text import Module
from flatweave.codegen.llvm_tile import emit_tile
from flatweave.codegen.llvm_updates import emit_atomic_update, emit_locked_update
from flatweave.kernel_ir import host as h
from flatweave.kernel_ir import syntax as k
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import BufferType, Lambda, Let, Op, Var


def emit(unit: k.Unit, features: CpuFeatures) -> str:
    """The text of a module that defines `fw_main`."""
    module = Module(features.libmvec, features.has_avx512)
    for kernel in unit.kernels:
        _define_kernel(module, features, kernel)
    _define_host(module, features, unit.host)
    attributes = "nounwind"
    if features.has_avx512:
        attributes += ' "prefer-vector-width"="512" "min-legal-vector-width"="512"'
    return f"{module.text()}\nattributes #0 = {{ {attributes} }}\n!0 = !{{i32 1}}\n"


# -- kernels --------------------------------------------------------------------------------------


def _define_kernel(module: Module, features: CpuFeatures, kernel: k.Kernel) -> None:
    if kernel.warps != 1:
        raise CompilerBug(f"kernel {kernel.name} asks for {kernel.warps} warps; a CPU has one")
    code = Code(module)
    e = Emitter(code, features, KERNEL_HANDLERS, {})
    e.bind(kernel.params, [_argument(e, i, var) for i, var in enumerate(kernel.params)])
    e.run(kernel.body)
    fence_streams(e)
    code.leave()
    if code.can_stop:
        code.label(STOPPED)
        fence_streams(e)
        code.line("ret void")
    head = "define internal void {name}(ptr noalias %ctx, ptr readonly %args, i64 %block) #0 {"
    module.define_once(f"@k_{kernel.name}", head, code)  # repeated operations share their kernels


def _argument(e: Emitter, number: int, var: Var) -> Held:
    return Held(UNIFORM, host.load_slot(e, "%args", number, var.type))


def _emit_lanes(e: Emitter, let: Let) -> Sequence[Held]:
    """A region that `width` lanes run."""
    op: k.Lanes = let.op  # type: ignore[assignment]
    shapes = lane_shapes(op.body) if op.width > 1 else {}
    inner = e.at(op.width, shapes)
    inner.run(op.body)
    return [Held(UNIFORM, inner.uniform(atom)) for atom in op.body.results]


def _emit_lane(e: Emitter, let: Let) -> Sequence[Held]:
    op: k.Lane = let.op  # type: ignore[assignment]
    base = e.uniform(op.base)
    if e.width == 1:
        return (Held(UNIFORM, base),)
    return (Held(REVERSED if op.reverse else LINEAR, base),)


def _emit_block_index(e: Emitter, let: Let) -> Sequence[Held]:
    return (Held(UNIFORM, "%block"),)


def _emit_warp_index(e: Emitter, let: Let) -> Sequence[Held]:
    return (Held(UNIFORM, "0"),)


def _emit_sync(e: Emitter, let: Let) -> Sequence[Held]:
    """A block has one warp: there is nobody to wait for."""
    return ()


def _emit_backoff(e: Emitter, let: Let) -> Sequence[Held]:
    op: k.Backoff = let.op  # type: ignore[assignment]
    e.code.declare("void @fw_backoff(i64) nounwind")
    e.code.line(f"call void @fw_backoff(i64 {e.uniform(op.attempt)})")
    return ()


# -- the host -------------------------------------------------------------------------------------


def _define_host(module: Module, features: CpuFeatures, fn: Lambda) -> None:
    code = Code(module)
    e = Emitter(code, features, HOST_HANDLERS, {})
    e.depth = 1  # its loops are not those of a block
    for number, var in enumerate(fn.params):
        text = host.load_slot(e, "%slots", number, var.type)
        owner = "null" if isinstance(var.type, BufferType) else ""
        e.bind([var], [Held(UNIFORM, text, owner)])
    results = e.run(fn, [e.held[var] for var in fn.params])
    number = len(fn.params)
    for held, atom in zip(results, fn.results, strict=True):
        host.store_slot(e, "%slots", number, atom.type, held.text)
        if held.owner:
            host.store_slot(e, "%slots", number + 1, atom.type, held.owner)
        number += 2 if held.owner else 1
    for owner in [held.owner for held in results if held.owner]:
        code.declare("void @fw_escape(ptr, ptr) nounwind")
        code.line(f"call void @fw_escape(ptr %ctx, ptr {owner})")
    code.line("ret i64 0")
    if code.can_stop:
        code.label(STOPPED)
        code.jump(host.FAILED)
    code.label(host.FAILED)
    code.line("ret i64 1")
    module.define("@fw_main", "define i64 @fw_main(ptr %ctx, ptr %slots) #0 {", code)


_COMMON: dict[type[Op], Handler] = {
    Apply: emit_apply,
    Cast: emit_convert,
    If: emit_if,
    k.Load: emit_load,
    While: emit_while,
    For: emit_for,
}
KERNEL_HANDLERS: dict[type[Op], Handler] = {
    **_COMMON,
    k.BlockIndex: _emit_block_index,
    k.WarpIndex: _emit_warp_index,
    k.Lanes: _emit_lanes,
    k.Lane: _emit_lane,
    k.Call: emit_call,
    k.ReduceLanes: emit_reduce,
    k.ScanLanes: emit_scan,
    k.ShiftLanes: emit_shift,
    k.LastLane: emit_last,
    k.CountLanes: emit_count,
    k.Ballot: emit_ballot,
    k.InSet: emit_in_set,
    k.SelectZero: emit_select_zero,
    k.Shared: emit_shared,
    k.Store: emit_store,
    k.StoreCompact: emit_compact,
    k.LoadNear: emit_near,
    k.LoadTile: emit_tile,
    k.Atomic: emit_atomic,
    k.AtomicUpdate: emit_atomic_update,
    k.LockedUpdate: emit_locked_update,
    k.Acquire: emit_acquire,
    k.Release: emit_release,
    k.Backoff: _emit_backoff,
    k.Sync: _emit_sync,
    k.Report: emit_report,
}
HOST_HANDLERS: dict[type[Op], Handler] = {
    **_COMMON,
    k.Store: emit_store,
    h.Alloc: host.emit_alloc,
    h.Retain: host.emit_retain,
    h.Free: host.emit_free,
    h.IsUnique: host.emit_is_unique,
    h.Trim: host.emit_trim,
    h.Launch: host.emit_launch,
    h.Fail: host.emit_fail,
    h.Threads: host.emit_threads,
}
