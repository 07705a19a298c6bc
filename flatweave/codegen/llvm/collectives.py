"""What the lanes of a warp do together: reduce, scan, shift, count, vote.

    reduce_lanes f xs    add of integers and the like: llvm.vector.reduce.add
                         f commutative: f (low half) (high half), and again at half the width
                         any f:         f (even lanes) (odd lanes), and again: in lane order
    scan_lanes f e xs    for d = 1, 2, 4 ..: xs = f (xs moved up by d, e moved in) xs
      starts=[s]           only in lanes l without a start in l - d + 1 .. l: these sets are words,
                           m = ~s, then m & (m << 1), m & (m << 2) ..

The operator is emitted at every width that it is needed at.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_
from flatweave.codegen.llvm import counted
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.memory import reverse
from flatweave.codegen.llvm.module import indices, mask_of_word, shuffle, suffix, vec, word_of_mask
from flatweave.codegen.llvm.shapes import LINEAR, REVERSED, UNIFORM, VARYING
from flatweave.kernel_ir.warp_ops import (
    Ballot,
    CountLanes,
    InSet,
    LastLane,
    ReduceLanes,
    ScanLanes,
    ShiftLanes,
    SwapLanes,
)
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Lambda, Let

_EXACT = ("add", "mul", "and", "or", "xor")
_BOOLS = {"add": "or", "mul": "and", "minimum": "and", "maximum": "or"}


# -- reduce ---------------------------------------------------------------------------------------


def emit_reduce(e: Emitter, let: Let, op: ReduceLanes) -> Sequence[Held]:
    """All lanes combined in their order."""
    if e.width == 1:
        return [e.hold(arg) for arg in op.args]
    dtypes = [scalar_type(arg.type) for arg in op.args]
    texts = [e.vector(arg) for arg in op.args]
    names = component_functions(op.fn) or ()
    exact = [_intrinsic(name, dtype) for name, dtype in zip(names, dtypes, strict=False)]
    if exact and all(exact):
        each = zip(exact, dtypes, texts, strict=True)
        return [Held(UNIFORM, _reduced(e, name, dtype, text)) for name, dtype, text in each]
    halves = op.any_order or (len(names) == 1 and TABLE[names[0]].commutative)
    width = e.width
    while width > 1:
        parts = [
            _parts(e, dtype, width, text, halves)
            for dtype, text in zip(dtypes, texts, strict=True)
        ]
        width //= 2
        texts = combine(e.at(width), op.fn, dtypes, [a for a, _ in parts], [b for _, b in parts])
    return [Held(UNIFORM, text) for text in texts]


def combine(
    e: Emitter, fn: Lambda, dtypes: Sequence[DType], first: Sequence[str], second: Sequence[str]
) -> list[str]:
    """An operator on two rows of values at the emitter's width."""
    shape = VARYING if e.width > 1 else UNIFORM
    results = e.run(fn, [Held(shape, text) for text in (*first, *second)])
    return [e.lanes(held, dtype) for held, dtype in zip(results, dtypes, strict=True)]


def _parts(e: Emitter, dtype: DType, width: int, text: str, halves: bool) -> tuple[str, str]:
    """Every other lane, or the low and the high half."""
    kind, half = vec(dtype, width), width // 2
    if half == 1:
        low = e.code.let(f"extractelement {kind} {text}, i64 0")
        return low, e.code.let(f"extractelement {kind} {text}, i64 1")
    lanes = (
        (range(half), range(half, width)) if halves else (range(0, width, 2), range(1, width, 2))
    )
    first, second = (
        e.code.let(f"shufflevector {kind} {text}, {kind} poison, {indices(part)}")
        for part in lanes
    )
    return first, second


def _intrinsic(name: str, dtype: DType) -> str:
    """The vector.reduce of an operator that is exact in any order; else nothing."""
    if dtype is bool_:
        name = _BOOLS.get(name, name)
    if dtype.is_float or not name:
        return ""
    if name in _EXACT:
        return name
    if name in ("minimum", "maximum"):
        return f"{'s' if dtype.is_signed else 'u'}{name[:3]}"
    return ""


