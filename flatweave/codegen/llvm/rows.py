"""Kernels that run as host code: one thread runs a block of rows, in private memory."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from flatweave.base.dtypes import stored
from flatweave.codegen.llvm import host
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, Loop
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.module import STOPPED, Code, Module
from flatweave.codegen.llvm.scalars import emit_block_index
from flatweave.codegen.llvm.shapes import UNIFORM
from flatweave.kernel_ir.host import AtRow, CopyTo, Launch, Threads, Trim
from flatweave.kernel_ir.syntax import BlockIndex, Kernel
from flatweave.terms.syntax import BufferType, Let, Op

# Buffers of a thread that runs rows: a few instructions each, since nobody else sees them.
#
#     header        as of all buffers (runtime/buffers.ll): references, class, next free one, kind 2
#     %ctx          slots 32 to 63: the free buffers of each class, 2^class bytes with their header
#                   slot 64: where fresh memory begins; slot 65: where it ends
#
# They stand where they are called: classes of arrays whose lengths stay are found once for a
# loop.
#
# A buffer of more than 64 KiB is one of the whole program's kind. Fresh memory comes in chunks
# that belong to the thread's context, which frees them when its block of rows ends.


SLOTS = 66
"""Slots of the context of such a thread."""
LARGEST_CLASS = 16

NEW = """\
define internal noalias ptr @row_new(ptr %ctx, i64 %count, i64 %size, i64 %site, i64 %dtype)
    #0 alwaysinline {
entry:
  %absurd = icmp ugt i64 %count, 65536
  %product = mul i64 %count, %size
  %total = add i64 %product, 127                                ; a header, room to read behind
  %zeros = call i64 @llvm.ctlz.i64(i64 %total, i1 true)
  %class = sub i64 64, %zeros
  %large = icmp ugt i64 %class, LARGEST_CLASS
  %slow = or i1 %absurd, %large
  br i1 %slow, label %program, label %look
program:
  %listed = call ptr @fw_new(ptr %ctx, i64 %count, i64 %size, i64 %site, i64 %dtype)
  ret ptr %listed
look:
  %slot = add i64 %class, 32
  %free.at = getelementptr i64, ptr %ctx, i64 %slot
  %free = load ptr, ptr %free.at
  %none = icmp eq ptr %free, null
  br i1 %none, label %bump, label %pop
pop:
  %next.at = getelementptr i64, ptr %free, i64 2
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %free.at
  br label %fill
bump:
  %fresh.at = getelementptr i64, ptr %ctx, i64 64
  %end.at = getelementptr i64, ptr %ctx, i64 65
  %fresh = load i64, ptr %fresh.at
  %end = load i64, ptr %end.at
  %bytes = shl i64 1, %class
  %after = add i64 %fresh, %bytes
  %fits = icmp ule i64 %after, %end
  br i1 %fits, label %take, label %grow
take:
  store i64 %after, ptr %fresh.at
  %taken = inttoptr i64 %fresh to ptr
  br label %fill
grow:
  %grown = call ptr @fw_row_grow(ptr %ctx, i64 %bytes, i64 %site, i64 %count, i64 %dtype)
  %refused = icmp eq ptr %grown, null
  br i1 %refused, label %out, label %fill
out:
  ret ptr null
fill:
  %header = phi ptr [ %free, %pop ], [ %taken, %take ], [ %grown, %grow ]
  store i64 1, ptr %header
  %class.at = getelementptr i64, ptr %header, i64 1
  store i64 %class, ptr %class.at
  %kind.at = getelementptr i64, ptr %header, i64 4
  store i64 2, ptr %kind.at
  %data = getelementptr i8, ptr %header, i64 64
  ret ptr %data
}
""".replace("LARGEST_CLASS", str(LARGEST_CLASS))

RELEASE = """\
define internal void @row_release(ptr %ctx, ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %out, label %count
out:
  ret void
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %last = icmp eq i64 %owners, 1
  br i1 %last, label %dead, label %less
less:
  %left = sub i64 %owners, 1
  store i64 %left, ptr %header
  ret void
dead:
  %kind.at = getelementptr i64, ptr %header, i64 4
  %kind = load i64, ptr %kind.at
  %own = icmp eq i64 %kind, 2
  br i1 %own, label %push, label %program
program:
  call void @fw_release(ptr %ctx, ptr %data)
  ret void
push:
  %class.at = getelementptr i64, ptr %header, i64 1
  %class = load i64, ptr %class.at
  %slot = add i64 %class, 32
  %free.at = getelementptr i64, ptr %ctx, i64 %slot
  %free = load ptr, ptr %free.at
  %next.at = getelementptr i64, ptr %header, i64 2
  store ptr %free, ptr %next.at
  store ptr %header, ptr %free.at
  ret void
}
"""

RETAIN = """\
define internal void @row_retain(ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %out, label %count
out:
  ret void
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %more = add i64 %owners, 1
  store i64 %more, ptr %header
  ret void
}
"""

IS_UNIQUE = """\
define internal i64 @row_is_unique(ptr %data) #0 alwaysinline {
entry:
  %nobody = icmp eq ptr %data, null
  br i1 %nobody, label %no, label %count
