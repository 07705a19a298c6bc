"""The host program: buffers, launches, failures; scalars and control as in kernels.

    xs: global f32 = alloc f32 n         %p = call ptr @fw_alloc(ptr %ctx, i64 4 n + 64); null: fail
    launch scale g n xs                  args[0] = n, args[1] = %p; call void @fw_launch(..), or
                                         @fw_launch_later where the kernel is made when it is needed
    fail p                               br p, cold: call void @fw_report(..); ret i64 1

A host buffer is held as its data and its owner, null for a buffer that the caller keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flatweave.base.dtypes import DTYPES, DType, bool_
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.report import as_bits, call_report
from flatweave.codegen.llvm.body.shapes import UNIFORM
from flatweave.codegen.llvm.memory.access import from_memory, stored, to_memory
from flatweave.kernel_ir.host import Alloc, Fail, Free, IsUnique, Launch, Retain, Threads, Trim
from flatweave.terms.syntax import Atom, BufferType, Let, Type

OUT_OF_MEMORY = 1
FAILED = "failed"  # the block that returns 1
ERROR_SLOT, THREADS_SLOT, CANCEL_SLOT = 0, 7, 8
_SLACK = 64
_MOST_BYTES = 1 << 62


def slot(e: Emitter, base: str, number: int) -> str:
    """The address of a slot of eight bytes."""
    return base if number == 0 else e.code.let(f"getelementptr i64, ptr {base}, i64 {number}")


def load_slot(e: Emitter, base: str, number: int, type_: Type) -> str:
    """What a slot holds."""
    at = slot(e, base, number)
    if not isinstance(type_, DType):
        return e.code.let(f"load ptr, ptr {at}, align 8")
    text = e.code.let(f"load {stored(type_).llvm}, ptr {at}, align 8")
    return from_memory(e, type_, 1, text)


def store_slot(e: Emitter, base: str, number: int, type_: Type, text: str) -> None:
    """Put a scalar or a pointer into a slot."""
    kind = stored(type_).llvm if isinstance(type_, DType) else "ptr"
    if type_ is bool_:
        text = to_memory(e, bool_, 1, text)
    e.code.line(f"store {kind} {text}, ptr {slot(e, base, number)}, align 8")


def fail_if(e: Emitter, condition: str, report: Callable[[], None]) -> None:
    """End the program where the condition holds, after a report."""
    bad, good = e.code.names("bad", "good")
    e.code.branch(condition, bad, good)
    e.code.label(bad)
    report()
    e.code.jump(FAILED)
    e.code.label(good)


# -- buffers --------------------------------------------------------------------------------------


def emit_alloc(e: Emitter, let: Let) -> Sequence[Held]:
    """Fresh memory, or the end of the program."""
    op: Alloc = let.op  # type: ignore[assignment]
    code, count = e.code, e.uniform(op.count)
    code.declare("noalias ptr @fw_alloc(ptr, i64) nounwind")
    size = stored(op.dtype).bytes
    absurd = code.let(f"icmp ugt i64 {count}, {_MOST_BYTES // size}")
    product = code.let(f"mul i64 {count}, {size}")
    padded = code.let(f"add i64 {product}, {_SLACK}")
    wanted = code.let(f"select i1 {absurd}, i64 -1, i64 {padded}")
    data = code.let(f"call ptr @fw_alloc(ptr %ctx, i64 {wanted})")
    refused = code.let(f"icmp eq ptr {data}, null")
    dtype = str(DTYPES.index(op.dtype))
    fail_if(e, refused, lambda: call_report(e, OUT_OF_MEMORY, op.site, "0", count, dtype))
    return (Held(UNIFORM, data, data),)


def owner(e: Emitter, atom: Atom) -> str:
    """The owner of a host buffer."""
    return e.hold(atom).owner


def emit_retain(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_retain"""
    op: Retain = let.op  # type: ignore[assignment]
    e.code.declare("void @fw_retain(ptr) nounwind")
    e.code.line(f"call void @fw_retain(ptr {owner(e, op.buffer)})")
    return ()


