"""What is known of an integer's size: bounds by how it is computed, and sums of integers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from flatweave.base.dtypes import DType, bool_
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Op, Var, scalar_type

# Sums of integers: terms, how often each is added, and a constant.
#
#     2 i - n + 3          terms {i: 2, n: -1}, more 3
#
# Integers that wrap do so alike on both sides of a law of sums: it holds modulo 2^64.


Term = TypeVar("Term", bound=Hashable)


class Sum(Generic[Term]):
    """Terms, how often each is added, and a constant; equal sums have the same."""

    __slots__ = ("_key", "more", "terms")

    def __init__(self, terms: Mapping[Term, int], more: int = 0) -> None:
        self.terms = {term: count for term, count in terms.items() if count}
        self.more = more
        self._key: tuple[object, ...] | None = None

    def plus(self, other: Sum[Term], times: int = 1) -> Sum[Term]:
        """This sum and a multiple of another."""
        terms = self.terms
        if other.terms:
            terms = dict(terms)
            for term, count in other.terms.items():
                if total := terms.get(term, 0) + times * count:
                    terms[term] = total
                else:
                    terms.pop(term, None)
        found: Sum[Term] = Sum({}, self.more + times * other.more)
        found.terms = terms
        return found

    @property
    def key(self) -> tuple[object, ...]:
        """What two equal sums have in common."""
        if self._key is None:
            self._key = (frozenset(self.terms.items()), self.more)
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


# The least and the greatest value of an integer, by how it is made.
#
#     x: i32, k: i64 = cast i64 x         -2**31 <= k < 2**31
#     r: i64 = mod k 10                        0 <= r < 10
#     p: i64 = add (mul r 8) 7                 7 <= p < 80
#
# Integers wrap: a sum that might gives no bounds but those of its dtype.


DEPTH = 8
"""How many operations are followed back."""


class Bounds(NamedTuple):
    """The least and the greatest value that an integer is known to have."""

    low: int
    high: int

    def fit(self, dtype: DType) -> bool:
        """Whether every value between them is one of an integer dtype."""
        whole = bounds_of_dtype(dtype)
        return whole.low <= self.low and self.high <= whole.high


@cache
def bounds_of_dtype(dtype: DType) -> Bounds:
    """The values of an integer dtype, or of bool."""
    return Bounds(0, 1) if dtype is bool_ else Bounds(int(dtype.low), int(dtype.high))


def bounds_of(made: Mapping[Var, Op], atom: Atom, depth: int = DEPTH) -> Bounds:
    """What is known of an integer, or a bool, from the operations that made it."""
    if isinstance(atom, Const):
        return Bounds(int(atom.value), int(atom.value))
    dtype = scalar_type(atom)
    whole, op, found = bounds_of_dtype(dtype), made.get(atom), None
    if depth and isinstance(op, Cast) and not _is_float(op.arg):
        found = bounds_of(made, op.arg, depth - 1)
        if dtype is bool_ and not found.fit(bool_):
            found = None
    elif depth and isinstance(op, Apply) and op.fn in RULES and not _is_float(op.args[-1]):
        known = [bounds_of(made, arg, depth - 1) for arg in op.args]
        found = RULES[op.fn](known)
    return found if found is not None and found.fit(dtype) else whole


def _is_float(atom: Atom) -> bool:
    return isinstance(atom.type, DType) and atom.type.is_float


Rule = Callable[[Sequence[Bounds]], Bounds | None]


def _corners(combine: Callable[[int, int], int]) -> Rule:
    """Bounds of a function of two numbers that is greatest and least at ends of their ranges."""

    def rule(known: Sequence[Bounds]) -> Bounds:
        values = [combine(a, b) for a, b in product(*known)]
        return Bounds(min(values), max(values))

    return rule


def _floordiv(known: Sequence[Bounds]) -> Bounds | None:
    return _corners(int.__floordiv__)(known) if known[1].low > 0 else None


def _mod(known: Sequence[Bounds]) -> Bounds | None:
    a, b = known
    if b.low <= 0:
        return Bounds(b.low + 1, 0) if b.high < 0 else None
    if b.low == b.high and a.low // b.low == a.high // b.low:
        return Bounds(a.low % b.low, a.high % b.low)
    if a.low >= 0 and a.high < b.low:
        return a
    return Bounds(0, min(a.high, b.high - 1) if a.low >= 0 else b.high - 1)


def _and(known: Sequence[Bounds]) -> Bounds | None:
    """No bit that a number without a sign has not; multiples of a power of two, which -2**k gives,
    are in the order of the numbers."""
    for whole, mask in (known, known[::-1]):
        if mask.low == mask.high < 0 and -mask.low & (-mask.low - 1) == 0:
            return Bounds(whole.low & mask.low, whole.high & mask.low)
    highs = [each.high for each in known if each.low >= 0]
    return Bounds(0, min(highs)) if highs else None


def _or(known: Sequence[Bounds]) -> Bounds | None:
    """As many bits as the operand that has more."""
    if known[0].low < 0 or known[1].low < 0:
        return None
    return Bounds(0, (1 << max(each.high for each in known).bit_length()) - 1)


def _shifted(by: Callable[[int, int], int]) -> Rule:
    return lambda known: _corners(by)(known) if 0 <= known[1].low <= known[1].high < 64 else None


def _abs(known: Sequence[Bounds]) -> Bounds:
    low, high = known[0]
    return Bounds(max(low, -high, 0), max(-low, high))


def _select(known: Sequence[Bounds]) -> Bounds:
    return Bounds(min(a.low for a in known[1:]), max(a.high for a in known[1:]))


RULES: Mapping[str, Rule] = {
    "add": _corners(int.__add__),
    "sub": lambda known: Bounds(known[0].low - known[1].high, known[0].high - known[1].low),
    "mul": _corners(int.__mul__),
    "minimum": lambda known: Bounds(*map(min, *known)),
    "maximum": lambda known: Bounds(*map(max, *known)),
    "floordiv": _floordiv,
    "mod": _mod,
    "and": _and,
    "or": _or,
    "xor": _or,
    "shl": _shifted(int.__lshift__),
    "shr": _shifted(int.__rshift__),
    "neg": lambda known: Bounds(-known[0].high, -known[0].low),
    "abs": _abs,
    "sign": lambda known: Bounds(-1, 1),
    "select": _select,
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), lambda known: known[0]),
    **dict.fromkeys(("popcount", "clz", "ctz"), lambda known: Bounds(0, 64)),
}
