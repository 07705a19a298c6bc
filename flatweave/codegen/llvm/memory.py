"""Loads, stores and atomics: scalar, whole vectors, or lane by lane, as the index is held.

    load xs i     i uniform:  load float                          one element for all lanes
                  i linear:   load <16 x float>                   (reversed: and a reverse shuffle)
                  i varying:  llvm.masked.gather; runs and shuffles for indices within a few
                              registers, one run where lanes agree (permuted.py)
    store xs i y  i uniform:  the value of the last lane          i linear, varying: as load
    under a mask: llvm.masked.load, .store, .gather, .scatter; where the CPU has no such load, all
                  lanes if they are in one page

Bools are i8 in memory and i1 in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access import Value
from flatweave.base.dtypes import DType, bool_, i64, stored, u8, u32, u64
from flatweave.codegen.llvm import counted
from flatweave.codegen.llvm import permuted as permuting
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, prefetch, store_lanes
from flatweave.codegen.llvm.module import Body, Code, shuffle, suffix, vec
from flatweave.codegen.llvm.scalars import is_choice
from flatweave.codegen.llvm.shapes import LINEAR, REVERSED, UNIFORM, VARYING
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, Prefetch, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Load, Release, Shared, Store
from flatweave.terms.syntax import Atom, Let, Var

AHEAD = 2048
"""Bytes from a load to what is fetched ahead of it: longer than a memory's latency, and over the
end of a page, where the prefetcher of a CPU stops."""
PAGE = 4096  # bytes of the smallest page: who may read one of them may read all
LARGE = 32 * 2**10  # bytes of shared memory that are too many for a stack


def from_memory(e: Emitter, dtype: DType, width: int, text: str) -> str:
    """A loaded value as it is held in registers."""
    if dtype is not bool_:
        return text
    zero = "0" if width == 1 else "zeroinitializer"
    return e.code.let(f"icmp ne {vec(u8, width)} {text}, {zero}")


def to_memory(e: Emitter, dtype: DType, width: int, text: str) -> str:
    """A value from registers as it is stored."""
    if dtype is not bool_:
        return text
    return e.code.let(f"zext {vec(bool_, width)} {text} to {vec(u8, width)}")


def element(e: Emitter, buffer: str, dtype: DType, index: str) -> str:
    """The address of one element that is there."""
    return e.code.let(f"getelementptr inbounds {stored(dtype).llvm}, ptr {buffer}, i64 {index}")


def load_scalar(e: Emitter, buffer: str, dtype: DType, index: str) -> str:
    """One element."""
    at, kept = element(e, buffer, dtype, index), stored(dtype)
    return from_memory(e, dtype, 1, e.code.let(f"load {kept.llvm}, ptr {at}, align {kept.bytes}"))


def store_scalar(e: Emitter, buffer: str, dtype: DType, index: str, value: str) -> None:
    """Write one element."""
    at, kept = element(e, buffer, dtype, index), stored(dtype)
    text = to_memory(e, dtype, 1, value)
    e.code.line(f"store {kept.llvm} {text}, ptr {at}, align {kept.bytes}")


# -- load -----------------------------------------------------------------------------------------


def emit_load(e: Emitter, let: Let, op: Load) -> Sequence[Held]:
    """buffer[index]"""
    dtype, buffer, index = dtype_in(op.buffer), e.held[op.buffer].text, e.hold(op.index)
    if index.shape is UNIFORM:
        return (Held(UNIFORM, load_scalar(e, buffer, dtype, index.text)),)
    kept = stored(dtype)
    if op.ahead and index.shape is LINEAR and e.mask is None:
        prefetch(e, buffer, kept.bytes, index.text, AHEAD, e.width * kept.bytes)
    if index.shape is VARYING:
        text = counted.load_expanded(e, buffer, kept, op.index) or _load_varying(
            e, buffer, kept, index, e.values.of(op.index)
        )
    else:
        text = _load_run(e, buffer, kept, index)
    return (Held(VARYING, from_memory(e, dtype, e.width, text)),)


def _load_varying(e: Emitter, buffer: str, kept: DType, index: Held, value: Value) -> str:
    """Elements that are near each other, or in one of several runs, or anywhere."""
    permuted = permuting.find_permuted(e, value)
    if permuted is not None:
        return permuting.load_permuted(e, buffer, kept, permuted)
    if permuting.slope(e, value) in (1, -1):
        return permuting.load_pieces(e, buffer, kept, index, value, _load_run, gather)
    return gather(e, buffer, kept, index)


def emit_prefetch(e: Emitter, let: Let, op: Prefetch) -> Sequence[Held]:
    """Where prefetching pays, the lines of a run of elements; under a mask, of all of them."""
    kept, index = stored(dtype_in(op.buffer)), e.hold(op.index)
    if e.isa.read_ahead and index.shape is LINEAR:
        prefetch(e, e.held[op.buffer].text, kept.bytes, index.text, 0, e.width * kept.bytes)
    return ()


def _load_run(e: Emitter, buffer: str, kept: DType, index: Held) -> str:
    """Neighbouring elements."""
    kind = vec(kept, e.width)
    if e.mask is None:
        at = element(e, buffer, kept, e.lowest(index))
        text = e.code.let(f"load {kind}, ptr {at}, align {kept.bytes}")
    else:
        text = masked_load(e, kept, _place(e, buffer, kept, index), _mask_for(e, index))
    return reverse(e, kept, text) if index.shape is REVERSED else text


def masked_load(e: Emitter, kept: DType, at: str, mask: str) -> str:
    """Neighbouring elements under a mask, and zeros. Where LLVM makes a branch for each lane, all
    are loaded if they are in one page with an element that is wanted."""
    code, kind, lanes = e.code, vec(kept, e.width), f"{e.mask_type} {e.fitting(mask, kept)}"

    def of_part() -> str:
        name = f"@llvm.masked.load.{suffix(kept, e.width)}.p0"
        operands = f"ptr {at}", f"i32 {kept.bytes}", lanes
        return code.call(kind, name, *operands, f"{kind} zeroinitializer")

    def of_all() -> str:
        loaded = code.let(f"load {kind}, ptr {at}, align {kept.bytes}")
        return code.let(f"select {lanes}, {kind} {loaded}, {kind} zeroinitializer")

    if e.isa.masks_loads(kept):
        return of_part()
    address = code.let(f"ptrtoint ptr {at} to i64")
    offset = code.let(f"and i64 {address}, {PAGE - 1}")
    fits = code.let(f"icmp ule i64 {offset}, {PAGE - e.width * kept.bytes}")
    return code.choose(code.let(f"and i1 {fits}, {e.any(mask)}"), kind, of_all, of_part)


def _place(e: Emitter, buffer: str, kept: DType, index: Held) -> str:
    """The address of the lowest lane's element, which need not be there under a mask."""
    low = e.lowest(index)
    return e.code.let(f"getelementptr {kept.llvm}, ptr {buffer}, i64 {low}")


