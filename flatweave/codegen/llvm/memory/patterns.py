"""Places that lanes have at known distances from each other: vectors are permuted, not gathered.

    lanes             i = 0 1 2 3 4 5 6 7               of a step that begins at a multiple of 8
    xor i 2               2 3 0 1 6 7 4 5               one register, permuted
    add i (and i ~1)      0 1 4 5 8 9 12 13             two registers, half of each

    x = load xs (xor i 2)       load <8 x float>, shufflevector <2, 3, 0, 1, 6, 7, 4, 5>
    store ys (xor i 2) x        shufflevector, store <8 x float>
    store ys (add i ..) x       the same, in two registers under masks that are constants

A place is known as an *anchor*, which is the same for all lanes and a multiple of 2^z, and a number
for each lane. Bits of both are computed apart where the numbers are below 2^z. Elements between
those that lanes load are loaded, too: they lie between elements that are there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.body.shapes import LINEAR, UNIFORM, VARYING
from flatweave.codegen.llvm.math.scalar import emit_scalar
from flatweave.codegen.llvm.text.module import suffix, vec
from flatweave.codegen.llvm.text.vectors import indices
from flatweave.kernel_ir.trailing_zeros import zeros_in, zeros_of
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const

MOST = 8
"""Functions that are followed from a place to what it is computed from."""
MOST_BITS = 32
"""Of an anchor that are asked for: numbers of lanes are small."""
Numbers = tuple[int, ...]
BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
SUMS: Mapping[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub}


class Pattern(NamedTuple):
    """The place of lane 0 as text, a number for each lane beside an anchor, how many low bits of
    that are zero, and what it is: equal texts are equal anchors."""

    first: str
    numbers: Numbers
    zeros: int
    anchor: str


# -- what is known --------------------------------------------------------------------------------


def find_pattern(e: Emitter, index: Atom) -> Pattern | None:
    """The pattern of a varying place, if its lanes are within two registers of each other."""
    found = None if e.mask is not None else _pattern(e, index, 0)
    if found is None:
        return None
    span = max(found.numbers) - min(found.numbers) + 1
    return found if 1 < span <= 2 * e.width else None


def _pattern(e: Emitter, atom: Atom, depth: int) -> Pattern | None:
    held = e.hold(atom)
    if held.shape is not VARYING:
        sign = {UNIFORM: 0, LINEAR: 1}.get(held.shape, -1)
        numbers = tuple(sign * lane for lane in range(e.width))
        return Pattern(held.text, numbers, min(MOST_BITS, zeros_of(e.zeros, atom)), held.text)
    made = None if isinstance(atom, Const) or depth == MOST else e.made.get(atom)
    if not isinstance(made, Apply) or len(made.args) != 2 or atom.type is not i64:
        return None
    a, b = (_pattern(e, arg, depth + 1) for arg in made.args)
    known = None if a is None or b is None else _applied(made, a, b)
    if a is None or b is None or known is None:
        return None
    texts = [a.first, b.first]
    key = ("place", made.fn, *texts)
    first = e.once(key, lambda: emit_scalar(e.code, made.fn, i64, 1, texts))
    return known._replace(first=first)


def _applied(op: Apply, a: Pattern, b: Pattern) -> Pattern | None:
    """The pattern of a function's value, but for the place of lane 0."""
    anchor = f"{op.fn}({a.anchor}, {b.anchor})"
    if op.fn in SUMS:
        zeros = min(a.zeros, b.zeros) + (op.fn == "add" and a.anchor == b.anchor)
        return Pattern("", _each(SUMS[op.fn], a, b), zeros, anchor)
    if op.fn in BITWISE:
        return _bitwise(op, a, b, anchor)
    if not isinstance(op.args[1], Const):
        return None
    value = int(op.args[1].value)
    match op.fn:
        case "shl" if 0 <= value < MOST_BITS:
            return Pattern("", tuple(n << value for n in a.numbers), a.zeros + value, anchor)
        case _ if not _fit(a, a.zeros):
            return None
        case "shr" if 0 <= value <= a.zeros:
            return Pattern("", tuple(n >> value for n in a.numbers), a.zeros - value, anchor)
        case "floordiv" if _is_power(value) and (bits := zeros_in(value)) <= a.zeros:
            return Pattern("", tuple(n >> bits for n in a.numbers), a.zeros - bits, anchor)
        case "mod" if _is_power(value):
            return Pattern("", tuple(n % value for n in a.numbers), a.zeros, anchor)
    return None


