"""Lanes whose indices are near each other or linear in pieces: registers instead of gathers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from flatweave.access import Factor, Modified, Term, Value, factors_of
from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.emitter import Emitter, Held
from flatweave.codegen.llvm.math.scalar import emit_scalar
from flatweave.codegen.llvm.module import shuffle, suffix, vec
from flatweave.codegen.llvm.shapes import LINEAR, REVERSED, UNIFORM, VARYING
from flatweave.kernel_ir.lane_facts import zeros_in, zeros_of
from flatweave.terms.bounds import Sum

# Lanes whose indices are near each other: a few registers are loaded and permuted, not gathered.
#
#     lanes             i = 0 1 2 3 4 5 6 7               of a step that begins at a multiple of 8
#     xor i 2               2 3 0 1 6 7 4 5               one register, permuted
#     add i (and i ~1)      0 1 4 5 8 9 12 13             two registers, half of each
#     add (mul i 3) c       0 3 6 9 12 15 18 21           three registers, from 0, 8 and 14 on
#
#     x = load xs (xor i 2)       load <8 x float>, shufflevector <2, 3, 0, 1, 6, 7, 4, 5>
#     store ys (xor i 2) x        shufflevector, store <8 x float>
#     store ys (add i ..) x       the same, in two registers under masks that are constants
#
# An index is an *anchor*, which is the same for all lanes, and a number for each lane. The anchor
# is a multiple of 2^z, so bits of both are computed separately where the numbers are below 2^z.
# Elements between those of two lanes are loaded, too: they are in the same array.


MOST_BITS = 32
"""Of an anchor that are asked for: numbers of lanes are small."""
MOST_LOADED, MOST_STORED = 4, 2
"""Registers of a step: n loads and n - 1 shuffles, and as many stores under masks."""
Numbers = tuple[int, ...]
Anchor = Sum[tuple[int, object]]
"""Of terms with how many of their low bits are zero; equal sums are equal numbers."""
NOWHERE = Anchor({})
BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip


class Lanes(NamedTuple):
    """An index in each lane: its number and the anchor."""

    numbers: Numbers
    anchor: Anchor

    @property
    def zeros(self) -> int:
        """How many low bits of the anchor are zero."""
        known = (zeros + zeros_in(n) for (zeros, _), n in self.anchor.terms.items())
        return min(MOST_BITS, zeros_in(self.anchor.more), *known)

    def aligned(self, zeros: int) -> Lanes | None:
        """The same with numbers that have `zeros` bits, if an anchor leaves so few."""
        low = min(self.numbers) >> zeros << zeros
        if max(self.numbers) - low >> zeros:
            return None
        return Lanes(tuple(n - low for n in self.numbers), self.anchor.plus(Sum({}, low)))


# -- what lanes have ------------------------------------------------------------------------------


def lanes_of(e: Emitter, value: Value) -> Lanes | None:
    """What is known of a value in each lane."""
    numbers, anchor = (value.more,) * e.width, NOWHERE
    for term, count in value.terms.items():
        found = _term(e, term)
        if found is None:
            return None
        numbers = tuple(n + count * k for n, k in zip(numbers, found.numbers, strict=True))
        anchor = anchor.plus(found.anchor, count)
    return Lanes(numbers, anchor)


def _term(e: Emitter, term: Term) -> Lanes | None:
    parts = [_factor(e, factor) for factor in factors_of(term)]
    known = [part for part in parts if part is not None]
    if len(known) == len(parts) == 1:
        return known[0]
    if len(known) < len(parts) or any(any(part.numbers) for part in known):
        return None
    return Lanes(known[0].numbers, Anchor({(sum(part.zeros for part in known), term): 1}))


def _factor(e: Emitter, factor: Factor) -> Lanes | None:
    if isinstance(factor, Modified):
        known = [lanes_of(e, arg) for arg in factor.args]
        return _function(factor.fn, known[0], known[1]) if len(known) == 2 else None
    shape = e.hold(factor).shape
    if shape is VARYING:
        return None
    sign = {UNIFORM: 0, LINEAR: 1}.get(shape, -1)
    numbers = tuple(sign * lane for lane in range(e.width))
    return Lanes(numbers, Anchor({(zeros_of(e.zeros, factor), factor): 1}))


def _function(fn: str, a: Lanes | None, b: Lanes | None) -> Lanes | None:
    """A function of bits; of a shift, a quotient and a remainder by a power of two."""
    if a is None or b is None:
        return None
    if fn in BITWISE:
        return _bitwise(fn, a, b)
    by, whole = b.numbers[0], a.aligned(a.zeros)
    if whole is None or b != Lanes((by,) * len(b.numbers), NOWHERE) or by <= 0:
        return None
    if fn == "floordiv" and by == 1 << zeros_in(by):
        fn, by = "shr", zeros_in(by)
    rest = Anchor({(whole.zeros, (fn, by, whole.anchor)): 1})
    if fn == "mod" and by == 1 << zeros_in(by):
        inside = zeros_in(by) <= whole.zeros
        return Lanes(tuple(n % by for n in whole.numbers), NOWHERE if inside else rest)
    if fn == "shr" and by <= whole.zeros:
        rest = Anchor({(whole.zeros - by, (fn, by, whole.anchor)): 1})
        return Lanes(tuple(n >> by for n in whole.numbers), rest)
    return None


def _bitwise(fn: str, a: Lanes, b: Lanes) -> Lanes | None:
    """Bits of the anchors, and bits of the numbers."""
    zeros = min(a.zeros, b.zeros)
    left, right = a.aligned(zeros), b.aligned(zeros)
    if left is None or right is None:
        return None
    pairs = zip(left.numbers, right.numbers, strict=True)
    neutral = Anchor({}, -(1 << zeros) if fn == "and" else 0)
    anchors = [each.anchor for each in (left, right) if each.anchor != neutral]
    if len(anchors) != 1:
        anchors = [Anchor({(zeros, (fn, left.anchor, right.anchor)): 1})]
    return Lanes(tuple(BITWISE[fn](x, y) for x, y in pairs), anchors[0])


# -- lane 0 ---------------------------------------------------------------------------------------


def emit_sum(e: Emitter, value: Value, function: Callable[[Modified], str]) -> str:
    """The text of a sum in lane 0; `function` gives that of what is no sum."""
    total = ""
    for term, count in value.terms.items():
        text = ""
        for factor in factors_of(term):
            more = function(factor) if isinstance(factor, Modified) else e.hold(factor).text
            text = e.code.let(f"mul i64 {text}, {more}") if text else more
        if abs(count) != 1:
            text = e.code.let(f"mul i64 {text}, {abs(count)}")
        if total or count < 0:
            text = e.code.let(f"{'sub' if count < 0 else 'add'} i64 {total or 0}, {text}")
        total = text
    return e.code.let(f"add i64 {total}, {value.more}") if value.more and total else (
        total or str(value.more)
    )


def _first(e: Emitter, value: Value) -> str:
    """The index of lane 0."""
    return emit_sum(e, value, lambda each: _applied(e, each))


def _applied(e: Emitter, function: Modified) -> str:
    texts = [_first(e, arg) for arg in function.args]
    return emit_scalar(e.code, function.fn, i64, 1, texts)


# -- loads and stores -----------------------------------------------------------------------------


class Permuted(NamedTuple):
    """Registers of `lanes` elements that hold those of all lanes: where each begins, from lane 0's
    index on, and for each lane its register and the position in it."""

    value: Value
    lanes: int
    starts: Sequence[int]
    of_lane: Sequence[tuple[int, int]]


def find_permuted(e: Emitter, index: Value) -> Permuted | None:
    """The registers of an index that varies, if a few hold all lanes' elements."""
    found = None if e.mask is not None else lanes_of(e, index)
    if found is None:
        return None
    low, high = min(found.numbers), max(found.numbers)
    span = high - low + 1
    lanes = min(1 << (span.bit_length() - 1), e.width)
    count = -(-span // lanes)
    if span == 1 or count > MOST_LOADED:
        return None
    starts = [*range(0, lanes * (count - 1), lanes), span - lanes]
    first = [min((n - low) // lanes, count - 1) for n in found.numbers]
    of_lane = [(k, n - low - starts[k]) for k, n in zip(first, found.numbers, strict=True)]
    return Permuted(index, lanes, [low - found.numbers[0] + start for start in starts], of_lane)


def load_permuted(e: Emitter, buffer: str, kept: DType, found: Permuted) -> str:
    """The elements of all lanes."""
    kind, text, at = vec(kept, found.lanes), "", dict[int, int]()  # of lanes: where in `text`
    first = _first(e, found.value)
    for number, start in enumerate(found.starts):
        address = _address(e, buffer, kept, first, start)
        run = e.code.let(f"load {kind}, ptr {address}, align {kept.bytes}")
        own = {lane: at for lane, (k, at) in enumerate(found.of_lane) if k == number}
        if not text:
            text, at = run, own
            continue
        order = [at.get(lane, found.lanes + own.get(lane, 0)) for lane in range(e.width)]
        text = shuffle(e.code, kind, text, order, run)
        at = {lane: lane for lane in (*at, *own)}
    if len(found.starts) == 1:
        text = shuffle(e.code, kind, text, [at[lane] for lane in range(e.width)])
    return text


def _address(e: Emitter, buffer: str, kept: DType, first: str, start: int) -> str:
    place = e.code.let(f"add i64 {first}, {start}") if start else first
    return e.code.let(f"getelementptr inbounds {kept.llvm}, ptr {buffer}, i64 {place}")


def may_store(found: Permuted) -> bool:
    """Whether no two lanes have one element, and few stores are needed."""
    distinct = len(set(found.of_lane)) == len(found.of_lane)
    return distinct and len(found.starts) <= MOST_STORED


def store_permuted(e: Emitter, buffer: str, kept: DType, found: Permuted, text: str) -> None:
    """The elements of all lanes; what is between them stays as it is."""
    kind, source = vec(kept, found.lanes), vec(kept, e.width)
    lane_of = {place: lane for lane, place in enumerate(found.of_lane)}
    first = _first(e, found.value)
    for number, start in enumerate(found.starts):
        wanted = [lane_of.get((number, place)) for place in range(found.lanes)]
        value = shuffle(e.code, source, text, [lane or 0 for lane in wanted])
        at = _address(e, buffer, kept, first, start)
        if None not in wanted:
            e.code.line(f"store {kind} {value}, ptr {at}, align {kept.bytes}")
            continue
        bits = ", ".join(f"i1 {str(lane is not None).lower()}" for lane in wanted)
        name = f"@llvm.masked.store.{suffix(kept, found.lanes)}.p0"
        operands = f"ptr {at}", f"i32 {kept.bytes}", f"<{found.lanes} x i1> <{bits}>"
        e.code.call("void", name, f"{kind} {value}", *operands)


# Indices that are linear in pieces: one load of neighbours where no lane of a step is in another.
#
#     k = minimum (maximum (add i c) 0) last      i + c for all lanes, but near the ends
#     k = select (ge j n) (sub j n) j             j for the first lanes of a step, or for all,
#                                                 j - n for the others, or for none
#     x: f32 = load xs (add first k)    if the first and the last lane agree on each test:
#                                               load <16 x float>        (reversed for s - i)
#                                       else:   llvm.masked.gather
#
# So clipped neighbours, rotations, rings, and negative indices are read.


Load = Callable[[Emitter, str, DType, Held], str]
COMPARISONS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_TESTS = {**COMPARISONS, "maximum": "sge", "minimum": "sle"}
"""What is asked of the first and the last lane: of a bound, that it changes no index."""
_SLOPES = {UNIFORM: 0, LINEAR: 1, REVERSED: -1}


def slope(e: Emitter, value: Value) -> int | None:
    """By how much an index grows from lane to lane in each of its pieces, if that is the same."""
    total = 0
    for term, count in value.terms.items():
        found = _slope(e, term)
        if found is None:
            return None
        total += count * found
    return total


def _slope(e: Emitter, term: Term) -> int | None:
    factors = factors_of(term)
    if len(factors) > 1:
        return None if any(_slope(e, factor) != 0 for factor in factors) else 0
    (factor,) = factors
    if not isinstance(factor, Modified):
        shape = e.hold(factor).shape
        return None if shape is VARYING else _SLOPES[shape]
    if factor.fn == "select":
        test, then, other = factor.args
        found = slope(e, then)
        tested = _test(test)
        return found if tested and _moving(e, tested) and found == slope(e, other) else None
    return _moving(e, factor) if factor.fn in ("minimum", "maximum") else None


def _test(value: Value) -> Modified | None:
    """A condition that is a comparison."""
    (term,) = value.terms
    return term if isinstance(term, Modified) and term.fn in COMPARISONS else None


def _moving(e: Emitter, function: Modified) -> int | None:
    """The slope of one operand, where all lanes share the other."""
    slopes = {slope(e, arg) for arg in function.args}
    return (1 if 1 in slopes else -1) if slopes in ({0, 1}, {0, -1}) else None


def load_pieces(
    e: Emitter, buffer: str, kept: DType, index: Held, value: Value, run: Load, gather: Load
) -> str:
    """The elements at `index`: by `run` from lane 0's on, if all lanes are in one piece."""
    step = _Step(e)
    first = step.first(value)
    shape = LINEAR if slope(e, value) == 1 else REVERSED
    if not step.is_one:  # the pieces cancel each other out
        return run(e, buffer, kept, Held(shape, first))
    return e.code.choose(
        step.is_one, vec(kept, e.width),
        lambda: run(e.inside(), buffer, kept, Held(shape, first)),
        lambda: gather(e.inside(), buffer, kept, index),
    )  # fmt: skip


class _Step:
    """The first index of a step whose lanes are in one piece, and whether they are."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self.is_one = ""
        self._known: dict[str, tuple[str, str]] = {}

    def first(self, value: Value) -> str:
        """The index of lane 0."""
        return emit_sum(self.e, value, self._function)

    def _function(self, function: Modified) -> str:
        """Which of its pieces lane 0 is in; or that no bound changes an index."""
        code, is_choice = self.e.code, function.fn == "select"
        test = _test(function.args[0]) if is_choice else function
        assert test is not None
        slopes, texts = [slope(self.e, arg) for arg in test.args], [*map(self.first, test.args)]
        moves = slopes.index(0) ^ 1
        ends, compare = self._ends(texts[moves], slopes[moves]), _TESTS[test.fn]
        if not is_choice:
            end = ends[test.fn == "minimum"]
            self._ask(code.let(f"icmp {compare} i64 {end}, {texts[moves ^ 1]}"))
            return texts[moves]
        holds = []
        for texts[moves] in ends:
            holds.append(code.let(f"icmp {compare} i64 {', '.join(texts)}"))
        self._ask(code.let(f"icmp eq i1 {', '.join(holds)}"))
        then, other = map(self.first, function.args[1:])
        return code.let(f"select i1 {holds[0]}, i64 {then}, i64 {other}")

    def _ends(self, first: str, slope: int | None) -> tuple[str, str]:
        """The least and the greatest index of a step; between them no integer wraps."""
        if first not in self._known:
            low = self.e.lowest(Held(LINEAR if slope == 1 else REVERSED, first))
            high = self.e.code.let(f"add i64 {low}, {self.e.width - 1}")
            self._ask(self.e.code.let(f"icmp sge i64 {high}, {low}"))
            self._known[first] = low, high
        return self._known[first]

    def _ask(self, fits: str) -> None:
        self.is_one = self.e.code.let(f"and i1 {self.is_one}, {fits}") if self.is_one else fits