def _mask_for(e: Emitter, index: Held) -> str:
    """The mask in the order of memory."""
    mask = e.mask or "splat (i1 true)"
    return reverse(e, bool_, mask) if index.shape is REVERSED else mask


def reverse(e: Emitter, dtype: DType, text: str) -> str:
    """The lanes in opposite order. LLVM moves the intrinsic through arithmetic, and cancels two;
    unoptimised it cannot copy what the intrinsic makes of a mask."""
    kind, name = vec(dtype, e.width), f"@llvm.vector.reverse.{suffix(dtype, e.width)}"
    if dtype is bool_:
        return shuffle(e.code, kind, text, range(e.width)[::-1])
    return e.code.call(kind, name, f"{kind} {text}")


def gather_pointers(e: Emitter, buffer: str, kept: DType, index: str) -> str:
    return e.code.let(f"getelementptr {kept.llvm}, ptr {buffer}, <{e.width} x i64> {index}")


def gather(e: Emitter, buffer: str, kept: DType, index: Held) -> str:
    """Elements from anywhere."""
    if e.mask is not None and e.isa.gathers_in_words(kept):
        return _gather_in_words(e, buffer, kept, index)
    return gathered(e, kept, gather_pointers(e, buffer, kept, index.text))


def gathered(e: Emitter, kept: DType, places: str, align: int = 0) -> str:
    """What is at these addresses, for the lanes that run; each a multiple of `align`, if given."""
    kind, type_, align = vec(kept, e.width), f"<{e.width} x ptr>", align or kept.bytes
    mask = e.mask
    if mask is not None and not e.isa.masks_gathers:  # LLVM would branch on it lane by lane
        places, mask = _or_zero(e, places, mask), None
    if mask is None and kept.bits < u32.bits and e.width * kept.bits >= e.isa.register_bits:
        return e.code.let(f"call {kind} {_gathers_in_function(e, kept)}({type_} {places})")
    if mask is None and kept.bits >= u32.bits and not e.isa.has_gathers:
        return _loaded_by_lane(e, kept, places, align)
    return _gathers_here(e.code, e.width, kept, places, mask or "splat (i1 true)", align)


