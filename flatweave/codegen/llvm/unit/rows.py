"""Kernels whose code is that of a host: one thread runs a block of rows, each a program of its own.

    define void @k_rows(ptr %outer, ptr %args, i64 %block) {
        %ctx = alloca [66 x i64]                   a context of the thread's own: its buffers, the
        call void @fw_begin_rows(ptr %ctx, ..)     errors of its rows, and who cancels it
        ..                                         as a host, but for launches:
        call void @k_rows_sort(ptr %ctx, ..)       a kernel's blocks here and now, one by one
        call void @fw_end_rows(..)                 errors go to %outer, under the number of the row
        ret void
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import UNIFORM
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.memory.access import stored
from flatweave.codegen.llvm.text.code import STOPPED, Code
from flatweave.codegen.llvm.text.module import Module
from flatweave.codegen.llvm.unit import host
from flatweave.codegen.llvm.unit.row_memory import PREFIX, SLOTS, define_row_memory
from flatweave.kernel_ir.host import AtRow, CopyTo, Launch, Threads, Trim
from flatweave.kernel_ir.syntax import BlockIndex, Kernel
from flatweave.terms.syntax import BufferType, Let

ROW_SLOT = 19
HEAD = "(ptr noalias %outer, ptr readonly %args, i64 %block)"


def row_program(
    module: Module, isa: InstructionSet, kernel: Kernel, symbols: Mapping[str, str],
    handlers: Handlers,
) -> Code:  # fmt: skip
    """The code of a kernel that launches others, which have these symbols in the module."""
    code = Code(module)
    code.declare("void @fw_begin_rows(ptr, ptr) nounwind")
    code.declare("void @fw_end_rows(ptr, ptr) nounwind")
    define_row_memory(module)
    code.begin(f"%ctx = alloca [{SLOTS} x i64], align 64")
    code.begin("call void @fw_begin_rows(ptr %ctx, ptr %outer)")
    own: Handlers = {Launch: functools.partial(_emit_launch, symbols)}
    memory = host.Memory(PREFIX).handlers
    e = Emitter(code, isa, {**handlers, **memory, **HANDLERS, **own}, {})
    e.depth = 1  # its loops are not those of a block
    for number, var in enumerate(kernel.params):
        text = host.load_slot(e, "%args", number, var.type)
        owner = host.NOBODY if isinstance(var.type, BufferType) else ""
        e.bind([var], [Held(UNIFORM, text, owner)])
    e.run(kernel.body)
    code.jump(host.FAILED)  # what ends well and what does not end alike
    if code.can_stop:
        code.label(STOPPED)
        code.jump(host.FAILED)
    code.label(host.FAILED)
    code.line("call void @fw_end_rows(ptr %ctx, ptr %outer)")
    code.line("ret void")
    return code


def _emit_launch(symbols: Mapping[str, str], e: Emitter, let: Let) -> Sequence[Held]:
    """The blocks of a kernel, one after the other; after an error or a cancellation no more."""
    op: Launch = let.op  # type: ignore[assignment]
    code = e.code
    args = host.stored_args(e, op.args)
    grid = e.uniform(op.grid)
    (after,) = code.names("after")
    for choice in op.variants:
        chosen, other = code.names("chosen", "other")
        code.branch(e.uniform(choice.condition), chosen, other)
        code.label(chosen)
        _emit_blocks(e, symbols[choice.kernel], args, grid)
        code.jump(after)
        code.label(other)
    _emit_blocks(e, symbols[op.kernel], args, grid)
    code.jump(after)
    code.label(after)
    failed = code.let("load i64, ptr %ctx, align 8")
    cancelled = code.let(f"load i64, ptr {host.slot(e, '%ctx', host.CANCEL_SLOT)}, align 8")
    either = code.let(f"or i64 {failed}, {cancelled}")
    host.leave_if(e, code.let(f"icmp ne i64 {either}, 0"))
    return ()


def _emit_blocks(e: Emitter, symbol: str, args: str, grid: str) -> None:
    code = e.code
    head, turn, done = code.names("blocks", "block", "done")
    before = code.block
    code.jump(head)
    code.label(head)
    hole, block = code.hole(), code.fresh("block")
    code.branch(code.let(f"icmp slt i64 {block}, {grid}"), turn, done)
    code.label(turn)
    code.line(f"call void {symbol}(ptr %ctx, ptr {args}, i64 {block})")
    following = code.let(f"add i64 {block}, 1")
    code.fill(hole, [(block, "i64", [("0", before), (following, turn)])])
    code.jump(head)
    code.label(done)


def emit_block_index(e: Emitter, let: Let) -> Sequence[Held]:
    """The kernel's argument."""
    return (Held(UNIFORM, "%block"),)


def emit_threads(e: Emitter, let: Let) -> Sequence[Held]:
    """A row has one."""
    return (Held(UNIFORM, "1"),)


def emit_trim(e: Emitter, let: Let) -> Sequence[Held]:
    """What is left of a row's buffer is not worth giving back."""
    return ()


def emit_at_row(e: Emitter, let: Let) -> Sequence[Held]:
    """The number of the row goes where errors find it."""
    op: AtRow = let.op  # type: ignore[assignment]
    e.code.line(f"store i64 {e.uniform(op.row)}, ptr {host.slot(e, '%ctx', ROW_SLOT)}, align 8")
    return ()


def emit_copy_to(e: Emitter, let: Let) -> Sequence[Held]:
    """memcpy"""
    op: CopyTo = let.op  # type: ignore[assignment]
    if not isinstance(op.target.type, BufferType):
        raise TypeError(f"{op.target} is not a buffer")
    code, dtype = e.code, stored(op.target.type.dtype)
    code.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    target, source = e.hold(op.target).text, e.hold(op.source).text
    at = code.let(f"getelementptr {dtype.llvm}, ptr {target}, i64 {e.uniform(op.offset)}")
    size = code.let(f"mul i64 {e.uniform(op.count)}, {dtype.bytes}")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {at}, ptr {source}, i64 {size}, i1 false)")
    return ()


HANDLERS: Handlers = {
    BlockIndex: emit_block_index,
    Threads: emit_threads,
    Trim: emit_trim,
    AtRow: emit_at_row,
    CopyTo: emit_copy_to,
}
