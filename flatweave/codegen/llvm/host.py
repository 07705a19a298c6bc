"""The host program: buffers, launches, failures; scalars and control as in kernels.

    xs: global f32 = alloc f32 n         %p = call ptr @fw_new(ptr %ctx, i64 n, ..); null: leave
    launch scale g n xs                  args[0] = n, args[1] = %p; call i1 @fw_launch(..), or
                                         @fw_launch_by_number for a kernel of another module;
                                         true: leave
    launch b g n xs [choice p a]         the same with select p, a, b
    fail p                               p: call void @fw_report(..); leave

Leaving, the program returns 1. A host buffer is held as its data and its owner, null for a buffer
that the caller keeps. Memory that the caller gives away has a token for its owner, a buffer without
room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.base.dtypes import DTYPES, DType, bool_, stored
from flatweave.codegen.llvm.control import CANCEL_BYTES
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.memory import from_memory, to_memory
from flatweave.codegen.llvm.scalars import as_bits, call_report
from flatweave.codegen.llvm.shapes import UNIFORM
from flatweave.kernel_ir.host import (
    Adopt,
    Alloc,
    CallHost,
    Fail,
    Free,
    IsUnique,
    Launch,
    Retain,
    Threads,
    Trim,
)
from flatweave.terms.syntax import Atom, BufferType, Let, Op, Type, Var

SHARED = "@fw_"  # what the support code's functions begin with
NOBODY = "null"  # the owner of a buffer that the caller keeps
FAILED = "failed"  # the block that returns 1
THREADS_SLOT = 23
CANCEL_SLOT = CANCEL_BYTES // 8


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


def bind_slots(e: Emitter, base: str, params: Sequence[Var]) -> None:
    """Bind parameters to consecutive slots; the caller keeps the buffers."""
    for number, var in enumerate(params):
        owner = NOBODY if isinstance(var.type, BufferType) else ""
        e.bind([var], [Held(UNIFORM, load_slot(e, base, number, var.type), owner)])


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


class Memory:
    """Buffers by the functions whose names begin with `prefix`: those of the support code, or those
    of a thread for itself (llvm/rows.py)."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def _call(self, e: Emitter, type_: str, name: str, types: str, *args: str) -> str:
        """The text of a call."""
        if self.prefix == SHARED:
            e.code.declare(f"{type_} {self.prefix}{name}({types}) nounwind")
        result = type_.removeprefix("noalias ")
        return f"call {result} {self.prefix}{name}({', '.join(args)})"

    def alloc(self, e: Emitter, let: Let, op: Alloc) -> Sequence[Held]:
        """Fresh memory, or the end of the program."""
        site, dtype = e.code.module.site(op.site), DTYPES.index(op.dtype)
        numbers = (e.uniform(op.count), stored(op.dtype).bytes, site, dtype)
        args = ("ptr %ctx", *(f"i64 {number}" for number in numbers))
        data = e.code.let(self._call(e, "noalias ptr", "new", "ptr, i64, i64, i64, i64", *args))
        leave_if(e, e.code.let(f"icmp eq ptr {data}, null"))
        return (Held(UNIFORM, data, data),)

    def retain(self, e: Emitter, let: Let, op: Retain) -> Sequence[Held]:
        """One owner more, of what has owners."""
        if owner(e, op.buffer) != NOBODY:
            e.code.line(self._call(e, "void", "retain", "ptr", f"ptr {owner(e, op.buffer)}"))
        return ()

    def free(self, e: Emitter, let: Let, op: Free) -> Sequence[Held]:
        """One owner less, of what has owners."""
        if owner(e, op.buffer) != NOBODY:
            args = "ptr %ctx", f"ptr {owner(e, op.buffer)}"
            e.code.line(self._call(e, "void", "release", "ptr, ptr nocapture", *args))
        return ()

    def is_unique(self, e: Emitter, let: Let, op: IsUnique) -> Sequence[Held]:
        """Whether there is one owner."""
        call = self._call(e, "i64", "is_unique", "ptr", f"ptr {owner(e, op.buffer)}")
        return (Held(UNIFORM, e.code.let(f"icmp ne i64 {e.code.let(call)}, 0")),)

    @property
    def handlers(self) -> Handlers:
        """What operations on buffers become."""
        return {
            Alloc: self.alloc, Retain: self.retain, Free: self.free, IsUnique: self.is_unique
        }  # fmt: skip