def _or_zero(e: Emitter, places: str, mask: str) -> str:
    """The addresses in the lanes that run; in the others one of a zero."""
    kind, zero = f"<{e.width} x ptr>", "@fw.zero"
    e.code.module.constant(zero, "i64 0", align=u64.bytes)
    return e.code.let(f"select {e.mask_type} {mask}, {kind} {places}, {kind} splat (ptr {zero})")


def _loaded_by_lane(e: Emitter, kept: DType, places: str, align: int) -> str:
    """A load for each lane."""
    kind, total = vec(kept, e.width), "poison"
    for lane in range(e.width):
        at = e.code.let(f"extractelement <{e.width} x ptr> {places}, i64 {lane}")
        found = e.code.let(f"load {kept.llvm}, ptr {at}, align {align}")
        total = e.code.let(f"insertelement {kind} {total}, {kept.llvm} {found}, i64 {lane}")
    return total


def _gathers_here(code: Body, width: int, kept: DType, places: str, mask: str, align: int) -> str:
    """LLVM's own gather."""
    kind, type_, flags = vec(kept, width), f"<{width} x ptr>", vec(bool_, width)
    name = f"@llvm.masked.gather.{suffix(kept, width)}.v{width}p0"
    operands = f"{type_} {places}", f"i32 {align}", f"{flags} {mask}"
    return code.call(kind, name, *operands, f"{kind} zeroinitializer")


def _gathers_in_function(e: Emitter, kept: DType) -> str:
    """A function of the module that gathers a register of bytes or halves. No CPU can do that,
    and LLVM writes a load and an insertion for each lane: 28 gathers of 64 took it 0.8 s.
    A call spills the caller's registers, so fewer lanes are gathered where they are read."""
    kind, type_ = vec(kept, e.width), f"<{e.width} x ptr>"
    name = f"@fw.gather.{suffix(kept, e.width)}"
    if not e.code.module.defines(name):
        code = Code(e.code.module)
        found = _gathers_here(code, e.width, kept, "%where", "splat (i1 true)", kept.bytes)
        code.line(f"ret {kind} {found}")
        head = f"define internal {kind} {name}({type_} %where) noinline nounwind memory(read) {{"
        e.code.module.define(name, head, code)
    return name


