"""Scalar functions, casts, positions of lanes, and error reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flatweave.base.dtypes import bool_, i64
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, LaneLoop, scalar_type
from flatweave.codegen.llvm.math.casts import cast
from flatweave.codegen.llvm.math.integers import floordiv, floordiv_by_positive, mod
from flatweave.codegen.llvm.math.scalar import emit_cast, emit_scalar
from flatweave.codegen.llvm.module import REPORT, Code, Module
from flatweave.codegen.llvm.shapes import (
    LINEAR,
    REVERSED,
    UNIFORM,
    VARYING,
    Region,
    applied_shape,
    lane_shapes,
)
from flatweave.codegen.llvm.values import Value
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.bounds import bounds_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Let, Op, Var

# Whether a linear value equals a uniform one: at most one lane, found by its number.
#
#     base + lane == x     lane x - base, if there is such a lane
#
# As vectors they would take a register of 64-bit numbers for every eight lanes. The mask is also
# kept as a word, and so is what is combined with it (`Emitter.combined`): counts and ballots read
# the word, selects the mask. LLVM deletes the form without readers.


def is_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> bool:
    """Whether a function of these values is a comparison of this kind."""
    shapes = {h.shape for h in held}
    return fn in ("eq", "ne") and shapes == {LINEAR, UNIFORM} and e.isa.finds_lanes(e.width)


def emit_one_lane(e: Emitter, fn: str, held: Sequence[Held]) -> str:
    """The mask of the lanes where it holds."""
    linear, uniform = sorted(held, key=lambda h: h.shape is UNIFORM)
    lane = e.code.let(f"sub i64 {uniform.text}, {linear.text}")
    there = e.code.let(f"icmp ult i64 {lane}, {e.width}")
    bit = e.code.let(f"shl i64 1, {e.code.let(f'and i64 {lane}, 63')}")
    word = e.code.let(f"select i1 {there}, i64 {bit}, i64 0")
    mask = e.isa.one_lane(e.code, e.width, lane, word)
    e.code.words[mask] = word
    return e.negated(mask) if fn == "ne" else mask


# Whether the position of a lane is below a uniform one: in the first lanes, found by their number.
# Each use of the mask compares the lanes' numbers in as many bits as it needs (`Emitter.fitting`).
#
#     base + lane < n      lane < n - base, a number from 0 to the width


def is_first_lanes(e: Emitter, op: Apply, held: Sequence[Held]) -> bool:
    """Whether a function is a comparison of this kind: of positions, which do not wrap around."""
    position = op.args[0]
    shapes = [h.shape for h in held]
    return op.fn == "lt" and shapes == [LINEAR, UNIFORM] and position not in e.made


def emit_first_lanes(e: Emitter, held: Sequence[Held]) -> str:
    """The mask of the lanes where it holds."""
    position, limit = held
    left = e.code.let(f"sub i64 {limit.text}, {position.text}")
    some = e.code.call("i64", "@llvm.smax.i64", f"i64 {left}", "i64 0")
    return e.first_lanes(e.code.call("i64", "@llvm.smin.i64", f"i64 {some}", f"i64 {e.width}"))


# Whether lanes agree on a condition, by its ends: linear numbers only rise, or only fall.
#
#     and (ge i 2) (lt i n)     all: for base and base + 15; none: base >= n, or base + 15 < 2


class Agreement(NamedTuple):
    """Whether a condition holds in all lanes, and in none, as far as its ends tell."""

    all: str
    none: str = ""  # where that is not asked


def agreement(e: Emitter, condition: Atom) -> Agreement | None:
    """What the first and the last lane say of the lanes between them, of comparisons of linear
    numbers with uniform ones and what consists of these; else None."""
    code, made = e.code, e.made.get(condition) if isinstance(condition, Var) else None
    held = e.hold(condition)
    if held.shape is UNIFORM:
        return Agreement(held.text, code.let(f"xor i1 {held.text}, true"))
    if held.text in e.counts:
        count = e.counts[held.text]
        return Agreement(*(code.let(f"icmp eq i64 {count}, {k}") for k in (e.width, 0)))
    if not isinstance(made, Apply):
        return None
    if made.fn in ("lt", "le", "gt", "ge") and made.args[0].type is i64:
        return _of_ends(e, made)
    if made.args[0].type is not bool_ or made.fn not in ("and", "or", "not"):
        return None
    parts = [agreement(e, arg) for arg in made.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if made.fn == "not":
        return Agreement(known[0].none, known[0].all)
    (a, b), one = known, "or" if made.fn == "and" else "and"
    return Agreement(
        code.let(f"{made.fn} i1 {a.all}, {b.all}"), code.let(f"{one} i1 {a.none}, {b.none}")
    )


def _of_ends(e: Emitter, made: Apply) -> Agreement | None:
    """Of one comparison, if the linear number does not wrap from one end to the other."""
    held, code = [e.hold(arg) for arg in made.args], e.code
    if sorted(h.shape is UNIFORM for h in held) != [False, True] or VARYING in (
        held[0].shape, held[1].shape
    ):
        return None
    linear = next(h for h in held if h.shape is not UNIFORM)
    step = e.width - 1 if linear.shape is LINEAR else 1 - e.width
    end = code.let(f"add i64 {linear.text}, {step}")
    first, last = (
        emit_scalar(code, made.fn, i64, 1, [place if h is linear else h.text for h in held])
        for place in (linear.text, end)
    )
    order = code.let(f"icmp {'sgt' if step > 0 else 'slt'} i64 {end}, {linear.text}")
    both, either = code.let(f"and i1 {first}, {last}"), code.let(f"or i1 {first}, {last}")
    none = code.let(f"xor i1 {either}, true")
    return Agreement(code.let(f"and i1 {order}, {both}"), code.let(f"and i1 {order}, {none}"))


# Scalar functions and casts: once where all lanes agree, on the base of linear values, or wide.
#
# add i n       i linear, n uniform:   add of the base: still linear, one scalar instruction
# floordiv n s  s = maximum k 64:      without the care for divisors 0 and -1
# mod x 10      x = cast i64 of i32:   by a product of 32 bits
# cast i32 i    i linear:              trunc of the base, splat, + <0, 1, 2, ..>
# eq i n        i linear:              one bit of a word (llvm/scalars.py)
# mul x y       x varying:             at the region's width, y splat


_DIVISIONS = {"floordiv": floordiv, "mod": mod}
_SHIFTS = {"shl": Value.__lshift__, "shr": Value.__rshift__}


def emit_apply(e: Emitter, let: Let, op: Apply) -> Sequence[Held]:
    """A scalar function."""
    held = [e.hold(arg) for arg in op.args]
    dtype = scalar_type(op.args[-1].type)
    shape = UNIFORM
    if e.width > 1:
        shape = applied_shape(op, [h.shape for h in held], Region(e.width, e.zeros))
    if shape is UNIFORM and _divides(e.made, op):
        a, b = (Value(e.code, dtype, 1, h.text) for h in held)
        return (Held(UNIFORM, floordiv_by_positive(a, b).text),)
    if shape is VARYING and _divides_integers(op):
        return (Held(VARYING, _quotient(e, op)),)
    if _leaves_bits(e.made, op):
        width = e.width if shape is VARYING else 1
        texts = [e.lanes(h, dtype) if shape is VARYING else h.text for h in held]
        a, b = (Value(e.code, dtype, width, text) for text in texts)
        return (Held(shape, _SHIFTS[op.fn](a, b).text),)
    if shape is not VARYING:
        return (Held(shape, emit_scalar(e.code, op.fn, dtype, 1, [h.text for h in held])),)
    if is_one_lane(e, op.fn, held):
        return (Held(VARYING, emit_one_lane(e, op.fn, held)),)
    if is_first_lanes(e, op, held):
        return (Held(VARYING, emit_first_lanes(e, held)),)
    texts = [e.lanes(h, scalar_type(arg.type)) for h, arg in zip(held, op.args, strict=True)]
    if dtype is bool_ and op.fn in ("and", "or", "xor"):
        return (Held(VARYING, e.combined(op.fn, *texts)),)
    return (Held(VARYING, emit_scalar(e.code, op.fn, dtype, e.width, texts)),)


def is_choice(made: Mapping[Var, Op], atom: Atom) -> bool:
    """Whether each lane of a value is that of one of two others."""
    op = made.get(atom) if isinstance(atom, Var) else None
    return isinstance(op, Apply) and op.fn in ("select", "minimum", "maximum")


def _divides_integers(op: Apply) -> bool:
    """Whether this is a division of integers."""
    return op.fn in _DIVISIONS and scalar_type(op.args[-1].type).is_integer


def _quotient(e: Emitter, op: Apply) -> str:
    """A division of what is known to lie within bounds."""
    dtype = scalar_type(op.args[0].type)
    a, b = (Value(e.code, dtype, e.width, e.vector(arg)) for arg in op.args)
    return _DIVISIONS[op.fn](a, b, bounds_of(e.made, op.args[0])).text


def _leaves_bits(made: Mapping[Var, Op], op: Apply) -> bool:
    """Whether this is a shift by less than all bits, whatever is computed."""
    if op.fn not in _SHIFTS:
        return False
    amount = bounds_of(made, op.args[1])
    return amount.low >= 0 and amount.high < scalar_type(op.args[0].type).bits


def _divides(made: Mapping[Var, Op], op: Apply) -> bool:
    """Whether this is a division by an integer that is computed and more than 0."""
    if op.fn != "floordiv" or isinstance(op.args[1], Const):
        return False
    return scalar_type(op.args[1].type).is_integer and bounds_of(made, op.args[1]).low > 0


def emit_convert(e: Emitter, let: Let, op: Cast) -> Sequence[Held]:
    """A cast."""
    held, source = e.hold(op.arg), scalar_type(op.arg.type)
    if held.shape is UNIFORM:
        return (Held(UNIFORM, emit_cast(e.code, source, op.dtype, 1, held.text)),)
    if held.shape is not VARYING and op.dtype.is_integer and op.dtype is not bool_:
        return (Held(VARYING, e.spread(held, op.dtype)),)
    known = bounds_of(e.made, op.arg) if source.is_integer else None
    x = Value(e.code, source, e.width, e.lanes(held, source))
    return (Held(VARYING, cast(x, op.dtype, known).text),)


SCALAR_HANDLERS: Handlers = {
    Apply: emit_apply,
    Cast: emit_convert,
}


# Where code runs: regions of lanes, and the numbers of the lane, the warp and the block.
#
# lanes 16 (() =>           the body once, on vectors of 16; linear values stay scalars
#     j: i64 = lane i ..)   i, held as the base of i + <0, 1, 2, ..>


def emit_lanes(e: Emitter, let: Let, op: k.Lanes) -> Sequence[Held]:
    """A region that `width` lanes run."""
    region = Region(op.width, e.zeros)
    shapes = lane_shapes(op.body, region) if op.width > 1 else {}
    inner = e.at(op.width, shapes)
    inner.run(op.body)
    return [Held(UNIFORM, inner.uniform(atom)) for atom in op.body.results]


def emit_lane(e: Emitter, let: Let, op: k.Lane) -> Sequence[Held]:
    """base + the number of this lane, or base minus it."""
    base = e.uniform(op.base)
    if e.width == 1:
        return (Held(UNIFORM, base),)
    return (Held(REVERSED if op.reverse else LINEAR, base),)


def emit_block_index(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """The number of the block, which the kernel is given."""
    return (Held(UNIFORM, "%block"),)


def emit_warp_index(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """A block has one warp."""
    return (Held(UNIFORM, "0"),)


def emit_sync(e: Emitter, let: Let, _: Op) -> Sequence[Held]:
    """A block has one warp: there is nobody to wait for."""
    return ()


def emit_backoff(e: Emitter, let: Let, op: k.Backoff) -> Sequence[Held]:
    """fw_backoff"""
    e.code.call("void", "@fw_backoff", f"i64 {e.uniform(op.attempt)}")
    return ()


# Error reports: one call for uniform code, one for each lane that runs in a `lanes` region.
#
# report 3 7 i x n     uniform:   call void @fw_report(ptr %ctx, i64 3, i64 7, i64 i, ..)
#                      lanes 16:  call void @report_lanes_16(ptr %ctx, .., i16 mask, ..)
#                                 a cold function: @fw_report for each lane in the mask


def call_report(e: Emitter, code: int, site: int, index: str, value: str, extent: str) -> None:
    """One report."""
    e.code.declare(REPORT)
    e.code.line(
        f"call void @fw_report(ptr %ctx, i64 {code}, i64 {e.code.module.site(site)}, "
        f"i64 {index}, i64 {value}, i64 {extent})"
    )


def emit_report(e: Emitter, let: Let, op: Report) -> Sequence[Held]:
    """A report for each lane that runs."""
    texts = [as_bits(e, atom) for atom in (op.index, op.value, op.extent)]
    if e.width == 1:
        call_report(e, op.code, op.site, *texts)
        return ()
    _define(e.code.module, e.width)
    kind, bits, site = f"<{e.width} x i64>", f"i{e.width}", e.code.module.site(op.site)
    listed = ", ".join(f"{kind} {text}" for text in texts)
    e.code.line(
        f"call void @report_lanes_{e.width}(ptr %ctx, i64 {op.code}, i64 {site}, "
        f"{bits} {e.mask_bits(e.mask)}, {listed})"
    )
    return ()


def as_bits(e: Emitter, atom: Atom) -> str:
    """A value in every lane as an i64: integers extended, floats by their bits."""
    dtype, text = scalar_type(atom.type), e.vector(atom)
    if dtype.is_float:
        text = _converted(e, "bitcast", dtype.llvm, f"i{dtype.bits}", text)
    if dtype.bits == i64.bits:
        return text
    opcode = "sext" if dtype.kind == "i" else "zext"
    return _converted(e, opcode, f"i{dtype.bits}", "i64", text)


def _converted(e: Emitter, opcode: str, source: str, target: str, text: str) -> str:
    if e.width > 1:
        source, target = f"<{e.width} x {source}>", f"<{e.width} x {target}>"
    return e.code.let(f"{opcode} {source} {text} to {target}")


def _define(module: Module, width: int) -> None:
    """The function that reports for each lane of a mask with a lane in it."""
    name, kind, bits = f"@report_lanes_{width}", f"<{width} x i64>", f"i{width}"
    if module.defines(name):
        return
    code = Code(module)
    code.declare(REPORT)
    loop = LaneLoop(code, width, "%mask")
    texts = [
        f"i64 {code.let(f'extractelement {kind} {x}, {loop.lane}')}"
        for x in ("%index", "%value", "%extent")
    ]
    code.line(f"call void @fw_report(ptr %ctx, i64 %code, i64 %site, {', '.join(texts)})")
    loop.next()
    code.line("ret void")
    head = (
        f"define internal void {name}(ptr %ctx, i64 %code, i64 %site, {bits} %mask, "
        f"{kind} %index, {kind} %value, {kind} %extent) cold noinline #0 {{"
    )
    module.define(name, head, code)


HANDLERS: Handlers = {
    k.Lanes: emit_lanes,
    k.Lane: emit_lane,
    k.BlockIndex: emit_block_index,
    k.WarpIndex: emit_warp_index,
    k.Sync: emit_sync,
    k.Backoff: emit_backoff,
    Report: emit_report,
}