def owner(e: Emitter, atom: Atom) -> str:
    """The owner of a host buffer."""
    return e.hold(atom).owner


def emit_adopt(e: Emitter, let: Let, op: Adopt) -> Sequence[Held]:
    """fw_token: the memory is the caller's, but owners are counted for it."""
    donated = e.code.let(f"zext i1 {e.uniform(op.donated)} to i64")
    token = e.code.call("ptr", "@fw_token", "ptr %ctx", f"i64 {donated}")
    return (Held(UNIFORM, e.hold(op.buffer).text, token),)


def emit_trim(e: Emitter, let: Let, op: Trim) -> Sequence[Held]:
    """fw_trim"""
    if not isinstance(op.buffer.type, BufferType):
        raise TypeError(f"{op.buffer} is not a buffer")
    size = stored(op.buffer.type.dtype).bytes
    used = e.code.let(f"mul i64 {e.uniform(op.count)}, {size}")
    e.code.call("void", "@fw_trim", f"ptr {owner(e, op.buffer)}", f"i64 {used}")
    return ()


# -- launches and failures ------------------------------------------------------------------------


def emit_launch(numbers: Mapping[str, int], e: Emitter, let: Let, op: Launch) -> Sequence[Held]:
    """Run a kernel of this module, or one by its number in the program's table; after an error or
    a cancellation the program ends."""
    code, args = e.code, stored_args(e, op.args)
    function = "@fw_launch_by_number" if op.kernel in numbers else "@fw_launch"
    kind = "i64" if op.kernel in numbers else "ptr"
    kernel = _kernel(numbers, e, op.kernel)
    for choice in reversed(op.variants):
        holds, variant = e.uniform(choice.condition), _kernel(numbers, e, choice.kernel)
        kernel = code.let(f"select i1 {holds}, {kind} {variant}, {kind} {kernel}")
    operands = f"{kind} {kernel}", f"ptr {args}", f"i64 {e.uniform(op.grid)}"
    leave_if(e, code.call("i1", function, "ptr %ctx", *operands))
    return ()


def stored_args(e: Emitter, atoms: Sequence[Atom]) -> str:
    """The address of an array of arguments; kernels do not change it."""
    held = [(atom.type, e.hold(atom).text) for atom in atoms]
    key = ("args", *(f"{slot_type(type_)} {text}" for type_, text in held))
    return e.once(key, lambda: _stored(e, held))


def _stored(e: Emitter, held: Sequence[tuple[Type, str]]) -> str:
    args = e.code.alloca(f"[{max(1, len(held))} x i64]", 8)
    for number, (type_, text) in enumerate(held):
        store_slot(e, args, number, type_, text)
    return args


def _kernel(numbers: Mapping[str, int], e: Emitter, name: str) -> str:
    """A kernel's number in the table, or its symbol."""
    return str(numbers[name]) if name in numbers else e.code.module.name_of(f"@k_{name}")


def emit_call_host(e: Emitter, let: Let, op: CallHost) -> Sequence[Held]:
    """fw_call_host: of each buffer its data and its owner."""
    slots: list[tuple[Type, str]] = []
    for atom in op.args:
        held = e.hold(atom)
        slots.append((atom.type, held.text))
        if isinstance(atom.type, BufferType):
            slots.append((atom.type, held.owner or NOBODY))
    operands = "ptr %ctx", f"i64 {op.number}", f"ptr {_stored(e, slots)}"
    leave_if(e, e.code.call("i1", "@fw_call_host", *operands))
    return ()


def emit_fail(e: Emitter, let: Let, op: Fail) -> Sequence[Held]:
    """End the program where the condition holds."""
    bad, good = e.code.names("bad", "good")
    e.code.branch(e.uniform(op.condition), bad, good)
    e.code.label(bad)
    call_report(e, op.code, op.site, "-1", as_bits(e, op.value), as_bits(e, op.extent))
    e.code.jump(FAILED)
    e.code.label(good)
    return ()


def emit_threads(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """How many threads of a launch run at once."""
    at = slot(e, "%ctx", THREADS_SLOT)
    return (Held(UNIFORM, e.code.let(f"load i64, ptr {at}, align 8")),)


HANDLERS: Handlers = {
    **Memory(SHARED).handlers,
    Adopt: emit_adopt,
    Trim: emit_trim,
    CallHost: emit_call_host,
    Fail: emit_fail,
    Threads: emit_threads,
}