def _gather_in_words(e: Emitter, buffer: str, kept: DType, index: Held) -> str:
    """Bytes and halves out of the aligned 32-bit words around them, which never cross a page: no
    x86 CPU gathers smaller elements."""
    code, width, kind = e.code, e.width, vec(u32, e.width)
    pointers = gather_pointers(e, buffer, kept, index.text)
    at = code.let(f"ptrtoint <{width} x ptr> {pointers} to {vec(i64, width)}")
    word = code.let(f"and {vec(i64, width)} {at}, splat (i64 -4)")
    places = code.let(f"inttoptr {vec(i64, width)} {word} to <{width} x ptr>")
    words = gathered(e, u32, places)
    low = code.let(f"trunc {vec(i64, width)} {at} to {kind}")
    bit = code.let(f"shl {kind} {low}, splat (i32 3)")
    shift = code.let(f"and {kind} {bit}, splat (i32 31)")
    moved = code.let(f"lshr {kind} {words}, {shift}")
    return code.let(f"trunc {kind} {moved} to {vec(kept, width)}")


# -- store ----------------------------------------------------------------------------------------


def emit_store(e: Emitter, let: Let, op: Store) -> Sequence[Held]:
    """buffer[index] = value"""
    dtype, buffer, index = dtype_in(op.buffer), e.held[op.buffer].text, e.hold(op.index)
    if index.shape is UNIFORM:
        store_scalar(e, buffer, dtype, index.text, uniform_value(e, op.value, dtype))
        return ()
    text, kept = to_memory(e, dtype, e.width, e.vector(op.value)), stored(dtype)
    if is_choice(e.made, op.value):  # between a value and what is there: a masked store, to LLVM
        text = e.code.let(f"freeze {vec(kept, e.width)} {text}")
    permuted = permuting.find_permuted(e, e.values.of(op.index)) if index.shape is VARYING else None
    if permuted is not None and permuting.may_store(permuted):
        permuting.store_permuted(e, buffer, kept, permuted, text)
    elif index.shape is VARYING:
        scatter(e, buffer, kept, index, text)
    else:
        _store_run(e, buffer, kept, index, text, op.streaming)
    return ()


def uniform_value(e: Emitter, atom: Atom, dtype: DType) -> str:
    """The value to store where all lanes store to one address: that of the last active lane."""
    value = e.hold(atom)
    if value.shape is UNIFORM:
        return value.text
    return e.last_active(e.lanes(value, dtype), dtype)


def _store_run(
    e: Emitter, buffer: str, kept: DType, index: Held, text: str, streaming: bool
) -> None:
    """Neighbouring elements; past the caches where that was asked for."""
    if index.shape is REVERSED:
        text = reverse(e, kept, text)
    if e.mask is not None:
        kind = vec(kept, e.width)
        at, name = _place(e, buffer, kept, index), f"@llvm.masked.store.{suffix(kept, e.width)}.p0"
        operands = f"ptr {at}", f"i32 {kept.bytes}", f"{e.mask_type} {_mask_for(e, index)}"
        e.code.call("void", name, f"{kind} {text}", *operands)
        return
    store_lanes(e, element(e, buffer, kept, e.lowest(index)), kept, e.width, text, streaming)


def scatter(e: Emitter, buffer: str, kept: DType, index: Held, text: str) -> None:
    """Store elements at arbitrary indices; of two lanes with the same index the later wins."""
    at = gather_pointers(e, buffer, kept, index.text)
    if e.mask is None and not e.isa.has_gathers:
        return _stored_by_lane(e, kept, at, text)
    name = f"@llvm.masked.scatter.{suffix(kept, e.width)}.v{e.width}p0"
    operands = f"{vec(kept, e.width)} {text}", f"<{e.width} x ptr> {at}", f"i32 {kept.bytes}"
    e.code.call("void", name, *operands, f"{e.mask_type} {e.mask or 'splat (i1 true)'}")


def _stored_by_lane(e: Emitter, kept: DType, places: str, text: str) -> None:
    """A store for each lane, in their order."""
    for lane in range(e.width):
        at = e.code.let(f"extractelement <{e.width} x ptr> {places}, i64 {lane}")
        value = e.code.let(f"extractelement {vec(kept, e.width)} {text}, i64 {lane}")
        e.code.line(f"store {kept.llvm} {value}, ptr {at}, align {kept.bytes}")


