"""Indices that are linear in pieces: one load of neighbours where no lane of a step is in another.

    k = minimum (maximum (add i c) 0) last      i + c for all lanes, but near the ends
    k = select (ge j n) (sub j n) j             j for the first lanes of a step, or for all,
                                                j - n for the others, or for none
    x: f32 = load xs (add first k)    if the first and the last lane agree on each test:
                                              load <16 x float>        (reversed for s - i)
                                      else:   llvm.masked.gather

So clipped neighbours, rotations, rings, and negative indices are read.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.access.value import Modified, Term, Value, factors_of
from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.body.emitter import Emitter, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, REVERSED, UNIFORM, VARYING
from flatweave.codegen.llvm.memory.permuted import emit_sum
from flatweave.codegen.llvm.text.module import vec

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
    code, kind = e.code, vec(kept, e.width)
    step = _Step(e)
    first = step.first(value)
    shape = LINEAR if slope(e, value) == 1 else REVERSED
    if not step.is_one:  # the pieces cancel each other out
        return run(e, buffer, kept, Held(shape, first))
    near, apart, after = code.names("near", "apart", "read")
    code.branch(step.is_one, near, apart)
    arms = []
    for label, load, place in ((near, run, Held(shape, first)), (apart, gather, index)):
        code.label(label)
        text = load(e.inside(), buffer, kept, place)
        arms.append((text, code.block))
        code.jump(after)
    code.label(after)
    return code.phi(kind, arms)


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