def _reduced(e: Emitter, name: str, dtype: DType, text: str) -> str:
    kind, function = vec(dtype, e.width), f"@llvm.vector.reduce.{name}.{suffix(dtype, e.width)}"
    return e.code.call(dtype.llvm, function, f"{kind} {text}")


# -- scan and shift -------------------------------------------------------------------------------


def emit_scan(e: Emitter, let: Let, op: ScanLanes) -> Sequence[Held]:
    """Inclusive prefixes over the lanes: after the step with distance d, of 2d lanes."""
    if e.width == 1:
        return [e.hold(arg) for arg in op.args]
    dtypes = [scalar_type(arg.type) for arg in op.args]
    flag = counted.counted_flag(e, op)
    if flag is not None and e.width <= dtypes[0].bits:
        return [Held(VARYING, counted.counts(e, flag, dtypes[0]))]
    texts = [e.vector(arg) for arg in op.args]
    neutral = [e.vector(atom) for atom in op.neutral]
    joining = _without_start(e, op.starts[0]) if op.starts else ""
    # lanes against the order of memory: LLVM cancels these reversals with those of loads and stores
    mirrored = not joining and REVERSED in e.shapes.values()
    if mirrored:
        texts = [reverse(e, *pair) for pair in zip(dtypes, texts, strict=True)]
    distance = 1
    while distance < e.width:
        moved = [
            shifted(e, dtype, text, fill, distance, down=mirrored)
            for dtype, text, fill in zip(dtypes, texts, neutral, strict=True)
        ]
        if any(isinstance(let.op, Apply) and let.op.fn == "select" for let in op.fn.lets):
            pairs = zip(dtypes, moved, strict=True)
            moved = [_filled(e, dtype, text) if dtype.is_float else text for dtype, text in pairs]
        both = combine(e.at(e.width), op.fn, dtypes, moved, texts)
        if joining:
            mask = e.code.let(f"bitcast i{e.width} {joining} to {e.mask_type}")
            trios = zip(dtypes, both, texts, strict=True)
            both = [e.select(mask, dtype, joined, alone) for dtype, joined, alone in trios]
            joining = _reaching_further(e, joining, distance)
        texts = both
        distance *= 2
    if mirrored:
        texts = [reverse(e, *pair) for pair in zip(dtypes, texts, strict=True)]
    return [Held(VARYING, text) for text in texts]


def _filled(e: Emitter, dtype: DType, text: str) -> str:
    """The same floats after an optimisation fence: the lanes filled in keep their values.

    Where the operator selects between an operand and a result, LLVM may find those lanes unused and
    leave whatever the register holds in them, often a subnormal number, with which arithmetic runs
    at a hundredth of the speed.
    """
    kind = vec(dtype, e.width)
    name = f"llvm.arithmetic.fence.v{e.width}f{dtype.bits}"
    return e.code.call(kind, f"@{name}", f"{kind} {text}")


def _without_start(e: Emitter, flag: Atom) -> str:
    """A word of the lanes where no segment starts, without lane 0."""
    bits = f"i{e.width}"
    starts = e.mask_bits(e.vector(flag))
    return e.code.let(f"xor {bits} {e.code.let(f'or {bits} {starts}, 1')}, -1")


def _reaching_further(e: Emitter, joining: str, distance: int) -> str:
    """The lanes l without a start in the 2d lanes up to l, given those without one in d."""
    bits = f"i{e.width}"
    below = e.code.let(f"shl {bits} {joining}, {distance}")
    return e.code.let(f"and {bits} {joining}, {below}")