def emit_shared(e: Emitter, let: Let, op: Shared) -> Sequence[Held]:
    """Memory on the stack, or a buffer if it is large: the stacks of threads may be small."""
    size = op.count * stored(op.dtype).bytes
    if size >= LARGE:
        return (Held(UNIFORM, e.code.scratch(size)),)
    return (Held(UNIFORM, e.code.alloca(f"[{op.count} x {stored(op.dtype).llvm}]")),)


# -- ordered access -------------------------------------------------------------------------------


def emit_acquire(e: Emitter, let: Let, op: Acquire | AcquireLanes) -> Sequence[Held]:
    """load atomic acquire"""
    return _load_atomic(e, op.buffer, op.index, "acquire")


def _load_atomic(e: Emitter, buffer: Var, index: Atom, order: str) -> Sequence[Held]:
    """One element, or in lanes one for each."""
    dtype = dtype_in(buffer)
    kept, text = stored(dtype), e.held[buffer].text
    if e.width == 1:
        at = element(e, text, dtype, e.uniform(index))
        text = e.code.let(f"load atomic {kept.llvm}, ptr {at} {order}, align {kept.bytes}")
        return (Held(UNIFORM, from_memory(e, dtype, 1, text)),)
    kind, total = vec(kept, e.width), "poison"
    for lane, place in enumerate(_of_each_lane(e, index)):
        at = element(e, text, dtype, place)
        found = e.code.let(f"load atomic {kept.llvm}, ptr {at} {order}, align {kept.bytes}")
        total = e.code.let(f"insertelement {kind} {total}, {kept.llvm} {found}, i64 {lane}")
    return (Held(VARYING, from_memory(e, dtype, e.width, total)),)


def emit_release(e: Emitter, let: Let, op: Release) -> Sequence[Held]:
    """store atomic release, after a fence where it does not order streaming stores"""
    dtype = dtype_in(op.buffer)
    at, kept = element(e, e.held[op.buffer].text, dtype, e.uniform(op.index)), stored(dtype)
    text = to_memory(e, dtype, 1, e.uniform(op.value))
    fence_streams(e)
    e.code.line(f"store atomic {kept.llvm} {text}, ptr {at} release, align {kept.bytes}")
    return ()


def emit_load_whole(e: Emitter, let: Let, op: LoadWhole) -> Sequence[Held]:
    """load atomic monotonic, of one word"""
    assert op.count == 1, "a CPU loads one word at once"
    return _load_atomic(e, op.buffer, op.index, "monotonic")


def emit_store_whole(e: Emitter, let: Let, op: StoreWhole) -> Sequence[Held]:
    """store atomic monotonic, of one word, or in lanes one for each"""
    (value,) = op.values_
    text = e.held[op.buffer].text
    if e.width == 1:
        pairs = [(e.uniform(op.index), e.uniform(value))]
    else:
        pairs = list(zip(_of_each_lane(e, op.index), _of_each_lane(e, value), strict=True))
    for place, word in pairs:
        at = element(e, text, i64, place)
        e.code.line(f"store atomic i64 {word}, ptr {at} monotonic, align 8")
    return ()


def _of_each_lane(e: Emitter, atom: Atom) -> list[str]:
    """An i64 of each lane."""
    lanes = f"<{e.width} x i64> {e.vector(atom)}"
    return [e.code.let(f"extractelement {lanes}, i64 {lane}") for lane in range(e.width)]


def fence_streams(e: Emitter) -> None:
    """Order streaming stores before what follows, if the function has any."""
    if e.code.has_streamed:
        e.isa.fence_streams(e.code)


HANDLERS: Handlers = {
    Load: emit_load,
    Prefetch: emit_prefetch,
    Shared: emit_shared,
    Store: emit_store,
    Acquire: emit_acquire,
    AcquireLanes: emit_acquire,
    Release: emit_release,
    LoadWhole: emit_load_whole,
    StoreWhole: emit_store_whole,
}