no:
  ret i64 0
count:
  %header = getelementptr i8, ptr %data, i64 -64
  %owners = load i64, ptr %header
  %one = icmp eq i64 %owners, 1
  %answer = zext i1 %one to i64
  ret i64 %answer
}
"""

PREFIX = "@row_"
FUNCTIONS = {"new": NEW, "release": RELEASE, "retain": RETAIN, "is_unique": IS_UNIQUE}


def define_row_memory(module: Module) -> None:
    """Write the functions into a module."""
    if module.defines(f"{PREFIX}new"):
        return
    module.declare("noalias ptr @fw_new(ptr, i64, i64, i64, i64) nounwind")
    module.declare("void @fw_release(ptr, ptr nocapture) nounwind")
    module.declare("ptr @fw_row_grow(ptr, i64, i64, i64, i64) nounwind")
    module.declare("i64 @llvm.ctlz.i64(i64, i1)")
    for name, text in FUNCTIONS.items():
        module.define_text(f"{PREFIX}{name}", text)


# Kernels whose code is that of a host: one thread runs a block of rows, each a program of its
# own.
#
# define void @k_rows(ptr %outer, ptr %args, i64 %block) {
#     %ctx = alloca [66 x i64]                   a context of the thread's own: its buffers, the
#     call void @fw_begin_rows(ptr %ctx, ..)     errors of its rows, and who cancels it
#     ..                                         as a host, but for launches:
#     call void @k_rows_sort(ptr %ctx, ..)       a kernel's blocks here and now, one by one
#     call void @fw_end_rows(..)                 errors go to %outer, under the number of the row
#     ret void


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
    host.bind_slots(e, "%args", kernel.params)
    e.run(kernel.body)
    code.jump(host.FAILED)  # what ends well and what does not end alike
    if code.can_stop:
        code.label(STOPPED)
        code.jump(host.FAILED)
    code.label(host.FAILED)
    code.line("call void @fw_end_rows(ptr %ctx, ptr %outer)")
    code.line("ret void")
    return code


def _emit_launch(symbols: Mapping[str, str], e: Emitter, let: Let, op: Launch) -> Sequence[Held]:
    """Run a kernel's blocks in sequence until an error or a cancellation."""
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
    code.enter(after)
    failed = code.let("load i64, ptr %ctx, align 8")
    cancelled = code.let(f"load i64, ptr {host.slot(e, '%ctx', host.CANCEL_SLOT)}, align 8")
    either = code.let(f"or i64 {failed}, {cancelled}")
    host.leave_if(e, code.let(f"icmp ne i64 {either}, 0"))
    return ()


def _emit_blocks(e: Emitter, symbol: str, args: str, grid: str) -> None:
    code = e.code
    loop = Loop(code, "block", ("i64", "0"))
    (block,) = loop.names
    loop.goes_on(code.let(f"icmp slt i64 {block}, {grid}"))
    code.line(f"call void {symbol}(ptr %ctx, ptr {args}, i64 {block})")
    loop.again(code.let(f"add i64 {block}, 1"))


def emit_threads(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """A row has one."""
    return (Held(UNIFORM, "1"),)


def emit_trim(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """What is left of a row's buffer is not worth giving back."""
    return ()


def emit_at_row(e: Emitter, let: Let, op: AtRow) -> Sequence[Held]:
    """The number of the row goes where errors find it."""
    e.code.line(f"store i64 {e.uniform(op.row)}, ptr {host.slot(e, '%ctx', ROW_SLOT)}, align 8")
    return ()


def emit_copy_to(e: Emitter, let: Let, op: CopyTo) -> Sequence[Held]:
    """memcpy"""
    if not isinstance(op.target.type, BufferType):
        raise TypeError(f"{op.target} is not a buffer")
    code, dtype = e.code, stored(op.target.type.dtype)
    target, source = e.hold(op.target).text, e.hold(op.source).text
    at = code.let(f"getelementptr {dtype.llvm}, ptr {target}, i64 {e.uniform(op.offset)}")
    size = code.let(f"mul i64 {e.uniform(op.count)}, {dtype.bytes}")
    operands = f"ptr {at}", f"ptr {source}", f"i64 {size}", "i1 false"
    code.call("void", "@llvm.memcpy.p0.p0.i64", *operands)
    return ()


HANDLERS: Handlers = {
    BlockIndex: emit_block_index,
    Threads: emit_threads,
    Trim: emit_trim,
    AtRow: emit_at_row,
    CopyTo: emit_copy_to,
}