def shifted(
    e: Emitter, dtype: DType, text: str, fill: str, distance: int, *, down: bool = False
) -> str:
    """Every value `distance` lanes up, or down, and `fill` in the lanes that are left."""
    kind, width = vec(dtype, e.width), e.width
    lanes = range(width - distance, 2 * width - distance)
    if down:
        fill, text, lanes = text, fill, range(distance, width + distance)
    if not dtype.is_float:
        return e.code.let(f"shufflevector {kind} {fill}, {kind} {text}, {indices(lanes)}")
    # As pairs of integers: LLVM has the align instruction (one cycle) for integers only, makes a
    # slow expand of floats that meet zeros, and undoes a cast to integers of the same size.
    halves = f"<{2 * width} x i{dtype.bits // 2}>"
    low, high = (e.code.let(f"bitcast {kind} {x} to {halves}") for x in (fill, text))
    pairs = indices(2 * lane + part for lane in lanes for part in (0, 1))
    moved = e.code.let(f"shufflevector {halves} {low}, {halves} {high}, {pairs}")
    return e.code.let(f"bitcast {halves} {moved} to {kind}")


def emit_shift(e: Emitter, let: Let, op: ShiftLanes) -> Sequence[Held]:
    """The lane below's value; the first lane's is `fill`."""
    if e.width == 1:
        return [e.hold(atom) for atom in op.fill]
    moved = []
    for atom, fill in zip(op.args, op.fill, strict=True):
        text = shifted(e, scalar_type(atom.type), e.vector(atom), e.vector(fill), 1)
        moved.append(Held(VARYING, text))
    return moved


def emit_last(e: Emitter, let: Let, op: LastLane) -> Sequence[Held]:
    """The last lane's values."""
    return [_last(e, e.hold(atom), scalar_type(atom.type)) for atom in op.args]


def _last(e: Emitter, held: Held, dtype: DType) -> Held:
    last = e.width - 1
    if held.shape is UNIFORM:
        return held
    if held.shape is VARYING:
        text = e.code.let(f"extractelement {vec(dtype, e.width)} {held.text}, i64 {last}")
        return Held(UNIFORM, text)
    opcode = "add" if held.shape is LINEAR else "sub"
    return Held(UNIFORM, e.code.let(f"{opcode} i64 {held.text}, {last}"))


def emit_count(e: Emitter, let: Let, op: CountLanes) -> Sequence[Held]:
    """The number of lanes that run where the flag holds."""
    if e.width == 1:
        flag = e.uniform(op.flag)
        return (Held(UNIFORM, e.code.let(f"zext i1 {flag} to i64")),)
    return (Held(UNIFORM, count_bits(e, e.width, e.masked(e.vector(op.flag)))),)


def emit_ballot(e: Emitter, let: Let, op: Ballot) -> Sequence[Held]:
    """The lanes that run where the flag holds, as a word."""
    if e.width == 1:
        return (Held(UNIFORM, e.code.let(f"zext i1 {e.uniform(op.flag)} to i64")),)
    return (Held(UNIFORM, word_of_mask(e.code, e.width, e.masked(e.vector(op.flag)))),)


def emit_in_set(e: Emitter, let: Let, op: InSet) -> Sequence[Held]:
    """The bits of a word, one for each lane."""
    lanes = e.uniform(op.lanes)
    if e.width == 1:
        return (Held(UNIFORM, e.code.let(f"trunc i64 {lanes} to i1")),)
    return (Held(VARYING, mask_of_word(e.code, e.width, lanes)),)


def count_bits(e: Emitter, width: int, mask: str) -> str:
    """How many of the lanes of a mask are set, as an i64."""
    return e.code.call("i64", "@llvm.ctpop.i64", f"i64 {word_of_mask(e.code, width, mask)}")


# Lanes exchange their values in pairs: one shuffle.
#
# y = swap_lanes 1 [x]      %y = shufflevector <4 x i32> %x, .. <i32 1, i32 0, i32 3, i32 2>


def emit_swap(e: Emitter, let: Let, op: SwapLanes) -> Sequence[Held]:
    """Lane l gets the values of lane l xor the mask."""
    lanes = [lane ^ op.mask for lane in range(e.width)]

    def swapped(arg: Atom) -> Held:
        kind = vec(scalar_type(arg.type), e.width)
        return Held(VARYING, shuffle(e.code, kind, e.vector(arg), lanes))

    return [swapped(arg) for arg in op.args]


HANDLERS: Handlers = {
    ReduceLanes: emit_reduce,
    CountLanes: emit_count,
    Ballot: emit_ballot,
    InSet: emit_in_set,
    SwapLanes: emit_swap,
}