def _bitwise(op: Apply, a: Pattern, b: Pattern, anchor: str) -> Pattern | None:
    """Bits of the anchors, and bits of the numbers."""
    known = {True: a, False: b}
    for is_first, atom in ((True, op.args[0]), (False, op.args[1])):
        other = known[not is_first]
        if isinstance(atom, Const):
            over = int(atom.value) % (1 << other.zeros)
            rest = int(atom.value) - over
            known[is_first] = Pattern("", (over,) * len(a.numbers), other.zeros, str(rest))
            if rest == (-(1 << other.zeros) if op.fn == "and" else 0):
                anchor = other.anchor
    a, b = known[True], known[False]
    zeros = min(a.zeros, b.zeros)
    if not (_fit(a, zeros) and _fit(b, zeros)):
        return None
    return Pattern("", _each(BITWISE[op.fn], a, b), zeros, anchor)


def _each(fn: Callable[[int, int], int], a: Pattern, b: Pattern) -> Numbers:
    return tuple(fn(x, y) for x, y in zip(a.numbers, b.numbers, strict=True))


def _fit(a: Pattern, zeros: int) -> bool:
    """Whether the numbers and the anchor have no bits in common."""
    return min(a.numbers) >= 0 and max(a.numbers) < 1 << zeros


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


# -- loads and stores -----------------------------------------------------------------------------


class _Registers(NamedTuple):
    """One or two registers of `lanes` elements that hold all that a pattern reaches: where each
    begins, from lane 0's place on, and which of their elements is that of each lane."""

    lanes: int
    starts: Sequence[int]
    of_lane: Numbers


def _registers(found: Pattern) -> _Registers:
    low, high = min(found.numbers), max(found.numbers)
    span = high - low + 1
    lanes = min(1 << (span.bit_length() - 1), len(found.numbers))
    places = [number - low for number in found.numbers]
    first = low - found.numbers[0]
    if span == lanes:
        return _Registers(lanes, [first], tuple(places))
    behind = span - lanes
    of_lane = tuple(at if at < lanes else at - behind + lanes for at in places)
    return _Registers(lanes, [first, first + behind], of_lane)


def load_pattern(e: Emitter, buffer: str, kept: DType, found: Pattern) -> str:
    """The elements of a pattern."""
    registers = _registers(found)
    kind = vec(kept, registers.lanes)
    parts = [
        e.code.let(f"load {kind}, ptr {_address(e, buffer, kept, found, start)}, "
                   f"align {kept.bytes}")
        for start in registers.starts
    ]  # fmt: skip
    other = parts[1] if len(parts) > 1 else "poison"
    return e.code.let(
        f"shufflevector {kind} {parts[0]}, {kind} {other}, {indices(registers.of_lane)}"
    )


def _address(e: Emitter, buffer: str, kept: DType, found: Pattern, start: int) -> str:
    place = found.first if start == 0 else e.code.let(f"add i64 {found.first}, {start}")
    return e.code.let(f"getelementptr inbounds {kept.llvm}, ptr {buffer}, i64 {place}")


def may_store(found: Pattern) -> bool:
    """Whether no two lanes have one place."""
    return len(set(found.numbers)) == len(found.numbers)


def store_pattern(e: Emitter, buffer: str, kept: DType, found: Pattern, text: str) -> None:
    """The elements of a pattern; what lies between them stays as it is."""
    registers = _registers(found)
    kind = vec(kept, registers.lanes)
    source = vec(kept, e.width)
    lane_of = {place: lane for lane, place in enumerate(registers.of_lane)}
    for number, start in enumerate(registers.starts):
        places = range(number * registers.lanes, (number + 1) * registers.lanes)
        wanted = [lane_of.get(place) for place in places]
        lanes = [0 if lane is None else lane for lane in wanted]
        value = e.code.let(f"shufflevector {source} {text}, {source} poison, {indices(lanes)}")
        at = _address(e, buffer, kept, found, start)
        if None not in wanted:
            e.code.line(f"store {kind} {value}, ptr {at}, align {kept.bytes}")
            continue
        bits = ", ".join(f"i1 {str(lane is not None).lower()}" for lane in wanted)
        name = f"@llvm.masked.store.{suffix(kept, registers.lanes)}.p0"
        mask = f"<{registers.lanes} x i1>"
        e.code.declare(f"void {name}({kind}, ptr, i32, {mask})")
        args = f"{kind} {value}, ptr {at}, i32 {kept.bytes}, {mask} <{bits}>"
        e.code.line(f"call void {name}({args})")
