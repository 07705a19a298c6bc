"""The host program: buffers, launches, failures; scalars and control as in kernels.

    xs: global f32 = alloc f32 n         %p = call ptr @fw_new(ptr %ctx, i64 n, ..); null: leave
    launch scale g n xs                  args[0] = n, args[1] = %p; call i1 @fw_launch(..), or
                                         @fw_launch_by_number for a kernel of another module;
                                         true: leave
    launch b g n xs [choice p a]         the same with select p, a, b
    fail p                               p: call void @fw_report(..); leave

Leaving, the program returns 1. A host buffer is held as its data and its owner, null for a buffer
that the caller keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.base.dtypes import DTYPES, DType, bool_
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.report import as_bits, call_report
from flatweave.codegen.llvm.body.shapes import UNIFORM
from flatweave.codegen.llvm.memory.access import from_memory, stored, to_memory
from flatweave.kernel_ir.host import Alloc, Fail, Free, IsUnique, Launch, Retain, Threads, Trim
from flatweave.terms.syntax import Atom, BufferType, Let, Type

NOBODY = "null"  # the owner of a buffer that the caller keeps
FAILED = "failed"  # the block that returns 1
THREADS_SLOT = 7


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


def slot_type(type_: Type) -> str:
    """The LLVM type of what a slot holds."""
    return stored(type_).llvm if isinstance(type_, DType) else "ptr"


def store_slot(e: Emitter, base: str, number: int, type_: Type, text: str) -> None:
    """Put a scalar or a pointer into a slot."""
    kind = slot_type(type_)
    if type_ is bool_:
        text = to_memory(e, bool_, 1, text)
    e.code.line(f"store {kind} {text}, ptr {slot(e, base, number)}, align 8")


def leave_if(e: Emitter, condition: str) -> None:
    """End the program where the condition holds: somebody has reported why."""
    (good,) = e.code.names("good")
    e.code.branch(condition, FAILED, good)
    e.code.label(good)


# -- buffers --------------------------------------------------------------------------------------


def emit_alloc(e: Emitter, let: Let) -> Sequence[Held]:
    """Fresh memory, or the end of the program."""
    op: Alloc = let.op  # type: ignore[assignment]
    code, count = e.code, e.uniform(op.count)
    code.declare("noalias ptr @fw_new(ptr, i64, i64, i64, i64) nounwind")
    size, dtype = stored(op.dtype).bytes, DTYPES.index(op.dtype)
    data = code.let(
        f"call ptr @fw_new(ptr %ctx, i64 {count}, i64 {size}, i64 {op.site}, i64 {dtype})"
    )
    leave_if(e, code.let(f"icmp eq ptr {data}, null"))
    return (Held(UNIFORM, data, data),)


def owner(e: Emitter, atom: Atom) -> str:
    """The owner of a host buffer."""
    return e.hold(atom).owner


def emit_retain(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_retain"""
    op: Retain = let.op  # type: ignore[assignment]
    if owner(e, op.buffer) == NOBODY:
        return ()
    e.code.declare("void @fw_retain(ptr) nounwind")
    e.code.line(f"call void @fw_retain(ptr {owner(e, op.buffer)})")
    return ()


def emit_free(e: Emitter, let: Let) -> Sequence[Held]:
    """fw_release"""
    op: Free = let.op  # type: ignore[assignment]
    if owner(e, op.buffer) == NOBODY:
        return ()
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


def emit_launch(numbers: Mapping[str, int], e: Emitter, let: Let) -> Sequence[Held]:
    """Run a kernel of this module, or one by its number in the program's table; after an error or
    a cancellation the program ends."""
    op: Launch = let.op  # type: ignore[assignment]
    code = e.code
    held = [(atom.type, e.hold(atom).text) for atom in op.args]
    key = ("args", *(f"{slot_type(type_)} {text}" for type_, text in held))
    args = e.once(key, lambda: _stored(e, held))
    function = "@fw_launch_by_number" if op.kernel in numbers else "@fw_launch"
    kind = "i64" if op.kernel in numbers else "ptr"
    kernel = _kernel(numbers, e, op.kernel)
    for choice in reversed(op.variants):
        holds, variant = e.uniform(choice.condition), _kernel(numbers, e, choice.kernel)
        kernel = code.let(f"select i1 {holds}, {kind} {variant}, {kind} {kernel}")
    code.declare(f"i1 {function}(ptr, {kind}, ptr, i64) nounwind")
    grid = e.uniform(op.grid)
    leave_if(
        e, code.let(f"call i1 {function}(ptr %ctx, {kind} {kernel}, ptr {args}, i64 {grid})")
    )
    return ()


def _stored(e: Emitter, held: Sequence[tuple[Type, str]]) -> str:
    """An array of arguments; kernels do not change it."""
    args = e.code.alloca(f"[{max(1, len(held))} x i64]", 8)
    for number, (type_, text) in enumerate(held):
        store_slot(e, args, number, type_, text)
    return args


def _kernel(numbers: Mapping[str, int], e: Emitter, name: str) -> str:
    """A kernel's number in the table, or its symbol."""
    return str(numbers[name]) if name in numbers else e.code.module.name_of(f"@k_{name}")


def emit_fail(e: Emitter, let: Let) -> Sequence[Held]:
    """End the program where the condition holds."""
    op: Fail = let.op  # type: ignore[assignment]
    bad, good = e.code.names("bad", "good")
    e.code.branch(e.uniform(op.condition), bad, good)
    e.code.label(bad)
    call_report(e, op.code, op.site, "0", as_bits(e, op.value), as_bits(e, op.extent))
    e.code.jump(FAILED)
    e.code.label(good)
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