def emit_free(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_release"""
    op: Free = let.op  # type: ignore[assignment]
    e.code.declare("void @fw_release(ptr, ptr nocapture) nounwind")
    e.code.line(f"call void @fw_release(ptr %ctx, ptr {owner(e, op.buffer)})")
    return ()


def emit_is_unique(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_is_unique"""
    op: IsUnique = let.op  # type: ignore[assignment]
    e.code.declare("i64 @fw_is_unique(ptr) nounwind")
    answer = e.code.let(f"call i64 @fw_is_unique(ptr {owner(e, op.buffer)})")
    return (Held(UNIFORM, e.code.let(f"icmp ne i64 {answer}, 0")),)


def emit_trim(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_trim"""
    op: Trim = let.op  # type: ignore[assignment]
    if not isinstance(op.buffer.type, BufferType):
        raise TypeError(f"{op.buffer} is not a buffer")
    e.code.declare("void @fw_trim(ptr, i64) nounwind")
    size = stored(op.buffer.type.dtype).bytes
    used = e.code.let(f"mul i64 {e.uniform(op.count)}, {size}")
    e.code.line(f"call void @fw_trim(ptr {owner(e, op.buffer)}, i64 {used})")
    return ()


# -- launches and failures ------------------------------------------------------------------------


def emit_launch(later: Mapping[str, int], e: Emitter, let: Let) -> Sequence[Held]:
    """Run a kernel of this module, or one by its number in the program's table of those that are
    made later; after an error or a cancellation the program ends."""
    op: Launch = let.op  # type: ignore[assignment]
    code = e.code
    args = code.alloca(f"[{max(1, len(op.args))} x i64]", 8)
    for number, atom in enumerate(op.args):
        store_slot(e, args, number, atom.type, e.hold(atom).text)
    grid = e.uniform(op.grid)
    if op.kernel in later:
        code.declare("void @fw_launch_later(ptr, i64, ptr, i64) nounwind")
        kernel = f"i64 {later[op.kernel]}"
        code.line(f"call void @fw_launch_later(ptr %ctx, {kernel}, ptr {args}, i64 {grid})")
    else:
        code.declare("void @fw_launch(ptr, ptr, ptr, i64) nounwind")
        kernel = f"ptr {code.module.name_of(f'@k_{op.kernel}')}"
        code.line(f"call void @fw_launch(ptr %ctx, {kernel}, ptr {args}, i64 {grid})")
    error, cancel = (_flag(e, number) for number in (ERROR_SLOT, CANCEL_SLOT))
    either = code.let(f"or i64 {error}, {cancel}")
    stopped = code.let(f"icmp ne i64 {either}, 0")
    fail_if(e, stopped, lambda: None)
    return ()


def _flag(e: Emitter, number: int) -> str:
    """A slot of the context that others write."""
    at = slot(e, "%ctx", number)
    return e.code.let(f"load atomic i64, ptr {at} monotonic, align 8")


def emit_fail(e: Emitter, let: Let) -> Sequence[Held]:
    """End the program where the condition holds."""
    op: Fail = let.op  # type: ignore[assignment]
    value, extent = op.value, op.extent
    fail_if(
        e,
        e.uniform(op.condition),
        lambda: call_report(e, op.code, op.site, "0", as_bits(e, value), as_bits(e, extent)),
    )
    return ()


def emit_threads(e: Emitter, let: Let) -> Sequence[Held]:
    """How many threads a launch may use."""
    at = slot(e, "%ctx", THREADS_SLOT)
    return (Held(UNIFORM, e.code.let(f"load i64, ptr {at}, align 8")),)


HANDLERS: Handlers = {
    Alloc: emit_alloc,
    Retain: emit_retain,
    Free: emit_free,
    IsUnique: emit_is_unique,
    Trim: emit_trim,
    Fail: emit_fail,
    Threads: emit_threads,
}
